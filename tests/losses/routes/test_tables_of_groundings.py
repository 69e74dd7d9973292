"""Tables of groundings, whole or in parts, have the penalties and gradients of autograd."""

from __future__ import annotations

import pytest
import torch
from tables_of_rules import RULES, compiled, logits_for, sums, truths_of

import residuum as rs
from residuum.losses.routes import thresholds

NAMES = ("r-product", "s-product")
BARE = "forall a, b in d: P(a) -> Q(b)"
BROKEN_BY = {**RULES, BARE: lambda t: (t["P"][:, :, None], 1 - t["Q"][:, None, :])}


@pytest.fixture(autouse=True)
def no_matrices(monkeypatch):
    monkeypatch.setattr(thresholds, "MOST_ENTRIES", 0)


@pytest.fixture(params=["whole", "in parts", "in groups"])
def chunks(request, monkeypatch):
    """Evaluate a batch of 60 examples whole, in parts of groundings, or in parts of examples."""
    if request.param != "whole":
        monkeypatch.setattr(thresholds, "CHUNK", 2500)
    if request.param == "in groups":
        monkeypatch.setattr(thresholds, "CHUNK", 130)
        monkeypatch.setattr(thresholds, "SIDE_BY_SIDE", 7)


def has_table(rule):
    found = rule._definition.clauses({}, torch.device("cpu"))
    return found is not None and found.table is not None


def of_the_whole_table(literals, name):
    if name == "s-product":
        product = literals[0]
        for literal in literals[1:]:
            product = product * literal
        return -torch.log1p(-product).flatten(1).sum(1)
    *antecedent, denied = literals
    if name == "r-product":
        excess = sum(literal.log() for literal in antecedent) - torch.log1p(-denied)
    else:
        excess = sum(literals) - (len(literals) - 1)
    return torch.relu(excess).flatten(1).sum(1)


def compare(text, name, given, rule):
    value = rule(given)
    expected = of_the_whole_table(BROKEN_BY[text](truths_of(given, rule)), name)
    torch.testing.assert_close(value, expected, rtol=1e-9, atol=1e-12)
    weights = torch.linspace(0.5, 2, len(value), dtype=value.dtype)
    gradients, right = (
        torch.autograd.grad(one @ weights, list(given.values())) for one in (value, expected)
    )
    for found, one in zip(gradients, right, strict=True):
        torch.testing.assert_close(found, one, rtol=1e-7, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", BROKEN_BY)
@pytest.mark.usefixtures("chunks")
def test_a_table_has_the_penalties_and_gradients_of_autograd(text, name):
    rule = compiled(text, name)
    assert has_table(rule)
    compare(text, name, logits_for(rule, "peaked"), rule)


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("text", list(RULES)[:5])
def test_a_table_may_read_sigmoids(text):
    rule = compiled(text, "lukasiewicz-maxsat", outputs=dict.fromkeys("PQS", "independent"))
    assert has_table(rule)
    given = logits_for(rule, "peaked")
    truths = {slot: torch.sigmoid(logits) for slot, logits in given.items()}
    value = rule(given)
    expected = of_the_whole_table(RULES[text](truths), "lukasiewicz-maxsat")
    torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-12)
    gradients, right = (
        torch.autograd.grad(one.sum(), list(given.values())) for one in (value, expected)
    )
    for found, one in zip(gradients, right, strict=True):
        torch.testing.assert_close(found, one, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "block"), [("r-product", None), ("r-product", 100), ("s-product", None)]
)
def test_a_table_has_second_derivatives(name, block):
    text = next(iter(RULES))
    rule = compiled(text, name, block=block)
    given = {slot: logits[:4] for slot, logits in logits_for(rule, "peaked").items()}

    def sums_of_squares(value):
        first = torch.autograd.grad(value.sum(), list(given.values()), create_graph=True)
        return torch.autograd.grad(sum(one.square().sum() for one in first), list(given.values()))

    expected = of_the_whole_table(RULES[text](truths_of(given, rule)), name)
    if name == "r-product":  # log(1 - (1 - s)) would lose digits
        p, q, s = (torch.log_softmax(given[slot], -1) for slot in "PQS")
        expected = torch.relu(p[:, :, None] + q[:, None, :] - s[:, sums(16)]).sum((1, 2))
    for found, right in zip(sums_of_squares(rule(given)), sums_of_squares(expected), strict=True):
        torch.testing.assert_close(found, right, rtol=1e-8, atol=1e-11)


def test_a_table_of_products_beyond_one_block_refuses_second_derivatives():
    rule = compiled(next(iter(RULES)), "s-product", block=1000)
    given = logits_for(rule, "peaked")
    leaves = list(given.values())
    once = torch.autograd.grad(rule(given).sum(), leaves)
    again = torch.autograd.grad(rule(given).sum(), leaves, create_graph=True)
    for found, right in zip(again, once, strict=True):
        torch.testing.assert_close(found, right, rtol=1e-10, atol=1e-13)
    with pytest.raises(rs.ResiduumError, match="fit one block"):
        torch.autograd.grad(again[0].sum(), leaves)


@pytest.mark.parametrize("name", NAMES)
def test_penalties_of_inputs_without_gradients_require_none(name):
    text = next(iter(RULES))
    rule = compiled(text, name)
    given = {slot: logits.detach() for slot, logits in logits_for(rule, "drawn").items()}
    expected = of_the_whole_table(RULES[text](truths_of(given, rule)), name)
    value = rule(given)
    assert not value.requires_grad
    torch.testing.assert_close(value, expected)


@pytest.mark.parametrize("antecedent", ["P(a) & Wide(b)", "Wide(b) & P(a)"])
def test_the_longest_axis_is_outermost(antecedent):
    rule = compiled(f"forall a in d, b in e: {antecedent} -> S((a + b) mod 16)", "r-product")
    assert rule._definition.clauses({}, torch.device("cpu")).table.shape == (20, 16)


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_with_many_classes_is_a_table_by_default(name, monkeypatch):
    monkeypatch.undo()
    text = "forall a, b in k: P(a) & Q(b) -> S((a + b) mod 70)"
    rule = rs.compile(text, name, domains={"k": 70}, reduction="none")
    assert has_table(rule)
    source = torch.Generator().manual_seed(0)
    given = {slot: torch.randn(9, 70, generator=source, dtype=torch.float64) for slot in "PQS"}
    p, q, s = (torch.softmax(given[slot], -1) for slot in "PQS")
    added = (torch.arange(70)[:, None] + torch.arange(70)) % 70
    literals = (p[:, :, None], q[:, None, :], 1 - s[:, added])
    torch.testing.assert_close(rule(given), of_the_whole_table(literals, name))


def test_clauses_that_differ_in_signs_are_no_table():
    text = (
        "(forall a, b in d: Given(0, a) & Q(b) -> S((a + b) mod 16))"
        " & (forall a, b in d: Given(1, a) -> Q(b) & S((a + b) mod 16))"
    )
    rule = compiled(text, "r-product")
    given = logits_for(rule, "peaked")
    two, q, s = (torch.log_softmax(given[slot], -1) for slot in ("Given", "Q", "S"))
    q, s = q[:, None, :], s[:, sums(16)]
    costs = torch.relu(two[:, 0, :, None] + q - s) + torch.relu(two[:, 1, :, None] - q - s)
    torch.testing.assert_close(rule(given), costs.sum((1, 2)))
