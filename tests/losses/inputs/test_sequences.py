"""Rules about positions of sequences: steps, pairs, padding, and positions outside."""

from __future__ import annotations

import brute_force
import pytest
import torch
from brute_force import TEXTBOOK, World

import residuum as rs
from residuum.errors import GroundingError

TAGS = ("A", "B", "O")
LENGTHS = [4, 0, 1, 3, 2]
PAPER = ["s-product", "r-product", "s-godel", "r-godel", "lukasiewicz", "lukasiewicz-maxsat"]
RULES = {
    "next": "forall i in s: Tag(i, A) -> Tag(i + 1, B)",
    "previous": "forall i in s: Tag(i, B) -> Tag(i - 1, A) | Tag(i - 1, B)",
    "both": "forall i in s: Tag(i - 1, A) & Tag(i + 1, A) -> ~Tag(i, O)",
    "from the left": "forall i in s: Tag(i, A) -> ~Tag(2 + i, t0)".replace("t0", "B"),
    "two variables": "forall i, j in s where i < j: Tag(i, A) & Tag(j, A) -> ~Tag(j - 1, A)",
    "distance": "forall i in s, k in near, t in t: Tag(i, t) -> ~Tag(i + k, t)",
    "exists": "forall i in s: Tag(i, A) -> (exists j in s where j > i: Tag(j, B))",
    "exists a step": "exists i in s: Tag(i, A) & Tag(i + 1, B)",
    "inner step": "forall i in s: Tag(i, A) -> (exists k in near: Tag(i + k, B))",
    "inner tag": "forall i in s: exists t in t where t != O: Tag(i + 1, t)",
    "siblings": "(forall i in s: Tag(i, A) -> Tag(i + 1, B)) & (forall i in s: ~Tag(i, O))",
    "shadowed": "forall i in s: Tag(i, A) -> (forall i in s: Tag(i + 1, B) -> Tag(i, A))",
    "small positions": "forall k in near: Tag(k, A) -> Tag(k - 1, B)",
    "named in a quantifier": "forall i in s: Tag(i, A) -> Tag(1, B)",
    "doubled": "forall i in s: Tag(i, A) -> Tag(2 * i, B)",
}


def compiled(text, name, **options):
    # A tag is a variable where it is bound and a label elsewhere; labels in guards are quoted.
    return rs.compile(
        text.replace("!= O", '!= "O"'),
        name,
        domains={"s": "sequence", "t": TAGS, "near": (1, 2)},
        predicates={"Tag": ("s", "t")},
        **options,
        reduction="none",
    )


def batch(seed=3):
    generator = torch.Generator().manual_seed(seed)
    given = torch.randint(1, 64, (len(LENGTHS), max(LENGTHS), len(TAGS)), generator=generator)
    return given.double() / 64


