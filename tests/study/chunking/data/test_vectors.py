"""Vectors are those of the file, for the words that are wanted; broken lines are refused."""

import gzip
import io
import zipfile

import numpy as np
import pytest

from residuum.errors import DataError
from residuum.study.chunking.data import vectors
from residuum.study.chunking.data.corpus import Corpus, Sentence, load_corpus
from residuum.study.chunking.data.splits import make_split
from residuum.study.chunking.data.vectors import read_vectors
from residuum.study.chunking.data.vocabulary import (
    CHARACTERS,
    UNKNOWN,
    known_words,
    make_lexicon,
    share_unknown,
)

TEXT = "the 0.5 -1\n, 1e-3 2\n. . . 3 4\ncafé 5 6\nthe 7 8\n"


def _zip(content):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("glove.txt", content)
    return written.getvalue()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, _zip])
@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"])
def test_vectors_are_those_of_the_file(tmp_path, pack, end):
    path = tmp_path / "vectors"
    path.write_bytes(pack(TEXT.replace("\n", end).encode()))
    found = read_vectors(path, {"café", "the", "absent", ". . ."})
    assert found.words == ("the", ". . .", "café")
    assert found.dimension == 2
    assert found.numbers.tolist() == [[0.5, -1], [3, 4], [5, 6]]
    assert read_vectors(path, set()).numbers.shape == (0, 2)


def test_the_name_of_vectors_follows_their_content_alone(tmp_path):
    for name, text in (("a", TEXT), ("b", TEXT), ("c", TEXT.replace("6", "6.5"))):
        (tmp_path / name).write_text(text)
    first, same, other = (read_vectors(tmp_path / name, ["café"]).name for name in "abc")
    assert first == same != other
    assert first.startswith("2d-")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "found no line"),
        (
            "word" + " 1" * 4097,
            "line 1: expected a word and at most 4,096 numbers, found 4,098 col",
        ),
        ("word\n", "line 1: expected a word and its numbers"),
        ("a 1 2\n\nb 1 2\n", "line 2: expected a word and 2 numbers, as in line 1, found 1 col"),
        ("a 1 2\nb 1\n", "line 2: expected a word and 2 numbers, as in line 1, found 2 columns"),
        ("a 1 2\nb 1 2 3\n", "line 2: expected a word and 2 numbers, .* found 4 columns"),
        ("2 3\na 1 2 3\n", "line 2: expected a word and 1 numbers"),  # word2vec's first line
        ("a 1 2\nb 1 2x\n", "line 2: expected numbers after the word, found '2x'"),
        ("a 1 2\nb 1 nan\n", "line 2: expected numbers within single precision"),
        ("a 1 2\nb 1 1e39\n", "line 2: expected numbers within single precision"),
    ],
)
def test_a_broken_line_is_refused_wherever_it_is(tmp_path, text, words):
    path = tmp_path / "vectors.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=words) as caught:
        read_vectors(path, {"z"})  # though none of these words is wanted
    assert "vectors.txt`" in str(caught.value)


def test_a_line_without_end_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors, "LONGEST_LINE", 100)
    (tmp_path / "vectors.txt").write_text("a 1\n" + "b" * 200)
    with pytest.raises(DataError, match=r"line 2: .* found 100 bytes or more"):
        read_vectors(tmp_path / "vectors.txt", {"a"})


def _sentence(text):
    words = tuple(text.split())
    return Sentence(words, ("O",) * len(words))


CORPUS = Corpus("own", (_sentence("The cat saw the dog"), _sentence("A cat")), (_sentence("DOG"),))


def test_words_are_looked_up_in_lower_case_and_spelt_as_they_are():
    lexicon = make_lexicon(CORPUS)
    words, forms = lexicon.numbers(CORPUS.train[0])
    assert words == [1, 2, 3, 1, 4]
    assert len(set(forms)) == 5
    (dog, upper) = lexicon.forms["dog"], lexicon.forms["DOG"]
    assert lexicon.words["dog"] == words[4]
    assert lexicon.spellings[dog].tolist() != lexicon.spellings[upper].tolist()
    assert UNKNOWN not in lexicon.words.values()


def test_spellings_tell_characters_apart_and_long_words_keep_both_ends():
    long = "x" * 10 + "a" * 30 + "y" * 10
    lexicon = make_lexicon(Corpus("own", (_sentence(f"ab1 é中 {long}"),), ()))
    plain, foreign, cut = lexicon.spellings
    assert len({*plain[:3].tolist()}) == 3
    assert plain[3:].max() == 0
    assert foreign[:3].tolist() == [1, 1, 0]
    letters = make_lexicon(Corpus("own", (_sentence("x" * 10 + "a" * 6 + "a" * 6 + "y" * 10),), ()))
    assert cut.tolist() == letters.spellings[0].tolist()
    assert lexicon.spellings.max() < CHARACTERS


def test_a_word_is_known_by_its_vector_or_by_being_seen_twice(tmp_path):
    lexicon = make_lexicon(CORPUS)

    def known(sentences, found=None):
        flags = known_words(lexicon, sentences, found)
        assert not flags[UNKNOWN]
        return {word for word, number in lexicon.words.items() if flags[number]}

    assert known(CORPUS.train) == {"the", "cat"}
    assert known(CORPUS.train[:1]) == {"the"}
    (tmp_path / "vectors").write_text("dog 1 2\nbird 3 4\n")
    found = read_vectors(tmp_path / "vectors", {"dog", "bird"})
    assert known(CORPUS.train[1:], found) == {"dog"}
    flags = known_words(lexicon, CORPUS.train[:1], None)
    assert share_unknown(lexicon, flags, CORPUS.train) == pytest.approx(100 * 5 / 7)


def test_published_vectors_are_read(data_folder):
    path = data_folder / "glove.6B.100d.conll2000-vocab.txt.gz"
    if not path.exists():
        pytest.skip("no vectors among the data")
    found = read_vectors(path, make_lexicon(load_corpus("conll2000")).words)
    assert found.numbers.shape == (15_691, 100)
    first = found.numbers[found.words.index("the")]
    assert np.allclose(first[:3], [-0.038194, -0.24487, 0.72812])


@pytest.mark.parametrize(("fraction", "sizes"), [(0.1, (805, 89)), (1.0, (8_042, 894))])
def test_a_split_parts_the_sentences(fraction, sizes):
    split = make_split(8_936, fraction, seed=20)
    assert (len(split.train), len(split.dev)) == sizes
    everything = [*split.train.tolist(), *split.dev.tolist(), *split.unlabelled.tolist()]
    assert sorted(everything) == list(range(8_936))


def test_a_split_follows_the_seed_and_a_smaller_one_is_part_of_a_larger():
    first, again, other = (make_split(1_000, 0.3, seed) for seed in (0, 0, 1))
    assert first.train.tolist() == again.train.tolist() != other.train.tolist()
    small = make_split(1_000, 0.1, 0)
    assert {*small.train, *small.dev} <= {*first.train, *first.dev}
    assert {*small.dev} <= {*first.dev}
    assert make_split(10, 1.0, seed=0).train.tolist() == [4, 0, 7, 2, 9, 5, 8, 3, 1]


@pytest.mark.parametrize(
    ("sentences", "fraction", "words"),
    [(100, 0.0, "up to 1, got 0"), (100, 1.5, "got 1.5"), (40, 0.1, "are too few.*found 4")],
)
def test_a_split_of_too_little_is_refused(sentences, fraction, words):
    with pytest.raises(DataError, match=words):
        make_split(sentences, fraction, seed=0)
