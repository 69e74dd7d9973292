"""Decimals of a result, against integer arithmetic and mpmath."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from residuum.analysis import Consistency
from residuum.errors import ResiduumError


def exactly(value):
    number = float(value)
    return Consistency(number, "exact", value, number, number, "simplices", 0.1)


def between(low, value, high, kind="certified"):
    return Consistency(value, kind, None, low, high, "boxes", 0.1)


def rounded(value, digits):
    """The nearest decimal of so many digits, ties to even, by integers alone."""
    unit = Fraction(1)
    while value < unit * 10 ** (digits - 1):
        unit /= 10
    while value >= unit * 10**digits:
        unit *= 10
    return round(value / unit) * unit


def significant(text):
    mantissa = text.split("e")[0].replace(".", "")
    return len(mantissa.lstrip("0"))


unit_fractions = st.fractions(min_value=0, max_value=1, max_denominator=10**30).filter(bool)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(value=unit_fractions, digits=st.integers(1, 120))
def test_exact_values_are_rounded_to_the_nearest_decimal(value, digits):
    text = exactly(value).decimal(digits)
    assert Fraction(text) == rounded(value, digits)
    assert significant(text) <= digits


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_ties_go_to_the_even_digit(digits):
    for value in (Fraction(thousandths, 1000) for thousandths in range(1, 1000)):
        assert Fraction(exactly(value).decimal(digits)) == rounded(value, digits)


@pytest.mark.parametrize("digits", [17, 50, 333, 1000])
@pytest.mark.parametrize("value", [Fraction(19, 24), Fraction(449, 600), Fraction(97, 108)])
def test_decimals_agree_with_mpmath(value, digits):
    with mpmath.workdps(digits + 20):
        ratio = mpmath.mpf(value.numerator) / value.denominator
        assert exactly(value).decimal(digits) == mpmath.nstr(ratio, digits)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (Fraction(1), 50, "1"),
        (Fraction(0), 50, "0"),
        (Fraction(3, 4), 50, "0.75"),
        (Fraction(2, 3), 6, "0.666667"),
        (Fraction(999_999, 1_000_000), 3, "1"),
        (Fraction(1, 1024), 17, "0.0009765625"),
        (Fraction(1, 3 * 10**9), 3, "3.33e-10"),
        (Fraction(1, 10**5000), 5, "1e-5000"),
    ],
)
def test_exact_values_end_where_their_digits_end(value, digits, text):
    assert exactly(value).decimal(digits) == text


def test_fractions_too_long_for_str_are_written():
    value = 1 - Fraction(1, 10**6000 + 7)
    with pytest.raises(ValueError, match="digits"):
        str(value)
    assert exactly(value).decimal(5000) == "1"
    assert exactly(value).decimal(6000) == "0." + "9" * 6000
    assert str(exactly(value)) == f"1{'0' * 5999}6/1{'0' * 5999}7 (exact)"


degrees = st.floats(0, 1)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(bounds=st.tuples(degrees, degrees, degrees), digits=st.integers(1, 40), data=st.data())
def test_digits_of_inexact_values_are_those_of_every_value_between_the_bounds(bounds, digits, data):
    low, value, high = sorted(bounds)
    assume(low > 0)
    text = between(low, value, high).decimal(digits)
    shown = significant(text)
    assert shown <= digits
    if rounded(Fraction(low), shown) == rounded(Fraction(high), shown):
        true = data.draw(st.fractions(low, high))
        assert Fraction(text) == rounded(true, shown)
    else:  # the bounds agree on nothing
        assert rounded(Fraction(low), 1) != rounded(Fraction(high), 1)
        assert low <= Fraction(text) <= high or shown == digits


@settings(max_examples=200, deadline=None, derandomize=True)
@given(value=st.floats(1e-3, 0.99), width=st.floats(1e-12, 1e-5))
def test_no_digit_that_the_bounds_agree_on_is_left_out(value, width):
    low, high = value - width / 2, value + width / 2
    shown = significant(between(low, value, high).decimal(40))
    for more in range(shown + 1, 41):
        assert rounded(Fraction(low), more) != rounded(Fraction(high), more)


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((0.89762, 0.897716, 0.8978), "0.898"),
        ((0.9396, 0.9571, 0.99), "0.96"),  # neither 0.9 nor 1 lies between the bounds
        ((0.4, 0.5012, 0.6), "0.5"),
        ((0.99996, 0.99999, 1.0), "1.000"),  # not "1", which would look exact
        ((0.0, 0.0, 0.0), "0"),
        ((0.0, 3e-9, 4e-9), "3e-9"),
    ],
)
def test_inexact_values_show_what_their_bounds_support(bounds, text):
    assert between(*bounds).decimal(6) == text
    assert between(*bounds, kind="estimate").decimal(6) == text


def test_certified_digits_are_those_of_the_closed_form():
    closed = (2 + mpmath.log(2)) / 3
    text = between(0.8977156, 0.8977157, 0.897715743).decimal(1000)
    assert text == mpmath.nstr(closed, significant(text), strip_zeros=False)
    assert significant(text) >= 6
    assert math.isclose(float(text), closed, rel_tol=1e-6)


def test_no_digits_are_refused():
    with pytest.raises(ResiduumError, match="one digit or more"):
        exactly(Fraction(1, 2)).decimal(0)
