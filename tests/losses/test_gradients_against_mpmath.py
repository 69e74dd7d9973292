"""Gradients in single precision against textbook formulas in mpmath, for every family."""

from __future__ import annotations

import itertools

import pytest
import torch
from corners import HALF

import residuum as rs
from gradient_oracle import disagreement, exact
from residuum.relaxations import relaxation_names
from sweep_losses import GRADIENTS, compare_gradients, gradients, grid

REPORTED = [
    ("s-frank(2)", "A -> B", (-44.0, -44.0)),
    ("r-frank(2)", "A -> B", (-43.5, -44.0)),
    ("r-frank(0.5)", "A <-> B", (-17.0, -0.5)),
    ("s-yager(0.5)", "A -> B", (-14.5, -30.5)),
    ("r-hamacher(2)", "A <-> B", (68.6, -57.0)),
    ("r-hamacher(2)", "A -> B", (68.6, -57.0)),
    ("s-hamacher(2)", "A -> B", (68.6, -57.0)),
    ("s-schweizer-sklar(-3)", "A | B", (-68.6, -100.0)),
    ("s-frank(0.1)", "(A -> B) -> C", (20.0, 68.6, -44.0)),
]


@pytest.mark.parametrize(("name", "formula", "logits"), REPORTED)
def test_gradients_that_were_wrong_are_right(name, formula, logits):
    ((point, found),) = gradients(name, formula, [logits])
    assert disagreement(name, formula, point, found) <= 1, (found, exact(name, formula, point))


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_the_textbook(name):
    _, wrong = compare_gradients(name, every=97)
    assert not wrong


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_quantifier_has_the_gradients_of_a_conjunction(name):
    rule = rs.compile(
        "~(forall i in place: P(i))",
        name,
        domains={"place": 2},
        predicates={"P": ("place",)},
        outputs={"P": "independent"},
        reduction="none",
    )
    logits = torch.tensor([[90.0, 100.0], [-60.0, -100.0], [3.0, -2.0]], requires_grad=True)
    (found,) = torch.autograd.grad(rule(P=logits).sum(), logits)
    for point, one in zip(logits.tolist(), found.tolist(), strict=True):
        assert disagreement(name, "~(A & B)", point, one) <= 1, (point, one)


def test_a_wrong_gradient_is_found():
    at = "s-product", "A -> B", (1.0, -2.0)
    ((point, (first, second)),) = gradients(*at[:2], [at[2]])
    assert disagreement(*at[:2], point, [first, second]) < 1e-2
    assert disagreement(*at[:2], point, [first * 1.003, second]) > 1
    assert disagreement(*at[:2], point, [first, 0.0]) > 1


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize(("name", "formula", "logits"), REPORTED)
def test_gradients_of_half_precision_are_right(name, formula, logits, dtype):
    ((point, found),) = gradients(name, formula, [logits], dtype)
    largest = torch.finfo(dtype).max
    for one, (low, high) in zip(found, exact(name, formula, point).gradients, strict=True):
        low, high = (min(max(float(end), -largest), largest) for end in (low, high))
        allowed = 0.01 * max(abs(low), abs(high)) + 1e-3
        assert low - allowed <= one <= high + allowed, (found, low, high)


@pytest.mark.parametrize("name", relaxation_names())
def test_gradients_of_half_precision_are_finite(name):
    for dtype, formula in itertools.product(HALF, ("A & B", "A -> B", "A <-> B", "A & B -> C")):
        for point, found in gradients(name, formula, grid(formula), dtype):
            assert torch.isfinite(torch.tensor(found)).all(), (formula, point, found)


@pytest.mark.parametrize("name", sorted({*GRADIENTS, *relaxation_names()}))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_truths_are_between_0_and_1(name, dtype):
    some = torch.cat([torch.linspace(-100, 100, 41), torch.linspace(-6, 6, 25)]).to(dtype)
    a, b = torch.cartesian_prod(some, some).unbind(1)
    given = {"A": a, "B": b, "C": b.flip(0)}
    for formula in ("A | B", "~(A & B)", "A <-> B", "(A -> B) -> C", "(A -> B) | ~C"):
        read = {atom: one for atom, one in given.items() if atom in formula}
        truth = rs.compile(formula, name).truth(read)
        assert bool(((truth >= 0) & (truth <= 1)).all()), formula
