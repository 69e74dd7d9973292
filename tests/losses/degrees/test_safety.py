"""Penalties and gradients are finite for every input, relaxation and dtype."""

from __future__ import annotations

import itertools

import pytest
import torch
from corners import FORMS, FORMULAS, HALF, LOGICS, PAPER, WIDE, read_by, triples
from torch import Tensor

import residuum as rs
from residuum.losses.degrees.logits import _Gate
from residuum.losses.degrees.tensors import FLOORS
from residuum.relaxations import Relaxation, relaxation, relaxation_names
from residuum.syntax import parse

paper = pytest.mark.parametrize("name", PAPER)


def gradients(penalty: Tensor, leaves: dict[str, Tensor]) -> list[Tensor]:
    found = torch.autograd.grad(penalty.sum(), list(leaves.values()), allow_unused=True)
    return [gradient for gradient in found if gradient is not None]


def refuse_what_is_not_finite(logic: Relaxation, dtypes: tuple[torch.dtype, ...]) -> None:
    for form, dtype in itertools.product(FORMS, dtypes):
        leaves = triples(form, dtype)
        for text in FORMULAS:
            read, case = read_by(text, leaves), (text, form, dtype)
            penalty = rs.compile(text, logic, inputs=form, reduction="none")(read)
            assert bool(torch.isfinite(penalty).all()), case
            assert bool((penalty >= 0).all()), case
            for gradient in gradients(penalty, read):
                assert bool(torch.isfinite(gradient).all()), case


@pytest.mark.parametrize("logic", LOGICS, ids=lambda logic: logic.name)
def test_penalties_and_gradients_are_finite_in_every_corner(logic: Relaxation):
    refuse_what_is_not_finite(logic, WIDE)


@pytest.mark.parametrize("name", [*PAPER, "s-yager(2)", "r-dombi(100)", "s-frank(2)"])
def test_penalties_and_gradients_of_half_precision_are_finite(name: str):
    refuse_what_is_not_finite(relaxation(name), HALF)


@paper
def test_half_precision_inputs_give_single_precision_penalties(name: str):
    for dtype in (*WIDE, *HALF):
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        found = rs.compile("P -> Q", name, reduction="none")(
            {n: torch.ones(3, dtype=dtype) for n in "PQ"}
        )
        assert found.dtype == wide


def two_valued(text: str, dtype: torch.dtype) -> tuple[dict[str, Tensor], Tensor]:
    """Return all two-valued degrees of P, Q and R, and whether the formula holds for each."""
    rows = list(itertools.product((0.0, 1.0), repeat=3))
    holds = [bool(rs.is_tautology(fixed(text, row))) for row in rows]
    columns = torch.tensor(rows, dtype=dtype).T
    return dict(zip("PQR", columns, strict=True)), torch.tensor(holds)


@pytest.mark.parametrize("name", relaxation_names())
def test_a_true_formula_costs_nothing_and_a_false_one_at_least_a_half(name: str):
    for dtype, text in itertools.product(WIDE, FORMULAS):
        given, holds = two_valued(text, dtype)
        penalty = rs.compile(text, name, inputs="probs", reduction="none")(given)
        # An impossible formula has truth `floor`, and its negation has a penalty as small.
        assert (penalty[holds] <= 3e-30).all(), (text, dtype)
        assert (penalty[~holds] >= 0.5).all(), (text, dtype)


@paper
def test_truths_of_0_and_1_stay_0_and_1(name: str):
    for dtype, text in itertools.product(WIDE, FORMULAS):
        given, holds = two_valued(text, dtype)
        rule = rs.compile(text, name, inputs="probs", reduction="none")
        assert (rule.truth(given)[holds] == 1).all(), (text, dtype)
        assert (rule.truth(given)[~holds] <= FLOORS[dtype]).all(), (text, dtype)
        if name != "r-product":
            assert (rule(given)[holds] == 0).all(), (text, dtype)


def fixed(text: str, row: tuple[float, ...]) -> object:
    for name, value in zip("PQR", row, strict=True):
        text = text.replace(name, "true" if value else "false")
    return parse(text)


@pytest.mark.parametrize("name", relaxation_names())
def test_no_gradient_is_nan_before_the_gate(name: str, monkeypatch):
    assert nan_gradients(name, monkeypatch) == 0


def nan_gradients(name: str, monkeypatch) -> int:
    """Return how many gradients of finite inputs are NaN before the gate replaces them by 0."""
    count, finite = 0, torch.tensor(True)
    passed = _Gate.backward

    def counted(ctx: object, gradient: Tensor) -> Tensor:
        nonlocal count
        count += int((torch.isnan(gradient) & finite).sum())
        return passed(ctx, gradient)

    monkeypatch.setattr(_Gate, "backward", staticmethod(counted))
    for form, dtype in itertools.product(FORMS, WIDE):
        leaves = triples(form, dtype)
        for text in FORMULAS:
            read = read_by(text, leaves)
            finite = torch.stack([torch.isfinite(leaf) for leaf in read.values()]).all(0)
            gradients(rs.compile(text, name, inputs=form, reduction="none")(read), read)
    return count


@pytest.mark.parametrize("name", ["s-product", "r-product", "s-hamacher(2)", "r-dombi(0.5)"])
@pytest.mark.parametrize(
    ("form", "beyond", "end"), [("probs", 1.0000001, 1.0), ("log_probs", 1e-7, 0.0)]
)
def test_a_probability_above_1_by_a_rounding_counts_as_1(name, form, beyond, end):
    rule = rs.compile("P -> ~Q", name, inputs=form, reduction="none")
    found = [rule(P=torch.tensor([p]), Q=torch.tensor([p])) for p in (beyond, end)]
    torch.testing.assert_close(found[0], found[1])


COMPARED_ONLY = {("r-godel", "P -> Q"), ("s-drastic", "P | Q"), ("s-drastic", "P -> Q"),
                 ("s-drastic", "Q -> P"), ("s-drastic", "P <-> Q")}  # fmt: skip


@pytest.mark.parametrize("name", [*relaxation_names(), "exact"])
@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
def test_a_nan_or_infinite_input_affects_only_its_own_example(name: str, wrong: float):
    for text in ("~P", "P & Q", "P | Q", "P -> Q", "Q -> P", "P <-> Q"):
        rule = rs.compile(text, name, reduction="none")
        given = {key: torch.tensor([-1.0, 0.5, 2.0]) for key in rule.forms}
        expected = rule(given)
        given["P"] = torch.tensor([-1.0, wrong, 2.0])
        found = rule(given)
        assert bool(found[1].isnan()) == ((name, text) not in COMPARED_ONLY), text
        torch.testing.assert_close(found[[0, 2]], expected[[0, 2]])
