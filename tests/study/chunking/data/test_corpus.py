"""Corpora are read as they are written; what is malformed is refused by file and line."""

import gzip
import hashlib
import shutil
import zipfile
from collections import Counter
from importlib import resources

import pytest

from residuum.errors import DataError
from residuum.study.chunking.data.corpus import Sentence, load_corpus, read_sentences
from residuum.study.chunking.knowledge import chunking_knowledge, tag_names

TRAIN = "Rain NN B-NP\nfell VBD B-VP\n. . O\n\nIt PRP B-NP\nstopped VBD B-VP\n\n"
TEST = "Birds NNS B-NP\nsing VBP B-VP\n"
SENTENCES = (
    Sentence(("Rain", "fell", "."), ("B-NP", "B-VP", "O")),
    Sentence(("It", "stopped"), ("B-NP", "B-VP")),
)
TYPES = {"NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT", "CONJP", "INTJ", "LST", "UCP"}


def test_the_tags_are_two_for_each_of_eleven_types_and_one_for_outside():
    assert len(tag_names()) == 23
    assert set(tag_names()) == {"O"} | {f"{prefix}-{kind}" for kind in TYPES for prefix in "BI"}
    knowledge = chunking_knowledge()
    for prefix, function in (("B", "begin"), ("I", "inside")):
        table = knowledge.functions[function].table
        assert table == {(kind,): f"{prefix}-{kind}" for kind in TYPES}


@pytest.mark.parametrize(
    "text",
    [
        TRAIN,
        TRAIN.rstrip("\n"),
        TRAIN.replace("\n", "\r\n"),
        TRAIN.replace(" . O\n", " . O\r\n"),  # mixed
        TRAIN.replace(" ", "\t"),
        TRAIN.replace(" ", "  ").replace("O\n", "O \t\n"),
        "\n\n" + TRAIN.replace("\n\n", "\n\n \n\t\n"),
        "\ufeff" + TRAIN,
    ],
    ids=["plain", "no end", "crlf", "mixed ends", "tabs", "wide", "blanks", "mark"],
)
def test_line_ends_blank_lines_and_separators_do_not_matter(text):
    assert read_sentences(text.encode(), "train.txt") == SENTENCES


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "`corpus.txt`: expected one sentence at least, found none"),
        (b" \n\r\n\n", "expected one sentence at least, found none"),
        (b"a DT B-NP\nb NN\n", "line 2: expected 3 columns .*, found 2"),
        (b"a DT B-NP\n\nb NN x B-NP\n", "line 3: expected 3 columns .*, found 4"),
        (b"a DT B-NO\n", r"line 1: expected one of the 23 chunk tags, found `B-NO`\. Did you mean"),
        (b"a DT b-np\n", "line 1: expected one of the 23 chunk tags, found `b-np`"),
        (b"a DT O\rb DT O\r", r"line 1: expected a line to end with .*, found \\r alone"),
        (b"a DT O\n\nb\xff DT O\n", "line 3: expected text in UTF-8, found the byte ff"),
        (
            b"x\n\n" + b"a DT O\n" * 10_000,
            "line 258: .* begins in line 3 .*, found a sentence of 10,000",
        ),
    ],
)
def test_malformed_text_is_refused_by_its_line(content, words):
    with pytest.raises(DataError, match=words) as caught:
        read_sentences(content.removeprefix(b"x"), "corpus.txt")
    assert "`corpus.txt`" in str(caught.value)


def test_255_tokens_are_the_most_a_sentence_may_have():
    assert len(read_sentences(b"a DT O\n" * 255, "corpus.txt")[0].words) == 255
    with pytest.raises(DataError, match="line 256: expected a blank line"):
        read_sentences(b"a DT O\n" * 256, "corpus.txt")


