"""Closed forms of integrals, against derivations by hand, quadrature and certified bounds."""

import random
from fractions import Fraction

import mpmath
import pytest
from integration_oracles import P, Q, random_formula

from residuum.analysis import catalogue, consistency
from residuum.analysis.closed_forms import ClosedForm
from residuum.analysis.enclosures import enclose
from residuum.errors import EvaluationError
from residuum.logic import And, Iff, Not, Or, atoms_of, substitute
from residuum.relaxations import relaxation
from residuum.syntax import parse

# Each derived by hand.
DERIVED = {
    "~P -> P": "log(2)",  # ∫ p / (1 − p) up to 1/2 is log 2 − 1/2, and 1 from there
    "P | P -> P": "log(2)",  # ∫ 1 / (2 − p)
    "P <-> P | P": "log(2)",
    "(~P -> ~Q) -> (Q -> P)": "(2 + log(2))/3",  # docs/consistency.md
    "(P <-> Q) <-> (~P <-> ~Q)": "(4*log(2) - 1)/3",  # tests/analysis/test_enclosures.py
    # With z = pq, of density −log z: 1 up to z = 1/2, then (1 − z)/z. The first part is
    # (1 + log 2)/2, and −∫ log z / z + ∫ log z from 1/2 is log² 2 / 2 − 1/2 + (log 2)/2.
    "P & Q -> ~(P & Q)": "log(2) + log(2)^2/2",
    # pq / (p + q − pq): over p it is q/(1 − q) + q² log q / (1 − q)², and with q = 1 − a the
    # sum of Σ n a^(n−2)/… comes to 2 ζ(2) − 3.
    "P | Q -> P & Q": "pi^2/3 - 3",
    # 1 where q ≤ p, else p/q, and the complement of it times p: ∫∫ … = 2 − 2 log 2 by quadrature.
    "~(P -> ~(Q -> P))": "2 - 2*log(2)",
}


@pytest.mark.parametrize(("text", "form"), DERIVED.items())
def test_integrals_derived_by_hand(text, form):
    result = consistency(text, "r-product")
    assert (result.kind, result.method) == ("exact", "antiderivative")
    assert str(result.exact) == form
    assert result.low < result.high
    assert result.value in (result.low, result.high)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("P -> Q", Fraction(3, 4)),
        ("P & P & P -> Q", Fraction(7, 8)),  # 1/4 + ∫ q^(1/3) … over p: min(1, q/p³)
        ("(P -> Q) <-> (P <-> P & Q)", Fraction(2, 3)),  # max(p, q)
        ("P -> P & P", Fraction(1, 2)),
        ("(P -> false) -> (Q -> false)", Fraction(1)),
        ("~(((P -> false) & Q) -> false)", Fraction(0)),
        ("P", Fraction(1, 2)),
    ],
)
def test_what_is_rational_is_a_fraction(text, value):
    result = consistency(text, "r-product", method="antiderivative")
    assert result.exact == value
    assert result.low == result.high == float(value)


def product_degree(node, values):
    """The degree under `r-product` in mpmath's numbers, by the textbook."""
    kind, parts = type(node).__name__, list(getattr(node, "operands", ()))
    if kind == "Atom":
        return values[node]
    if kind == "Not":
        return 1 - product_degree(node.operand, values)
    if kind in ("And", "Or"):
        degrees = [product_degree(part, values) for part in parts]
        if kind == "And":
            return mpmath.fprod(degrees)
        return 1 - mpmath.fprod(1 - degree for degree in degrees)
    if kind == "Implies":
        left, right = (product_degree(x, values) for x in (node.antecedent, node.consequent))
        return mpmath.mpf(1) if left <= right else right / left
    left, right = (product_degree(x, values) for x in (node.left, node.right))
    return mpmath.mpf(1) if left == right else min(left, right) / max(left, right)


