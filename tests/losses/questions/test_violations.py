"""Violations are the groundings that predictions break: those, and nothing else."""

from __future__ import annotations

import math

import pytest
import torch
from brute_force import World, crisp
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from random_rules import DOMAINS, PREDICATES, SHAPES, TABLES, rules

import residuum as rs

LOGICS = ["r-product", "s-product", "lukasiewicz", "s-godel", "r-godel", "exact", "s-drastic"]
MEMBERS = {name: range(3) if name == "three" else labels for name, labels in DOMAINS.items()}
FUNCTIONS = {
    name: table if callable(table) else table.__getitem__ for name, table in TABLES.items()
}
EXAMPLES = 4


def predicted(logits, is_exclusive):
    """Return what logits predict to be true: one class of a softmax, or all that are positive."""
    if not is_exclusive:
        return logits > 0
    return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).bool()


def world_of(predictions, example):
    """Return the Boolean world of one example."""

    def reading(name, listed):
        def read(*values):
            found = listed
            for value, domain in zip(values, PREDICATES[name], strict=True):
                found = found[list(MEMBERS[domain]).index(value)]
            return found

        return read

    atoms = {name: reading(name, given[example].tolist()) for name, given in predictions.items()}
    return World(MEMBERS, FUNCTIONS, atoms, {})


def broken(rule, world, env=None):
    """Return how many groundings of the outermost quantifiers are false."""
    if isinstance(rule, rs.Forall):
        return sum(broken(rule.body, world, one) for one in world.groundings(rule, env or {}))
    return int(not crisp(rule, world, env))


@settings(derandomize=True, deadline=None, phases=[Phase.generate], max_examples=60)
@given(rules(), st.integers(0, 2**32 - 1), st.sampled_from(LOGICS), st.sampled_from([None, 1, 7]))
def test_violations_are_the_groundings_that_predictions_break(rule, seed, name, block):
    used = {node.predicate for node in rs.logic.distinct_nodes(rule) if isinstance(node, rs.Atom)}
    assume(used)
    compiled = rs.compile(
        rule,
        name,
        domains=DOMAINS,
        predicates={key: PREDICATES[key] for key in used},
        functions=TABLES,
        block=block,
    )
    source = torch.Generator().manual_seed(seed)
    given = {
        slot.name: 2 * torch.randn((EXAMPLES, *SHAPES[slot.name]), generator=source)
        for slot in compiled.plan.slots
    }
    assume(given)
    predictions = {
        slot.name: predicted(given[slot.name], slot.is_exclusive) for slot in compiled.plan.slots
    }
    found = compiled.violations(given, top=100_000)
    worlds = [world_of(predictions, example) for example in range(EXAMPLES)]
    for one in found:
        assert not crisp(one.grounding, worlds[one.example[0]])
    counts = [sum(one.example == (example,) for one in found) for example in range(EXAMPLES)]
    assert counts == [broken(rule, world) for world in worlds]
    assert compiled.satisfied(given).tolist() == [count == 0 for count in counts]
    degrees = [one.degree for one in found]
    assert degrees == sorted(degrees)
    assert compiled.violations(given, top=3) == found[:3]


def test_a_low_degree_of_what_is_predicted_right_is_no_violation():
    rule = rs.compile("forall x in d: P(x) -> Q", domains={"d": 3}, inputs="probs",
                      outputs={"P": "independent"})  # fmt: skip
    given = {"P": torch.tensor([[0.4, 0.5, 0.1]]), "Q": torch.tensor([0.3])}
    assert rule.truth(given) < 1
    assert rule.satisfied(given).all()
    assert rule.violations(given) == []


def test_what_is_broken_is_a_violation_even_if_its_degree_is_1():
    rule = rs.compile("P(0) -> P(1)", "r-godel", domains={"d": 2}, predicates={"P": ("d",)})
    given = {"P": torch.tensor([[2.0, 2.0]])}  # of equals the first is predicted
    assert rule.truth(given) == 1
    assert not rule.satisfied(given).any()
    [one] = rule.violations(given)
    assert (one.example, one.degree) == ((0,), 1.0)


def test_of_equal_degrees_the_first_examples_come_first():
    rule = rs.compile("forall x in d: P(x)", domains={"d": 3}, outputs={"P": "independent"})
    found = rule.violations(P=torch.full((50, 3), -1.0), top=4)
    assert [(one.example, str(one.grounding)) for one in found] == [
        ((0,), "P(0)"), ((0,), "P(1)"), ((0,), "P(2)"), ((1,), "P(0)"),
    ]  # fmt: skip


def test_nan_does_not_make_a_violation_of_what_is_not_broken():
    rule = rs.compile("forall x in d: P(x)", domains={"d": 3}, outputs={"P": "independent"})
    found = rule.violations(P=torch.tensor([[1.0, math.nan, -1.0], [1.0, 1.0, 1.0]]))
    assert sorted(str(one.grounding) for one in found) == ["P(1)", "P(2)"]


@pytest.mark.parametrize(
    ("batch", "start"), [((), "~P"), ((2,), "example 1: ~P"), ((2, 3), "example (1, 2): ~P")]
)
def test_a_violation_says_which_example_of_the_batch_it_is(batch, start):
    logits = torch.full(batch, -1.0)
    logits[(-1,) * len(batch)] = 2.0
    [one] = rs.compile("~P").violations(P=logits)
    assert str(one) == f"{start}, degree 0.12"
    assert one.example == tuple(size - 1 for size in batch)
