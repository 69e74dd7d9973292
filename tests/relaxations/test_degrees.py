from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from residuum.relaxations import FLOATS, FRACTIONS, Degree
from residuum.relaxations.arrays import ARRAYS
from residuum.relaxations.degrees import choose, lesser, log1mexp, ordered, truth_of

SIDES = {
    "true": lambda x: x,
    "false": lambda x: 1 - x,
    "log_true": mpmath.log,
    "log_false": lambda x: mpmath.log(1 - x),
}


@pytest.mark.parametrize("given", SIDES)
@pytest.mark.parametrize("asked", SIDES)
@pytest.mark.parametrize("x", [0.001, 0.25, 0.5, 0.75, 0.999])
def test_each_side_follows_from_each(given, asked, x):
    with mpmath.workdps(50):
        side = float(SIDES[given](mpf(x)))
        found = getattr(Degree(FLOATS, **{given: side}), asked)
        assert found == pytest.approx(float(SIDES[asked](mpf(x))), rel=1e-12)


@pytest.mark.parametrize("small", [1e-300, 1e-20, 1e-9])
def test_a_small_falsity_keeps_its_digits_on_its_own_side(small):
    nearly_true = Degree(FLOATS, false=small)
    assert nearly_true.true == 1 - small
    assert nearly_true.log_true == pytest.approx(-small, rel=1e-8)
    assert nearly_true.negated.true == small
    assert Degree(FLOATS, log_true=-small).false == pytest.approx(small, rel=1e-8)


@pytest.mark.parametrize("side", SIDES)
def test_negation_swaps_the_sides_without_loss(side):
    degree = Degree(FLOATS, **{side: -1e-17 if "log" in side else 1e-17})
    twice = degree.negated.negated
    for name in SIDES:
        assert getattr(twice, name) == getattr(degree, name)
    assert degree.negated.false == degree.true
    assert degree.negated.log_false == degree.log_true


@pytest.mark.parametrize("x", [-1e-300, -1e-17, -1e-5, -0.3, -0.6931471805599453, -0.7, -5, -800])
def test_log1mexp_is_accurate_on_both_sides(x):
    with mpmath.workdps(400):
        expected = float(mpmath.log(-mpmath.expm1(mpf(x))))
    assert log1mexp(FLOATS, float(x)) == pytest.approx(expected, rel=2e-15)
    with np.errstate(all="ignore"):
        assert log1mexp(ARRAYS, np.array([float(x)]))[0] == pytest.approx(expected, rel=2e-15)


def test_log1mexp_at_its_ends():
    assert log1mexp(FLOATS, 0.0) == -np.inf
    assert log1mexp(FLOATS, -np.inf) == 0


def test_degrees_known_on_the_same_side_are_compared_there():
    small, smaller = Degree(FLOATS, false=1e-20), Degree(FLOATS, false=1e-21)
    low, high = ordered(small, smaller)
    assert low < high
    assert lesser(small, smaller).false == lesser(smaller, small).false == 1e-20


def test_choose_takes_both_sides():
    then, otherwise = Degree(FLOATS, false=1e-20), Degree(FLOATS, true=0.25)
    assert choose(0.0, 1.0, then, otherwise).false == 1e-20
    assert choose(1.0, 0.0, then, otherwise).true == 0.25


@pytest.mark.parametrize("on", [FLOATS, FRACTIONS, ARRAYS])
def test_truth_values_are_the_ends(on):
    assert (truth_of(on, True).true, truth_of(on, True).false) == (1, 0)
    assert (truth_of(on, False).true, truth_of(on, False).false) == (0, 1)


def test_fractions_stay_fractions():
    degree = Degree(FRACTIONS, true=Fraction(1, 3))
    assert degree.false == Fraction(2, 3)
    assert isinstance(degree.negated.true, Fraction)