@pytest.mark.parametrize(
    ("text", "kinks"),
    [
        ("P | Q -> P & Q", lambda p: []),
        ("(P <-> Q) & (P | Q)", lambda p: [p]),
        ("(~P -> ~Q) -> (Q -> P)", lambda p: [p, 1 - p]),
        ("P & Q -> ~(P & Q)", lambda p: [1 / (2 * p)]),
        ("~(P & Q) <-> ~(~P | ~Q)", lambda p: [1 / (2 * p)]),
        ("(P <-> ~Q) & (P | Q)", lambda p: [1 - p]),
    ],
)
def test_closed_forms_agree_with_quadrature_to_thirty_digits(text, kinks):
    formula = parse(text)
    form = consistency(formula, "r-product", method="antiderivative").exact
    assert isinstance(form, ClosedForm)
    with mpmath.workdps(35):

        def over_q(p):
            inner = sorted(k for k in kinks(p) if 0 < k < 1)
            return mpmath.quad(lambda q: product_degree(formula, {P: p, Q: q}), [0, *inner, 1])

        value = mpmath.quad(over_q, [0, 0.5, 1])
        low, _ = form.bounds(200)
        assert mpmath.almosteq(value, mpmath.mpf(low.numerator) / low.denominator, 1e-28)


def is_within(form, bounds):
    if isinstance(bounds, Fraction):
        return form == bounds
    low, high = form.bounds(200) if isinstance(form, ClosedForm) else (form, form)
    return Fraction(bounds[0]) <= low <= high <= Fraction(bounds[1])


@pytest.mark.parametrize(
    ("name", "fewest"), [("r-product", 48), ("r-hamacher(2)", 20), ("r-hamacher(0)", 30)]
)
def test_closed_forms_of_random_formulas_lie_within_certified_bounds(name, fewest):
    found = 0
    for seed in range(60):
        rng = random.Random(seed)
        formula = random_formula(rng, (P, Q), rng.randint(1, 7))
        try:
            form = consistency(formula, name, method="antiderivative").exact
        except EvaluationError:
            continue
        found += 1
        chosen = relaxation(name)
        bounds = enclose(formula, atoms_of(formula), chosen, width=1e-6, seconds=5)
        assert is_within(form, bounds), formula
    assert found >= fewest


@pytest.mark.parametrize("seed", range(40))
def test_renaming_complementing_and_swapping_give_the_same_form(seed):
    rng = random.Random(200 + seed)
    left, right = (random_formula(rng, (P, Q), 2) for _ in range(2))
    kind = rng.choice((And, Or, Iff))
    formula = kind(left, right)

    def exact(one):
        try:
            return consistency(one, "r-product", method="antiderivative").exact
        except EvaluationError:
            return None

    form = exact(formula)
    for other in (
        substitute(formula, {P: Q, Q: P}),
        substitute(formula, {P: Not(P)}),
        substitute(formula, {Q: Not(Q)}),
        kind(right, left),
    ):
        assert exact(other) == form


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        # xy / (2 − x − y + xy) over x and y.
        ("r-hamacher(2)", "P & Q", "3 - 4*log(2)"),
        # xy / (x + y − xy).
        ("s-hamacher(0)", "P & Q", "pi^2/3 - 3"),
    ],
)
def test_other_rational_logics(name, text, form):
    result = consistency(text, name, method="antiderivative")
    assert str(result.exact) == form
    if name == "r-hamacher(2)":
        value = mpmath.quad(lambda x, y: x * y / (2 - x - y + x * y), [0, 1], [0, 1])
    else:
        value = mpmath.quad(lambda x, y: x * y / (x + y - x * y), [0, 0.1, 1], [0, 0.1, 1])
    assert result.value == pytest.approx(float(value), abs=1e-6)


@pytest.mark.parametrize(
    ("row", "form"), [("A3", "(2 + log(2))/3"), ("PP1", "log(2)"), ("LT2", "log(2)")]
)
def test_rows_of_the_table_have_closed_forms(row, form):
    formula = next(one.formula for one in catalogue() if one.name == row)
    assert str(consistency(formula, "r-product").exact) == form


def test_decimals_of_a_closed_form_agree_with_mpmath():
    result = consistency("~(P & Q) <-> ~(~P | ~Q)", "r-product")
    for digits in (1, 6, 17, 60, 1000):
        with mpmath.workdps(digits + 20):
            value = mpmath.log(2) ** 2 + mpmath.pi**2 / 12 - 1
            assert result.decimal(digits) == mpmath.nstr(value, digits, strip_zeros=False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("P & P -> ~P", "irrational"),
        ("P & P -> Q & Q & Q", "no rational curve"),
        ("P <-> (Q <-> R)", "two atoms"),
    ],
)
def test_what_has_no_such_form_is_refused_with_a_reason(text, reason):
    with pytest.raises(EvaluationError, match=reason):
        consistency(text, "r-product", method="antiderivative")
