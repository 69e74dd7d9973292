"""Exact numbers of logarithms and dilogarithms, against mpmath."""

import itertools
import random
from fractions import Fraction

import mpmath
import pytest

from residuum.analysis.closed_forms.numbers import ClosedForm, constant, dilogarithm, log
from residuum.analysis.methods import NotThisWay

RATIONALS = [
    *(Fraction(n, d) for d in range(1, 13) for n in range(-2 * d - 3, 3 * d + 4)),
    *(Fraction(n, 997) for n in (-5000, -997, -1, 1, 331, 499, 996, 998, 12345)),
]


def number(value):
    return mpmath.mpf(value.numerator) / value.denominator


def by_mpmath(form):
    """Evaluate the text of a form, as a reader would."""
    names = {
        "log": mpmath.log,
        "pi": mpmath.pi,
        "Li2": lambda q: mpmath.polylog(2, q),
        "mpf": mpmath.mpf,
    }
    text = str(form).replace("^", "**")
    exact = "".join(
        f"mpf({''.join(part)})" if is_digit else "".join(part)
        for is_digit, part in itertools.groupby(text, str.isdigit)
    ).replace("Limpf(2)", "Li2")
    return eval(exact, {"__builtins__": {}}, names)


def random_form(rng):
    parts = [constant(Fraction(rng.randint(-9, 9), rng.randint(1, 9)))]
    for _ in range(rng.randint(1, 3)):
        factor = Fraction(rng.randint(-9, 9), rng.randint(1, 9))
        value = Fraction(rng.randint(1, 30), rng.randint(1, 30))
        other = Fraction(rng.randint(1, 30), rng.randint(1, 30))
        kind = rng.choice([log(value), log(value) * log(other), dilogarithm(value)])
        parts.append(kind * factor)
    return sum(parts, ClosedForm())


@pytest.mark.parametrize("value", sorted(set(RATIONALS) - {0}))
def test_logarithms_agree_with_mpmath(value):
    with mpmath.workdps(40):
        assert mpmath.almosteq(by_mpmath(log(value)), mpmath.log(abs(number(value))), 1e-35)


@pytest.mark.parametrize("value", sorted(set(RATIONALS)))
def test_dilogarithms_agree_with_mpmath_on_the_whole_line(value):
    form = dilogarithm(value)
    with mpmath.workdps(40):
        expected = mpmath.re(mpmath.polylog(2, number(value)))
        assert mpmath.almosteq(by_mpmath(form), expected, 1e-35, 1e-35)


def test_the_normal_form_has_primes_and_small_arguments_only():
    primes = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43}
    for value in (value for value in RATIONALS if value and value.denominator < 13):
        for kind, arguments in dilogarithm(value).terms:
            if kind == "log":
                assert primes.issuperset(arguments)
            if kind == "Li2":
                assert 0 < arguments[0] < Fraction(1, 2)


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(2, 7), Fraction(5, 11)])
def test_equal_numbers_are_equal_forms(value):
    squared_pi = dilogarithm(Fraction(1)) * 6
    reflected = squared_pi * Fraction(1, 6) - log(value) * log(1 - value) - dilogarithm(1 - value)
    assert reflected == dilogarithm(value)
    assert hash(reflected) == hash(dilogarithm(value))
    assert log(value) + log(1 / value) == ClosedForm()
    assert log(value * 6) == log(2) + log(3) + log(value)
    assert dilogarithm(value) != dilogarithm(value / 2)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ((2 + log(2)) * Fraction(1, 3), "(2 + log(2))/3"),
        (1 - log(2), "1 - log(2)"),
        (dilogarithm(Fraction(1)) - 1, "pi^2/6 - 1"),
        (log(Fraction(1, 2)) * Fraction(1, 3), "-log(2)/3"),
        (log(9) * Fraction(1, 4), "log(3)/2"),
        (log(6) * log(3), "log(2)*log(3) + log(3)^2"),
        (dilogarithm(Fraction(3, 10)) * 2 - Fraction(1, 7), "2*Li2(3/10) - 1/7"),
        (log(1), "0"),
    ],
)
def test_forms_are_written_as_one_would(form, text):
    assert str(form) == text


@pytest.mark.parametrize("seed", range(60))
def test_text_and_decimals_and_bounds_are_those_of_the_number(seed):
    form = random_form(random.Random(seed))
    if form.rational is not None:
        return
    with mpmath.workdps(80):
        value = by_mpmath(form)
        low, high = form.bounds(250)
        assert number(low) - mpmath.mpf(10) ** -70 <= value <= number(high) + mpmath.mpf(10) ** -70
        assert high - low < Fraction(1, 10**60)
        assert float(form) == float(value)
        below, above = form.float_bounds
        assert mpmath.mpf(below) < value < mpmath.mpf(above)
        assert float(form) in (below, above)


def test_a_number_so_close_to_a_tie_that_64_bits_cannot_tell_is_rounded_correctly():
    near = log(2) - log(2).bounds(400)[0]
    assert near.settled(lambda value: value > 0) is True
    assert 0 < float(near) < 1e-110


@pytest.mark.parametrize("seed", range(30))
def test_forms_survive_json_and_damage_is_noticed(seed):
    form = random_form(random.Random(seed))
    kept = form.as_json()
    if form.rational is not None:
        with pytest.raises(ValueError, match="irrational"):
            ClosedForm.from_json(kept)
        return
    assert ClosedForm.from_json(kept) == form
    terms = kept["terms"]
    for damaged in (
        [*terms, terms[0]],
        terms[::-1] if len(terms) > 1 else [],
        [["log", ["4"], "0x1", "0x1"]],
        [["log", ["3", "2"], "0x1", "0x1"]],
        [["log", ["1"], "0x1", "0x1"]],
        [["log", ["-2"], "0x1", "0x1"]],
        [["log", [str(2**200 + 1)], "0x1", "0x1"]],
        [["Li2", ["2/3"], "0x1", "0x1"]],
        [["pi^2", [], "0x1", "0x0"]],
        [["pi^2", [], "0x0", "0x1"]],
        [["pi", [], "0x1", "0x1"]],
        [[]],
        [3],
    ):
        with pytest.raises(ValueError):  # noqa: PT011  # as the cache expects
            ClosedForm.from_json({"terms": damaged})


def test_what_lies_beyond_the_forms_is_refused():
    with pytest.raises(ArithmeticError):
        log(2) * log(2) * log(2)
    with pytest.raises(NotThisWay):
        log(2**101 + 1)
