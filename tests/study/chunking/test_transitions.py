"""Transitions mean what the rules mean, and decoding finds the best tags that obey them."""

import itertools
import math

import pytest
import torch

import residuum as rs
from residuum.errors import ResiduumError
from residuum.study.chunking.data.corpus import load_corpus
from residuum.study.chunking.knowledge import tag_names
from residuum.study.chunking.transitions import (
    Violations,
    compiled_rules,
    decode,
    derive_transitions,
    transitions_of,
)

SMALL = """
    domain chunk = NP, VP
    domain tag = "B-NP", "I-NP", "B-VP", "I-VP", O
    domain position sequence
    function begin(chunk): tag = NP: "B-NP", VP: "B-VP"
    function inside(chunk): tag = NP: "I-NP", VP: "I-VP"
    predicate Tag(position, tag)
    rule one: forall i in position, X, Y in chunk where X != Y:
        Tag(i, begin(X)) -> ~Tag(i + 1, inside(Y))
    rule two: forall i in position, X, Y in chunk where X != Y:
        Tag(i, inside(X)) -> ~Tag(i + 1, inside(Y))
"""
STRICT = """
    rule three: forall i in position, Y in chunk: Tag(i, O) -> ~Tag(i + 1, inside(Y))
    rule four: forall Y in chunk: ~Tag(0, inside(Y))
"""
NAMES = ["B-NP", "I-NP", "B-VP", "I-VP", "O"]


def _may_follow(before, after, *, strict):
    """Return what the paper says in words, or the whole scheme."""
    if not after.startswith("I-"):
        return True
    if before in ("O", "start"):
        return not strict
    return before[2:] == after[2:]


@pytest.mark.parametrize(("rules", "strict"), [("paper", False), ("all", True)])
def test_transitions_are_those_that_the_rules_say_in_words(rules, strict):
    found = transitions_of(rules)
    for place, before in enumerate(tag_names()):
        assert bool(found.first[place]) == _may_follow("start", before, strict=strict)
        for other, after in enumerate(tag_names()):
            allowed = bool(found.following[place, other])
            assert allowed == _may_follow(before, after, strict=strict), (before, after)


@pytest.mark.parametrize("text", [SMALL, SMALL + STRICT], ids=["paper", "strict"])
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_decoding_finds_the_best_of_all_sequences_that_obey_the_rules(text, length):
    knowledge = rs.loads(text)
    strict = "four" in knowledge.rules
    generator = torch.Generator().manual_seed(length)
    logits = 3 * torch.randn(40, length, 5, generator=generator)
    found = decode(logits, torch.full((40,), length), rs.compile(knowledge))
    for sentence, tags in zip(logits.double().log_softmax(-1), found.tolist(), strict=True):
        obedient = {
            sequence: sum(float(sentence[place, tag]) for place, tag in enumerate(sequence))
            for sequence in itertools.product(range(5), repeat=length)
            if all(
                _may_follow(before, after, strict=strict)
                for before, after in itertools.pairwise(
                    ["start", *(NAMES[tag] for tag in sequence)]
                )
            )
        }
        best = max(obedient, key=obedient.__getitem__)
        assert tuple(tags) in obedient
        assert math.isclose(obedient[tuple(tags)], obedient[best])


@pytest.mark.parametrize("rules", ["paper", "all"])
def test_decoding_never_breaks_a_rule_and_sentences_do_not_meet(rules):
    transitions = transitions_of(rules)
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 20, (15,), generator=generator)
    logits = 10 * torch.randn(15, 19, 23, generator=generator)
    logits[torch.arange(19) >= lengths[:, None]] = torch.nan  # padding is never looked at
    found = decode(logits, lengths, compiled_rules(rules))
    counted = Violations(transitions)
    counted.add_tags(found, lengths)
    assert counted.broken == 0
    for row, tags, length in zip(logits, found, lengths.tolist(), strict=True):
        alone = decode(row[None, :length], torch.tensor([length]), compiled_rules(rules))
        assert alone[0].tolist() == tags[:length].tolist()
        assert tags[length:].tolist() == [0] * (19 - length)


