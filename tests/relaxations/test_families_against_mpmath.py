"""Values against the textbook's formulas at hundreds of digits."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import textbook
from mpmath import mpf
from specimens import PARAMETERS, value

EPSILON = 2.0**-52
DEGREES = [
    0, 1e-12, 1e-3, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.999, 1 - 1e-12, 1 - 2**-53, 1,
]  # fmt: skip
PAIRS = list(itertools.product(map(float, DEGREES), repeat=2))
P, Q = np.array(PAIRS).T
CASES = [(family, written) for family, values in PARAMETERS.items() for written in values]

# 1 − x is rounded before these are computed from it: an absolute error of the order of 1e-16
# in a small x, which their residua magnify near the diagonal, where they are steep.
STEEP = {("yager", p) for p in ("2", "5", "100", "1e9")} | {("sugeno-weber", "1e9")}
every_family = pytest.mark.parametrize(("family", "written"), CASES)


@pytest.fixture(autouse=True)
def enough_digits(request):
    written = request.node.callspec.params.get("written", "")
    family = request.node.callspec.params.get("family", "")
    # 1e-12 to the power of 100 is lost beside 1 with fewer than 1200 digits, and so on.
    needed = {("schweizer-sklar", "100"): 1300, ("frank", "1e300"): 700, ("frank", "1e-300"): 700}
    digits = needed.get((family, written), 60)
    with mpmath.workdps(digits):
        yield


def exact(written):
    if "inf" in written:
        return mpf(written)
    number = Fraction(written)
    return mpf(number.numerator) / number.denominator


def expected(family, written, text):
    form = textbook.forms(family, exact(written))[text]
    return [form(mpf(x), mpf(y)) for x, y in PAIRS]


@every_family
@pytest.mark.parametrize("text", ["P & Q", "P | Q"])
def test_conjunction_and_disjunction_are_accurate_to_a_few_roundings(family, written, text):
    found = value(text, f"s-{family}({written})", P, Q)
    for pair, got, want in zip(PAIRS, found, expected(family, written, text), strict=True):
        assert abs(mpf(float(got)) - want) <= 4 * EPSILON, pair


@pytest.mark.parametrize(("family", "written"), [case for case in CASES if case not in STEEP])
def test_residuum_is_accurate_to_a_few_roundings(family, written):
    found = value("P -> Q", f"r-{family}({written})", P, Q)
    for pair, got, want in zip(PAIRS, found, expected(family, written, "P -> Q"), strict=True):
        assert abs(mpf(float(got)) - want) <= 4 * EPSILON, pair


@pytest.mark.parametrize(("family", "written"), sorted(STEEP))
def test_a_steep_residuum_is_exact_for_degrees_one_rounding_away(family, written):
    form = textbook.forms(family, exact(written))["P -> Q"]
    found = value("P -> Q", f"r-{family}({written})", P, Q)
    step = mpf(EPSILON)
    for (x, y), got in zip(PAIRS, found, strict=True):
        least = form(min(mpf(1), mpf(x) + step), max(mpf(0), mpf(y) - step))
        most = form(max(mpf(0), mpf(x) - step), min(mpf(1), mpf(y) + step))
        assert least - 4 * step <= mpf(float(got)) <= most + 4 * step, (x, y)


# A relative perturbation of x changes these residua by little, so few digits need be lost.
@pytest.mark.parametrize(
    ("family", "written", "x"),
    [("yager", "2", 1e-12), ("yager", "5", 1e-12), ("yager", "2", 1e-6), ("yager", "100", 1e-9),
     ("sugeno-weber", "1e9", 1e-12), ("sugeno-weber", "1e9", 1e-9)],
)  # fmt: skip
def test_a_steep_residuum_keeps_the_digits_of_small_degrees(family, written, x):
    form = textbook.forms(family, exact(written))["P -> Q"]
    found = value("P -> Q", f"r-{family}({written})", x, 0.0)
    assert abs(mpf(found) - form(mpf(x), mpf(0))) <= 16 * EPSILON


# Where T or S is a product of powers, even the smallest values keep their digits. They come out of
# an exponential whose argument, the logarithm of the value, is itself rounded: with a logarithm of
# 28 the value is known to 28 roundings. Frank's also multiply degrees by log s.
RELATIVE = [
    (family, written, text)
    for text, families in {
        "P & Q": ("hamacher", "dombi", "aczel-alsina", "frank", "schweizer-sklar"),
        "P | Q": ("yager", "aczel-alsina", "sugeno-weber"),
    }.items()
    for family in families
    for written in PARAMETERS[family]
    if (family, written) not in {("schweizer-sklar", "100"), ("frank", "inf")}
    and not (family == "schweizer-sklar" and written in ("1", "2", "1e-9", ".5"))  # near T = 0
]


@pytest.mark.parametrize(("family", "written", "text"), RELATIVE)
def test_small_values_keep_their_digits(family, written, text):
    form = textbook.forms(family, exact(written))[text]
    scale = abs(mpmath.log(exact(written))) if family == "frank" else 0
    for x, y in itertools.product([1e-12, 1e-9, 1e-5, 0.1, 0.5, 0.9], repeat=2):
        want = form(mpf(x), mpf(y))
        if want < 1e-290:  # close to the denormal numbers, which have fewer digits
            continue
        condition = 8 * (1 - mpmath.log(want) + scale)
        error = abs(mpf(value(text, f"s-{family}({written})", x, y)) - want)
        assert error <= condition * EPSILON * want, (x, y)


@pytest.mark.parametrize("name", ["hamacher(0)", "dombi(1)", "schweizer-sklar(-1)", "dombi(2)"])
def test_conjunction_does_not_underflow_where_its_value_does_not(name):
    family, written = name[:-1].split("(")
    want = textbook.forms(family, exact(written))["P & Q"](mpf(1e-200), mpf(1e-200))
    assert value("P & Q", f"s-{name}", 1e-200, 1e-200) == pytest.approx(
        float(want), rel=1e-12, abs=0
    )


@pytest.mark.parametrize("written", ["1e300", "1e290", "1e200", "1e-300"])
def test_frank_at_extreme_parameters_has_no_false_one(written):
    with mpmath.workdps(700):
        form = textbook.forms("frank", exact(written))["P -> Q"]
        for x, y in [(1e-300, 0.0), (1e-12, 0.0), (1e-12, 1e-13), (0.5, 1e-12), (1e-9, 1e-20)]:
            want = float(form(mpf(x), mpf(y)))
            assert value("P -> Q", f"r-frank({written})", x, y) == pytest.approx(want, abs=1e-12)
