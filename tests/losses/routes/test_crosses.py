"""Tables of groundings of which only a cross is looked at: the numbers of the whole table.

The oracle builds every grounding and leaves the slopes to PyTorch.
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
def test_a_cross_costs_and_learns_as_the_whole_table_does(text, name, kind):
    rule = compiled(text, name)
    assert has_cross(rule)
    given = logits_for(rule, kind)
    value = rule(given)
    expected = of_the_whole_table(RULES[text](truths_of(given, rule)), name)
    torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-12)
    if kind in ("whole", "far", "equal"):  # ties within rounding, which the next test tells apart
        assert all(torch.isfinite(slope).all() for slope in gradients(value, given))
        return
    for found, right in zip(gradients(value, given), gradients(expected, given), strict=True):
        torch.testing.assert_close(found, right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["drawn", "peaked", "whole", "equal", "far"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", RULES)
def test_a_cross_and_the_whole_table_choose_alike_among_equals(text, name, kind, monkeypatch):
    crossing = compiled(text, name)
    assert has_cross(crossing)
    monkeypatch.setattr(thresholds, "WORTH_OF_A_CROSS", 10**9)
    whole = compiled(text, name)
    assert not has_cross(whole)
    every = logits_for(whole, kind)
    for example in range(20):  # one at a time: what a cross cannot settle sends all to the table
        given = {slot: logits[example : example + 1] for slot, logits in every.items()}
        pairs = zip(gradients(crossing(given), given), gradients(whole(given), given), strict=True)
        for one, other in pairs:
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("text", [text for text in RULES if "-> ~" not in text])
def test_a_cross_settles_what_is_drawn(text):
    """Also where other groundings are as bad for the same reason, as those of `S(a)` often are.

    A consequent that is denied is broken by a likely class, of which the cross may have none.
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
def test_single_precision_is_as_exact(name):
    text = next(iter(RULES))
    rule = compiled(text, name)
    given = logits_for(rule, "peaked", torch.float32)
    expected = of_the_whole_table(RULES[text](truths_of(given, rule)), name)
    torch.testing.assert_close(rule(given).double(), expected, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", NAMES)
def test_slopes_of_a_cross_have_slopes(name):
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
def test_other_tables_have_none(reason, name):
    assert not has_cross(compiled(WITHOUT[reason], name))


@pytest.mark.parametrize("name", ["r-product", "s-product"])
def test_a_product_of_unlikely_classes_costs_something(name):
    assert not has_cross(compiled(next(iter(RULES)), name))


def test_outputs_that_are_no_softmax_have_none():
    independent = dict.fromkeys("PQS", "independent")
    assert not has_cross(compiled(next(iter(RULES)), "lukasiewicz-maxsat", outputs=independent))


@pytest.mark.parametrize("name", NAMES)
def test_what_a_cross_cannot_settle_is_looked_at_in_blocks(name):
    """P and Q are sure of no class, so that under the minimum all groundings are as bad."""
    rule = rs.compile("forall a, b in k: P(a) & Q(b) -> S((a + b) mod 300)", name,
                      domains={"k": 300}, reduction="none")  # fmt: skip
    assert has_cross(rule)
    given = {slot: torch.zeros(8, 300, dtype=torch.float64, requires_grad=True) for slot in "PQS"}
    value = rule(given)
    expected = 1 / 300 if name == "s-godel" else 0.0
    torch.testing.assert_close(value, torch.full((8,), expected, dtype=torch.float64))
    slopes = torch.autograd.grad(value.sum(), list(given.values()))
    assert all(slope.abs().max() < 1e-12 for slope in slopes)  # whatever one class gains, one loses