def expected(formula, given, length, name):
    rows = given.tolist()
    world = World(
        {"s": range(length), "t": TAGS, "near": (1, 2)},
        {},
        {"Tag": lambda i, tag: rows[i][TAGS.index(tag)]},
        {"Tag": (0,)},
        length,
    )
    return brute_force.penalty(formula, world, TEXTBOOK[name])


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("rule", RULES)
def test_padded_sequences_cost_what_each_costs_alone(rule, name):
    module, given = compiled(RULES[rule], name, inputs="probs"), batch()
    found = module(Tag=given, lengths=torch.tensor(LENGTHS))
    for example, length in enumerate(LENGTHS):
        alone = module(Tag=given[example, :length])
        torch.testing.assert_close(found[example], alone)
        try:
            value = expected(module.formula, given[example], length, name)
        except brute_force.CornerError:
            continue  # the brute-force oracle does not define exists over an empty range
        assert alone == pytest.approx(value, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_padding_changes_neither_truth_nor_satisfaction_nor_coverage(rule):
    module, given = compiled(RULES[rule], "r-product", inputs="probs"), batch()
    lengths = torch.tensor(LENGTHS)
    for question in (module.truth, module.satisfied, module.coverage):
        found = question(Tag=given, lengths=lengths)
        alone = [question(Tag=given[e, :length]) for e, length in enumerate(LENGTHS)]
        torch.testing.assert_close(found, torch.stack(alone))


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("rule", RULES)
def test_padding_has_no_gradient(rule, name):
    given = batch().log().requires_grad_()
    penalty = compiled(RULES[rule], name)(Tag=given, lengths=torch.tensor(LENGTHS))
    penalty.sum().backward()
    for example, length in enumerate(LENGTHS):
        assert (given.grad[example, length:] == 0).all()
        alone = given[example, :length].detach().requires_grad_()
        compiled(RULES[rule], name)(Tag=alone).backward()
        torch.testing.assert_close(given.grad[example, :length], alone.grad)


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("rule", ["next", "two variables", "distance", "shadowed", "exists"])
@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_of_padded_sequences_change_nothing(rule, name, block):
    found = []
    for size in (None, block):
        given = batch().log().requires_grad_()
        penalty = compiled(RULES[rule], name, block=size)(Tag=given, lengths=LENGTHS)
        (penalty * torch.arange(1, 6)).sum().backward()
        found.append((penalty, given.grad))
    torch.testing.assert_close(found[1], found[0])


def test_a_position_named_outside_any_quantifier_must_exist():
    rule = compiled("Tag(0, A) -> Tag(2, B)", "lukasiewicz", inputs="probs")
    given = batch()
    assert rule(Tag=given[0]) == max(0, given[0, 0, 0] - given[0, 2, 1])
    with pytest.raises(GroundingError, match="`2` is no position of `s`, which has length 2"):
        rule(Tag=given[0, :2])
    with pytest.raises(GroundingError, match=r"lengths from 3, .* to 4, .*got 0"):
        rule(Tag=given, lengths=LENGTHS)


def test_positions_of_one_sequence_may_index_another():
    rule = rs.compile(
        "forall i in s: A(i) -> B(i + 0)",
        "lukasiewicz-maxsat",
        domains={"s": "sequence", "u": "sequence"},
        predicates={"B": ("u",)},
        outputs={"A": "independent", "B": "independent"},
        inputs="probs",
    )
    assert rule(A=torch.ones(5), B=torch.zeros(3)) == 3
    assert rule(A=torch.ones(3), B=torch.zeros(5)) == 3


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([1, 2], r"expected integers of shape \(5,\)"),
        ([1.0, 2, 3, 4, 0], "expected integers"),
        ([5, 0, 1, 3, 2], "lengths from 0, .* to 4, .*got 5"),
        ([-1, 0, 1, 3, 2], "lengths from 0, .*got -1"),
        ([True, False, True, True, False], "expected integers .* got torch.bool"),
        ([1j, 0, 1, 3, 2], "expected integers .* got torch.complex64"),
        (torch.zeros(5, dtype=torch.int64, device="meta"), "`meta` has .* no values; pass"),
    ],
)
def test_wrong_lengths_are_refused(lengths, message):
    with pytest.raises(GroundingError, match=message):
        compiled(RULES["next"], "r-product")(Tag=batch(), lengths=lengths)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.int32, torch.uint64])
def test_lengths_may_be_integers_of_any_width(dtype):
    rule, given = compiled(RULES["next"], "s-product"), batch()
    found = rule(Tag=given, lengths=torch.tensor(LENGTHS, dtype=dtype))
    torch.testing.assert_close(found, rule(Tag=given, lengths=LENGTHS))


def test_positions_may_lie_beyond_64_bits():
    rule = compiled("forall i in s: Tag(i * 9000000000000000000 * 9, A)", "lukasiewicz-maxsat")
    given = torch.zeros(2, 3, len(TAGS))  # only i = 0 gives a position inside
    torch.testing.assert_close(rule(Tag=given, lengths=[3, 0]), torch.tensor([2 / 3, 0.0]))


@pytest.mark.parametrize("rule", ["next", "exists", "exists a step"])
@pytest.mark.parametrize("name", ["s-product", "s-godel", "lukasiewicz"])
def test_vmap_maps_lengths_with_their_sequences(rule, name):
    module, given, lengths = compiled(RULES[rule], name), batch(), torch.tensor(LENGTHS)
    for ask in (module, module.truth, module.satisfied):
        mapped = torch.func.vmap(lambda one, length, ask=ask: ask(Tag=one, lengths=length))
        torch.testing.assert_close(mapped(given, lengths), ask(Tag=given, lengths=lengths))


def test_exact_refuses_vmap_over_lengths():
    module = compiled(RULES["next"], "exact")
    mapped = torch.func.vmap(lambda one, length: module(Tag=one, lengths=length))
    with pytest.raises(GroundingError, match=r"lengths.*vmap.*pass the whole batch"):
        mapped(batch(), torch.tensor(LENGTHS))


def test_lengths_without_a_sequence_are_refused():
    with pytest.raises(GroundingError, match="the rule has no sequence domain"):
        rs.compile("P")(P=torch.zeros(2), lengths=[1, 2])


@pytest.mark.parametrize(
    "text",
    [
        "forall i in s: true",
        "forall i in s, x in d: P(x)",
        "forall x in d: P(x) -> (exists i in s where i > x: P(0))",
        "forall i in s, j in t: Tag(j) -> P(i mod 2)",
    ],
)
def test_a_sequence_without_a_tensor_to_give_its_length_is_refused(text):
    domains = {"s": "sequence", "t": "sequence", "d": 2}
    atoms = {"P": ("d",), "Tag": ("t",)}
    predicates = {name: given for name, given in atoms.items() if f"{name}(" in text}
    with pytest.raises(GroundingError, match=r"`i in s`: .* no predicate .* or the domain a size"):
        rs.compile(text, domains=domains, predicates=predicates)
