"""A cross has the same penalties and gradients as the whole table of groundings.

The oracle builds every grounding and leaves the gradients to PyTorch.
"""

from __future__ import annotations

import pytest
import torch
from tables_of_rules import RULES, compiled, logits_for, truths_of

import residuum as rs
from residuum.losses.degrees.fused_logits import sides_of
from residuum.losses.routes import thresholds

NAMES = ("lukasiewicz", "lukasiewicz-maxsat", "s-godel")
WITHOUT = {
    "a guard": "forall a, b in d where a != b: P(a) & Q(b) -> S((a + b) mod 16)",
    "one softmax": "forall a, b in d: P(a) & ~Q(b) -> S((a + b) mod 16)",
    "several softmaxes": "forall x in two, a, b in d: Given(x, a) & Q(b) -> S((a + b) mod 16)",
    "one variable": "forall a in d: P(a) & Q(a) -> S(a)",
    "a small table": "forall a, b in six: A(a) & B(b) -> C((a + b) mod 6)",
}


def of_the_whole_table(literals, name):
    if name == "s-godel":
        least = literals[0]
        for literal in literals[1:]:
            least = torch.minimum(least, literal)
        return least.flatten(1).amax(1)
    slack = sum(literals) - (len(literals) - 1)
    total = torch.relu(slack).flatten(1).sum(1)
    return total.clamp(max=1) if name == "lukasiewicz" else total


def has_cross(rule):
    clauses = rule._definition.clauses({}, torch.device("cpu"))
    return not isinstance(clauses, str) and clauses.cross is not None


def gradients(value, given):
    weights = torch.linspace(0.5, 2, len(value), dtype=value.dtype)
    return torch.autograd.grad(value @ weights, list(given.values()))


@pytest.mark.parametrize("kind", ["drawn", "peaked", "whole", "equal", "far"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", RULES)
def test_a_cross_has_the_penalties_and_gradients_of_the_whole_table(text, name, kind):
    rule = compiled(text, name)
    assert has_cross(rule)
    given = logits_for(rule, kind)
    value = rule(given)
    expected = of_the_whole_table(RULES[text](truths_of(given, rule)), name)
    torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-12)
    if kind in ("whole", "far", "equal"):  # ties within rounding; the next test compares them
        assert all(torch.isfinite(gradient).all() for gradient in gradients(value, given))
        return
    for found, right in zip(gradients(value, given), gradients(expected, given), strict=True):
        torch.testing.assert_close(found, right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["drawn", "peaked", "whole", "equal", "far"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", RULES)
def test_a_cross_and_the_whole_table_share_gradients_in_the_same_way(text, name, kind, monkeypatch):
    crossing = compiled(text, name)
    assert has_cross(crossing)
    monkeypatch.setattr(thresholds, "WORTH_OF_A_CROSS", 10**9)
    whole = compiled(text, name)
    assert not has_cross(whole)
    every = logits_for(whole, kind)
    for example in range(20):  # one by one: an example without a cross sends its batch to the table
        given = {slot: logits[example : example + 1] for slot, logits in every.items()}
        pairs = zip(gradients(crossing(given), given), gradients(whole(given), given), strict=True)
        for one, other in pairs:
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("text", [text for text in RULES if "-> ~" not in text])
def test_a_cross_is_enough_for_most_random_examples(text):
    """Also if groundings outside of the cross tie by the same literal, as `S(a)` often does.

    Rules with a negated consequent are left out: a likely class of it may lie outside of the cross.
    """
    rule = compiled(text, "s-godel")
    found = rule._definition.clauses({}, torch.device("cpu"))
    settled = 0
    given = logits_for(rule, "drawn")
    for example in range(60):
        one = [logits[example : example + 1].detach() for logits in given.values()]
        sides = sides_of(found.stacks(1, one), one, divides=False, looks=True)
        settled += found.cross.least(sides.rows()) is not None
    assert settled >= 50


@pytest.mark.parametrize("name", NAMES)
def test_a_cross_in_single_precision_rounds_only_a_little(name):
    text = next(iter(RULES))
    rule = compiled(text, name)
    given = logits_for(rule, "peaked", torch.float32)
    expected = of_the_whole_table(RULES[text](truths_of(given, rule)), name)
    torch.testing.assert_close(rule(given).double(), expected, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_cross_has_second_derivatives(name):
    text = next(iter(RULES))
    rule = compiled(text, name)
    given = {slot: logits[:2] for slot, logits in logits_for(rule, "peaked").items()}

    def sums_of_squares(value):
        first = torch.autograd.grad(value.sum(), list(given.values()), create_graph=True)
        return torch.autograd.grad(sum(one.square().sum() for one in first), list(given.values()))

    expected = of_the_whole_table(RULES[text](truths_of(given, rule)), name)
    for found, right in zip(sums_of_squares(rule(given)), sums_of_squares(expected), strict=True):
        torch.testing.assert_close(found, right, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("reason", WITHOUT)
@pytest.mark.parametrize("name", NAMES)
def test_other_rules_have_no_cross(reason, name):
    assert not has_cross(compiled(WITHOUT[reason], name))


@pytest.mark.parametrize("name", ["r-product", "s-product"])
def test_products_have_no_cross_because_unlikely_classes_cost_something(name):
    assert not has_cross(compiled(next(iter(RULES)), name))


def test_sigmoids_have_no_cross():
    independent = dict.fromkeys("PQS", "independent")
    assert not has_cross(compiled(next(iter(RULES)), "lukasiewicz-maxsat", outputs=independent))


@pytest.mark.parametrize("name", NAMES)
def test_examples_for_which_a_cross_is_not_enough_are_evaluated_in_blocks(name):
    """All classes of P and Q are equally likely, so that under the minimum all groundings tie."""
    rule = rs.compile("forall a, b in k: P(a) & Q(b) -> S((a + b) mod 300)", name,
                      domains={"k": 300}, reduction="none")  # fmt: skip
    assert has_cross(rule)
    given = {slot: torch.zeros(8, 300, dtype=torch.float64, requires_grad=True) for slot in "PQS"}
    value = rule(given)
    expected = 1 / 300 if name == "s-godel" else 0.0
    torch.testing.assert_close(value, torch.full((8,), expected, dtype=torch.float64))
    found = torch.autograd.grad(value.sum(), list(given.values()))
    assert all(one.abs().max() < 1e-12 for one in found)  # equal classes: their gradients cancel
