"""Gold tags that break rules are counted, rule by rule, as loops over neighbours count them."""

import random

import pytest

from residuum.study.chunking.data.corpus import Corpus, Sentence, load_corpus
from residuum.study.chunking.knowledge import tag_names
from residuum.study.chunking.scoring import f1_of_words
from residuum.study.chunking.transitions import broken_rules, gold_report


def counted(sentences):
    """The same by the words of the scheme."""
    found = dict.fromkeys(
        ("begin_then_inside", "inside_then_inside", "outside_then_inside", "start"), 0
    )
    for sentence in sentences:
        for before, after in zip(("", *sentence.tags), sentence.tags, strict=False):
            if not after.startswith("I-") or before[2:] == after[2:] != "":
                continue
            rule = {"": "start", "O": "outside_then_inside"}.get(before)
            kinds = {"B": "begin_then_inside", "I": "inside_then_inside"}
            found[rule or kinds[before[0]]] += 1
    return found


def drawn(seed, count=40):
    chance = random.Random(seed)
    lengths = [chance.randint(1, 12) for _ in range(count)]
    tags = [tuple(chance.choices(tag_names(), k=length)) for length in lengths]
    return [Sentence(("word",) * len(one), one) for one in tags]


@pytest.mark.parametrize("seed", range(5))
def test_broken_rules_are_those_that_loops_find(seed):
    sentences = drawn(seed)
    expected = counted(sentences)
    assert broken_rules(sentences) == expected
    assert all(expected.values())


def test_a_report_names_the_rules_that_are_broken_and_how_often():
    bad = Sentence(("a", "b", "c"), ("I-NP", "I-NP", "I-VP"))
    report = gold_report(Corpus("conll2000-x", (bad, bad), (Sentence(("a",), ("O",)),)))
    assert report == (
        "conll2000-x: train 2 sentences, gold tags break inside_then_inside 2 times, start 2 "
        "times; test 1 sentences, gold tags break no rule"
    )


def test_the_sample_obeys_all_rules():
    sample = load_corpus("sample")
    assert not any(broken_rules((*sample.train, *sample.test)).values())


def test_conll2000_obeys_all_rules(data_folder):
    del data_folder
    assert gold_report(load_corpus("conll2000")).count("no rule") == 2


def test_words_are_tagged_as_they_mostly_are():
    train = [
        Sentence(("The", "cat", "sat"), ("B-NP", "I-NP", "B-VP")),
        Sentence(("the", "Cat", "."), ("B-NP", "I-NP", "O")),
    ] * 10
    # A dog is unknown: most words are B-NP here.
    test = [Sentence(("the", "cat", "sat"), ("B-NP", "I-NP", "B-VP")), Sentence(("dog",), ("O",))]
    found = f1_of_words(Corpus("made up", tuple(train), tuple(test)), 1.0, 0)
    assert found == pytest.approx(100 * 2 * 2 / (2 + 3))
