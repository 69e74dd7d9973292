from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from residuum.errors import InexactError
from residuum.relaxations import FLOATS, FRACTIONS
from residuum.relaxations.arrays import ARRAYS

INF = math.inf


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def on_arrays(number):
    return np.array([number])


CARRIERS = pytest.mark.parametrize(
    ("on", "make"), [(FLOATS, float), (ARRAYS, on_arrays), (FRACTIONS, Fraction)]
)
INEXACT = pytest.mark.parametrize(("on", "make"), [(FLOATS, float), (ARRAYS, on_arrays)])


@CARRIERS
def test_order(on, make):
    third, half = make(0.25), make(0.5)
    assert on.minimum(third, half) == on.minimum(half, third) == 0.25
    assert on.maximum(third, half) == on.maximum(half, third) == 0.5
    assert on.choose(third, half, make(1), make(0)) == 1
    assert on.choose(half, half, make(1), make(0)) == 1
    assert on.choose(half, third, make(1), make(0)) == 0


@CARRIERS
def test_excess_is_never_negative(on, make):
    assert on.excess(make(0.75), make(0.5)) == 0.25
    assert on.excess(make(0.5), make(0.75)) == 0
    assert on.excess(make(0.5), make(0.5)) == 0


@INEXACT
def test_excess_of_infinities_is_zero(on, make):
    assert on.excess(make(INF), make(INF)) == 0
    assert on.excess(make(INF), make(1)) == INF


@CARRIERS
def test_ratio_has_a_value_at_zero(on, make):
    assert on.ratio(make(1), make(4), at_zero=7) == 0.25
    assert on.ratio(make(0), make(0), at_zero=7) == 7
    assert on.ratio(make(1), make(0), at_zero=INF) == INF


def test_a_ratio_to_infinity_is_an_exact_zero_on_fractions():
    found = FRACTIONS.ratio(Fraction(1), INF, at_zero=0)
    assert found == 0
    assert isinstance(found, Fraction)


@CARRIERS
def test_powers(on, make):
    assert on.power(make(0.5), 3) == 0.125
    assert on.power(make(0.5), Fraction(2)) == 0.25
    assert on.power(make(0), 2) == 0


@INEXACT
def test_functions_are_extended_rather_than_failing(on, make):
    assert on.log(make(0)) == on.log1p(make(-1)) == -INF
    assert on.exp(make(1e9)) == on.expm1(make(1e9)) == on.power(make(1e300), 2) == INF
    assert on.exp(make(-INF)) == 0
    assert on.expm1(make(-INF)) == -1
    assert on.power(make(INF), 0.5) == INF


@INEXACT
def test_functions_are_accurate_near_zero(on, make):
    assert on.log1p(make(1e-18)) == on.expm1(make(1e-18)) == 1e-18


@CARRIERS
def test_constants_are_parameters_as_numbers(on, make):
    assert on.constant(Fraction(1, 4)) == make(0.25)
    assert on.constant(INF) == INF
    assert on.constant(-INF) == -INF


def test_fractions_are_exact_or_refused():
    third = Fraction(1, 3)
    assert FRACTIONS.power(third, 5) == Fraction(1, 243)
    assert FRACTIONS.log(Fraction(1)) == FRACTIONS.expm1(Fraction(0)) == 0
    assert FRACTIONS.exp(Fraction(0)) == 1
    for refused in (
        lambda: FRACTIONS.log(third),
        lambda: FRACTIONS.log1p(third),
        lambda: FRACTIONS.exp(third),
        lambda: FRACTIONS.expm1(third),
        lambda: FRACTIONS.power(third, 0.5),
        lambda: FRACTIONS.power(third, 10**9),
    ):
        with pytest.raises(InexactError):
            refused()


@pytest.mark.parametrize("exponent", [INF, Fraction(1, 2), 1e300])
def test_a_power_too_large_for_fractions_is_refused_quickly(exponent):
    with pytest.raises(InexactError):
        FRACTIONS.power(Fraction(1, 3), exponent)


def test_arrays_broadcast():
    row, column = np.array([[0.25, 0.75]]), np.array([[0.5], [1.0]])
    for found in (
        ARRAYS.excess(row, column), ARRAYS.ratio(row, column, at_zero=0),
        ARRAYS.choose(row, column, row, column), ARRAYS.minimum(row, column),
    ):  # fmt: skip
        assert found.shape == (2, 2)
