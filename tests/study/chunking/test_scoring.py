"""Chunks are counted as by seqeval on random tags, and as `conlleval` prints for known ones."""

import random

import pytest
from seqeval.metrics import accuracy_score
from seqeval.metrics.sequence_labeling import precision_recall_fscore_support

from residuum.errors import DataError
from residuum.study.chunking.knowledge import tag_names
from residuum.study.chunking.scoring import Chunk, Tally, chunks_of, score

SMALL = ["O", "B-NP", "I-NP", "B-VP", "I-VP"]


def _random_tags(rng, tags, sentences):
    """Any tag may follow any other; what is predicted is mostly right, or few chunks would be."""
    gold, predicted = [], []
    for _ in range(sentences):
        gold.append(rng.choices(tags, k=rng.randint(1, 12)))
        share = rng.random()
        predicted.append([t if rng.random() < share else rng.choice(tags) for t in gold[-1]])
    return gold, predicted


@pytest.mark.parametrize("tags", [SMALL, list(tag_names())], ids=["5 tags", "23 tags"])
@pytest.mark.parametrize("sentences", [1, 2, 40])
def test_random_tags_score_as_by_seqeval(tags, sentences):
    rng = random.Random(f"{len(tags)}, {sentences}")
    for _ in range(1200 // sentences + 100):
        gold, predicted = _random_tags(rng, tags, sentences)
        found = score(gold, predicted)
        micro = precision_recall_fscore_support(gold, predicted, average="micro", zero_division=0)
        overall = found.overall
        ours = (overall.precision, overall.recall, overall.f1)
        assert ours == pytest.approx([100 * share for share in micro[:3]])
        assert found.accuracy == pytest.approx(100 * accuracy_score(gold, predicted))
        by_type = precision_recall_fscore_support(gold, predicted, zero_division=0)
        for tally, precision, recall, f1, support in zip(
            found.types.values(), *by_type, strict=True
        ):
            ours = (tally.precision, tally.recall, tally.f1)
            assert ours == pytest.approx([100 * precision, 100 * recall, 100 * f1])
            assert tally.gold == support


@pytest.mark.parametrize(
    ("tags", "chunks"),
    [
        ("", []),
        ("O O", []),
        ("B-NP I-NP I-NP", [("NP", 0, 3)]),
        ("B-NP B-NP", [("NP", 0, 1), ("NP", 1, 2)]),
        ("I-NP I-NP", [("NP", 0, 2)]),
        ("O I-VP O", [("VP", 1, 2)]),
        ("B-NP I-VP I-VP", [("NP", 0, 1), ("VP", 1, 3)]),
        ("I-NP B-NP O B-NP", [("NP", 0, 1), ("NP", 1, 2), ("NP", 3, 4)]),
        ("B-A-B I-A-B B-A", [("A-B", 0, 2), ("A", 2, 3)]),
    ],
)
def test_an_inside_without_a_beginning_begins_a_chunk(tags, chunks):
    assert chunks_of(tags.split()) == {Chunk(*chunk) for chunk in chunks}


def test_the_examples_on_which_the_authors_script_goes_wrong():
    found = score([["B-VP", "I-VP"]], [["O", "I-VP"]])
    assert found.overall == Tally(correct=0, guessed=1, gold=1)
    found = score([["B-NP", "O", "B-VP"]], [["B-NP", "I-VP", "B-VP"]])
    assert (found.overall.precision, found.overall.recall) == (pytest.approx(200 / 3), 100)


def test_counts_stand_for_each_sentence():
    gold = [["B-NP", "I-NP"], ["O"], ["B-NP", "B-VP"]]
    found = score(gold, [["B-NP", "I-NP"], ["B-PP"], ["B-NP", "O"]])
    assert found.sentences == [Tally(1, 1, 1), Tally(0, 1, 0), Tally(1, 1, 2)]
    assert found.overall == Tally(2, 3, 3)
    assert list(found.types) == ["NP", "PP", "VP"]
    assert (found.right_tags, found.tags) == (3, 5)


def test_nothing_to_find_scores_0():
    nothing = score([["O", "O"]], [["O", "O"]])
    assert nothing.overall.f1 == nothing.overall.precision == nothing.overall.recall == 0
    assert nothing.accuracy == 100


def test_sentences_of_other_lengths_are_refused():
    with pytest.raises(DataError, match="as many predicted tags"):
        score([["O", "O"], ["O"]], [["O"], ["O", "O"]])
