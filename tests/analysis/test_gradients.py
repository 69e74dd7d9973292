"""Gradient diagnostics against finite differences and integrals done by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

from integration_oracles import P, Q, R, formulas, textbook
from residuum.analysis import gradients
from residuum.analysis.gradients import gradient_at
from residuum.errors import DegreeError
from residuum.relaxations import PAPER, relaxation, relaxation_names, truth

RNG = np.random.default_rng(3)
POINTS = RNG.random((3, 200))
STEP = 2.0**-26


@pytest.mark.parametrize("name", PAPER)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(formula=formulas())
def test_slopes_are_those_of_textbook_truth_functions(formula, name):
    slopes = gradient_at(formula, (P, Q, R), relaxation(name), POINTS)
    for axis in range(3):
        low, high = POINTS.copy(), POINTS.copy()
        low[axis] -= STEP
        high[axis] += STEP
        ends = [
            np.broadcast_to(textbook(formula, dict(zip((P, Q, R), at, strict=True)), name), 200)
            for at in (low, high)
        ]
        quotient = (ends[1] - ends[0]) / (2 * STEP)
        # A kink or a jump within the step may spoil a point or two, no more.
        close = np.isclose(quotient, slopes[axis], rtol=1e-4, atol=1e-4)
        assert close.mean() > 0.98


@pytest.mark.parametrize("name", relaxation_names())
@pytest.mark.parametrize("text", ["P & Q", "P | Q", "P -> Q", "P <-> Q", "~P"])
def test_slopes_of_every_relaxation_match_finite_differences(text, name):
    from residuum.syntax import parse

    formula, chosen = parse(text), relaxation(name)
    points = 0.05 + 0.9 * POINTS[:2]
    atoms = (P, Q) if "Q" in text else (P,)
    slopes = gradient_at(formula, atoms, chosen, points[: len(atoms)])
    for axis in range(len(atoms)):
        ends = []
        for sign in (-1, 1):
            at = points.copy()
            at[axis] += sign * STEP
            ends.append(truth(formula, dict(zip((P, Q), at, strict=True)), chosen))
        quotient = (ends[1] - ends[0]) / (2 * STEP)
        assert np.isclose(quotient, slopes[axis], rtol=1e-4, atol=1e-4).mean() > 0.97


def test_an_r_product_implication_pulls_as_derived_by_hand():
    # Violated where p > 1/2 >= q: pulls 1/p and q/p², with integrals (log 2)/2 and 1/8.
    result = gradients("P -> Q", "r-product", points=2**18)
    up, down = math.log(2) / 2, 1 / 8
    assert result.raising == pytest.approx(up / (up + down), abs=3e-3)
    assert result.violated == pytest.approx(0.25, abs=5e-3)
    assert result.stuck == 0


def test_lukasiewicz_conjunctions_are_stuck_where_the_clamp_holds():
    # P & Q is violated on three quarters; its gradient is zero where p + q < 1, an area of 1/2,
    # all of it violated.
    result = gradients("P & Q", "lukasiewicz", points=2**18)
    assert result.stuck == pytest.approx((1 / 2) / (3 / 4), abs=5e-3)
    assert result.raising is None


def test_r_godel_never_lowers_the_antecedent():
    assert gradients("P -> Q", "r-godel").raising == 1


def test_given_degrees_are_used_and_saturation_is_seen_at_logits():
    result = gradients("P -> Q", "s-product", {"P": np.array([1.0, 1.0]), "Q": np.array([0, 0.0])})
    assert (result.points, result.violated, result.stuck, result.stuck_logits) == (2, 1, 0, 1)


def test_a_tautology_has_nothing_violated():
    result = gradients("P | ~P", "s-godel")
    assert (result.violated, result.stuck, result.raising) == (0, None, None)


@pytest.mark.parametrize("name", relaxation_names())
def test_saturated_degrees_give_numbers(name):
    corners = {"P": np.array([1, 1, 0, 0.5]), "Q": np.array([1, 0.5, 0, 0.5]), "R": 0.0}
    result = gradients("P & Q -> R", name, corners)
    assert math.isfinite(result.mean_size)
    assert result.raising is None or 0 <= result.raising <= 1


@pytest.mark.parametrize("text", ["forall x in D: P(x)", "true"])
def test_what_has_no_gradient_is_refused(text):
    with pytest.raises(ValueError, match=r"expand|atoms"):
        gradients(text, "s-product")


def test_a_constant_side_takes_no_pull():
    assert gradients("P -> false", "r-product").raising is None


def test_degrees_out_of_range_are_refused():
    with pytest.raises(DegreeError, match=r"\[0, 1\]"):
        gradients("P", "s-product", {"P": np.array([2.0])})