@pytest.fixture
def own(monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    monkeypatch.setenv("RESIDUUM_CACHE", "")
    (tmp_path / "conll2000").mkdir()
    return tmp_path


def _archive(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conll2000/train.txt", TRAIN)
        archive.writestr("conll2000/test.txt", TEST)
        archive.writestr("conll2000/README", "words")


def _packed(path):
    path.write_bytes(gzip.compress((TRAIN if "train" in path.name else TEST).encode()))


def _plain(path):
    path.write_text(TRAIN if "train" in path.name else TEST)


@pytest.mark.parametrize(
    ("write", "names"),
    [
        (_archive, ["conll2000.zip"]),
        (_archive, ["conll2000/conll2000.zip"]),
        (_plain, ["train.txt", "test.txt"]),
        (_plain, ["conll2000/train.txt", "conll2000/test.txt"]),
        (_packed, ["train.txt.gz", "test.txt.gz"]),
        (_packed, ["conll2000/train.gz", "conll2000/test.gz"]),
    ],
)
def test_a_corpus_is_found_as_archive_as_folder_and_packed(own, write, names):
    for name in names:
        write(own / name)
    corpus = load_corpus("conll2000")
    assert corpus.train == SENTENCES
    assert [sentence.words for sentence in corpus.test] == [("Birds", "sing")]
    digests = "".join(hashlib.sha256(text.encode()).hexdigest() for text in (TRAIN, TEST))
    digest = hashlib.sha256(digests.encode()).hexdigest()
    assert corpus.name == f"conll2000-{digest[:12]}"  # not the published texts


def test_more_text_than_a_corpus_can_have_is_refused_before_it_is_taken_apart(own):
    _packed(own / "test.txt.gz")
    (own / "train.txt.gz").write_bytes(gzip.compress(b"a\n" * (2**23 + 1)))
    assert (own / "train.txt.gz").stat().st_size < 20_000
    with pytest.raises(DataError, match=r"train\.txt\.gz`: expected at most 16,777,216 bytes of"):
        load_corpus("conll2000")


def test_half_a_corpus_is_refused(own):
    _plain(own / "train.txt")
    with pytest.raises(DataError, match=r"expected test\.txt .* beside .*train\.txt`, found none"):
        load_corpus("conll2000")


def test_a_mistake_in_an_archive_is_named_by_member_and_line(own):
    with zipfile.ZipFile(own / "conll2000.zip", "w") as archive:
        archive.writestr("train.txt", TRAIN)
        archive.writestr("test.txt", "word O\n")
    with pytest.raises(DataError, match=r"conll2000\.zip.test\.txt`, line 1: expected 3 columns"):
        load_corpus("conll2000")


@pytest.mark.usefixtures("own")
def test_without_a_corpus_the_error_says_what_to_do():
    with pytest.raises(DataError, match=r"lacks conll2000\.zip.*name it in RESIDUUM_DATA"):
        load_corpus("conll2000")


def test_the_published_corpus_has_its_published_size(data_folder, tmp_path, monkeypatch):
    if not (data_folder / "conll2000.zip").exists():
        pytest.skip("no CoNLL-2000 among the data")
    corpus = load_corpus("conll2000")
    assert corpus.name == "conll2000"
    assert (len(corpus.train), len(corpus.test)) == (8_936, 2_012)
    words = [sum(len(one.words) for one in part) for part in (corpus.train, corpus.test)]
    assert words == [211_727, 47_377]
    shutil.unpack_archive(data_folder / "conll2000.zip", tmp_path)
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    assert load_corpus("conll2000") == corpus


def test_the_sample_is_large_and_varied_enough():
    corpus = load_corpus("sample")
    sentences = (*corpus.train, *corpus.test)
    assert len(sentences) >= 150
    assert len(corpus.test) == len(sentences) // 4
    assert len(set(sentences)) == len(sentences)
    kinds = Counter(tag[2:] for one in sentences for tag in one.tags if tag.startswith("B"))
    assert set(kinds) == TYPES
    assert all(one.words[-1] in ".?!" for one in sentences)


def test_the_sample_obeys_the_scheme():
    """Every I-X follows B-X or I-X, by a loop that knows nothing of the rule file."""
    corpus = load_corpus("sample")
    for sentence in (*corpus.train, *corpus.test):
        for before, tag in zip(("O", *sentence.tags), sentence.tags, strict=False):
            if tag.startswith("I-"):
                assert before in (f"B-{tag[2:]}", tag), sentence


def test_words_of_the_sample_have_parts_of_speech_of_the_penn_treebank():
    known = (
        "CC CD DT EX IN JJ JJR JJS LS MD NN NNS NNP NNPS POS PRP PRP$ RB RBR RP TO UH VB VBD VBG "
        "VBN VBP VBZ WDT WP WRB . , ) $"
    )
    text = resources.files("residuum.data").joinpath("chunking_sample.txt").read_text("utf-8")
    assert {line.split()[1] for line in text.splitlines() if line} <= {*known.split()}