def test_tags_that_obey_the_rules_are_left_as_they_are():
    tags = torch.tensor([[NAMES.index(name) for name in ("B-NP", "I-NP", "O", "B-VP")]])
    rules = rs.compile(rs.loads(SMALL + STRICT))
    logits = 1e6 * torch.eye(5)[tags]
    assert decode(logits, torch.tensor([4]), rules).tolist() == tags.tolist()
    logits[0, 1, 3] = 2e6  # B-NP I-VP is not allowed, and little else is likely there
    assert decode(logits, torch.tensor([4]), rules)[0, :2].tolist() != [NAMES.index("B-NP"), 3]


@pytest.mark.parametrize(
    "rule",
    [
        "forall i in position: Tag(i, O) -> ~Tag(i + 2, O)",
        "forall i in position where i > 1: ~Tag(i, O)",
        "forall X in chunk: Tag(0, O) -> ~Tag(1, begin(X))",
    ],
)
def test_rules_that_are_no_transitions_are_refused(rule):
    with pytest.raises(ResiduumError, match="other rules among one, two, more"):
        derive_transitions(rs.loads(f"{SMALL} rule more: {rule}"))


def test_rules_that_nothing_obeys_are_refused():
    rules = rs.compile(rs.loads(f"{SMALL} rule no: forall i in position: ~Tag(i + 1, O)"
                                " & (forall X in chunk: ~Tag(i + 1, begin(X)))"
                                " & (forall X in chunk: ~Tag(i + 1, inside(X)))"))  # fmt: skip
    with pytest.raises(ResiduumError, match="no prediction of length 2 obeys"):
        decode(torch.zeros(1, 2, 5), torch.tensor([2]), rules)


@pytest.mark.parametrize(("text", "strict"), [(SMALL, False), (SMALL + STRICT, True)])
def test_violations_are_those_that_loops_count(text, strict):
    generator = torch.Generator().manual_seed(1)
    lengths = torch.tensor([5, 1, 3, 4])
    chances = torch.rand(4, 5, 5, generator=generator, dtype=torch.float64)
    chances = chances / chances.sum(-1, keepdim=True)
    tags = torch.randint(5, (4, 5), generator=generator)
    hard, soft, transitions = 0, 0.0, 0
    for row, sentence, length in zip(
        tags.tolist(), chances.tolist(), lengths.tolist(), strict=True
    ):
        for place in range(0 if strict else 1, length):
            transitions += 1
            before = "start" if place == 0 else NAMES[row[place - 1]]
            hard += not _may_follow(before, NAMES[row[place]], strict=strict)
            previous = {"start": 1.0}
            if place:
                previous = dict(zip(NAMES, sentence[place - 1], strict=True))
            for name, chance in previous.items():
                for after, other in zip(NAMES, sentence[place], strict=True):
                    soft += chance * other * (not _may_follow(name, after, strict=strict))
    allowed = derive_transitions(rs.loads(text))
    counted, expected = Violations(allowed), Violations(allowed)
    counted.add_tags(tags, lengths)
    expected.add_probabilities(chances, lengths)
    assert (counted.broken, counted.transitions) == (hard, transitions)
    assert expected.broken == pytest.approx(soft)
    assert expected.share == pytest.approx(100 * soft / transitions)


def test_no_transitions_are_no_violations():
    counted = Violations(transitions_of("paper"))
    counted.add_tags(torch.tensor([[3], [0]]), torch.tensor([1, 1]))
    assert (counted.transitions, counted.share) == (0, 0)


@pytest.mark.parametrize("rules", ["paper", "all"])
def test_the_gold_tags_of_the_sample_obey_the_rules(rules):
    corpus = load_corpus("sample")
    counted = Violations(transitions_of(rules))
    for sentence in (*corpus.train, *corpus.test):
        tags = torch.tensor([[tag_names().index(tag) for tag in sentence.tags]])
        counted.add_tags(tags, torch.tensor([len(sentence.tags)]))
    assert counted.broken == 0
    assert counted.transitions > 1500
