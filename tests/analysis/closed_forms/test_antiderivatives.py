"""Closed forms of integrals, against derivations by hand, quadrature and certified bounds."""

import random
from fractions import Fraction

import flint
import mpmath
import pytest

from integration_oracles import P, Q, random_formula
from residuum.analysis import catalogue, consistency
from residuum.analysis.bounds.boxes import enclose
from residuum.analysis.closed_forms.antiderivatives import Integrand
from residuum.analysis.closed_forms.numbers import ClosedForm
from residuum.analysis.closed_forms.univariate import Quotient
from residuum.analysis.methods import NotThisWay
from residuum.errors import EvaluationError
from residuum.logic import And, Iff, Not, Or, atoms_of, substitute
from residuum.relaxations import relaxation
from residuum.syntax import parse

# Each derived by hand.
DERIVED = {
    "~P -> P": "log(2)",  # ∫ p / (1 − p) up to 1/2 is log 2 − 1/2, and 1 from there
    "P | P -> P": "log(2)",  # ∫ 1 / (2 − p)
    "P <-> P | P": "log(2)",
    "(~P -> ~Q) -> (Q -> P)": "(2 + log(2))/3",  # docs/theory/consistency.md
    "(P <-> Q) <-> (~P <-> ~Q)": "(4*log(2) - 1)/3",  # tests/analysis/bounds/test_boxes.py
    # With z = pq, of density −log z: 1 up to z = 1/2, then (1 − z)/z. The first part is
    # (1 + log 2)/2, and −∫ log z / z + ∫ log z from 1/2 is log² 2 / 2 − 1/2 + (log 2)/2.
    "P & Q -> ~(P & Q)": "log(2) + log(2)^2/2",
    # pq / (p + q − pq) is (1 − a)(1 − b) Σ aⁿbⁿ with a = 1 − p, b = 1 − q, and Σ of the squares of
    # 1/(n + 1) − 1/(n + 2) from n = 0 is 2 ζ(2) − 1 − 2.
    "P | Q -> P & Q": "pi^2/3 - 3",
    # 1 where q ≤ p, 0 where p ≤ q/(1 + q), and 1 − 1/p + 1/q between: over p that is
    # q − log(1 + q), so that the whole is 1/2 + 1/2 − (2 log 2 − 1).
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
        ("P & P & P -> Q", Fraction(7, 8)),  # over q it is 1 − p³/2
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


def number(value):
    return mpmath.mpf(value.numerator) / value.denominator


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
        ("P & Q -> ~(P & Q)", lambda p: [1 / (2 * p)]),
        ("~(P & Q) <-> ~(~P | ~Q)", lambda p: [1 / (2 * p)]),
        ("(P <-> Q) & (P | Q)", lambda p: [p]),
    ],
)
def test_closed_forms_agree_with_quadrature(text, kinks):
    formula = parse(text)
    result = consistency(formula, "r-product", method="antiderivative")
    with mpmath.workdps(25):

        def over_q(p):
            inner = sorted(k for k in kinks(p) if 0 < k < 1)
            return mpmath.quad(lambda q: product_degree(formula, {P: p, Q: q}), [0, *inner, 1])

        value = mpmath.quad(over_q, [0, 0.5, 1])
        assert mpmath.almosteq(value, mpmath.mpf(result.decimal(25)), 1e-20)


# ∫ log|x − zero| / (x − pole)^order and products of such, where no formula of few atoms leads.
@pytest.mark.parametrize("seed", range(25))
def test_dilogarithms_and_poles_of_any_order_agree_with_quadrature_to_forty_digits(seed):
    rng = random.Random(seed)
    low, high = Fraction(rng.randint(0, 3), 4), Fraction(rng.randint(4, 7), 4)
    outside = [Fraction(-1, 3), Fraction(-2), Fraction(9, 4), Fraction(5, 2), Fraction(3)]
    terms = [
        (rng.choice(outside), rng.randint(0, 3), rng.choice(outside), rng.randint(-3, 3))
        for _ in range(4)
    ]
    integrand = Integrand()
    for pole, order, zero, scale in terms:
        below = flint.fmpq_poly([flint.fmpq(-pole.numerator, pole.denominator), 1]) ** order
        above = flint.fmpq_poly([flint.fmpq(-zero.numerator, zero.denominator), 1])
        integrand.add_log(Quotient([scale], below), Quotient(above, [3, 1]))
        integrand.add(Quotient([0, scale], below))
    form = integrand.integral(low, high)
    with mpmath.workdps(45):

        def function(x):
            return sum(
                scale
                * (mpmath.log(abs((x - number(zero)) / (x + 3))) + x)
                / (x - number(pole)) ** order
                for pole, order, zero, scale in terms
            )

        value = mpmath.quad(function, [number(low), 0.9, number(high)])
        found = form.bounds(300)[0]
        assert mpmath.almosteq(value, number(found), 1e-40, 1e-40)


@pytest.mark.parametrize(
    ("coefficient", "argument", "form"),
    [
        # ∫ log x from 0 to 1, ∫ log(1 − x)/x, ∫ x log x, …, ∫ log(1 + x)/(1 + x), ∫ log x/(1 + x).
        (([1],), ([0, 1],), "-1"),
        (([1], [0, 1]), ([1, -1],), "-pi^2/6"),
        (([0, 1],), ([0, 1],), "-1/4"),
        (([1], [1, -1]), ([0, 1],), "-pi^2/6"),
        (([1], [1, 1]), ([1, 1],), "log(2)^2/2"),
        (([1], [1, 1]), ([0, 1],), "-pi^2/12"),
    ],
)
def test_integrands_that_are_singular_at_an_end(coefficient, argument, form):
    integrand = Integrand()
    integrand.add_log(Quotient(*coefficient), Quotient(*argument))
    assert str(integrand.integral(Fraction(0), Fraction(1))) == form


def test_singularities_of_several_terms_cancel_at_an_end():
    # With t = 1 − x, −log(x)/(1 − x)² − 1/(1 − x) is Σ tⁿ⁻²/n from n = 2, and Σ 1/(n(n − 1)) is 1.
    integrand = Integrand()
    integrand.add_log(Quotient([-1], [1, -2, 1]), Quotient([0, 1]))
    integrand.add(Quotient([-1], [1, -1]))
    assert integrand.integral(Fraction(0), Fraction(1)).rational == 1


def test_what_diverges_is_refused():
    integrand = Integrand()
    integrand.add(Quotient([1], [0, 1]))
    with pytest.raises(NotThisWay, match="converge"):
        integrand.integral(Fraction(0), Fraction(1))


def is_within(form, bounds):
    if isinstance(bounds, Fraction):
        return form == bounds
    low, high = form.bounds(200) if isinstance(form, ClosedForm) else (form, form)
    return Fraction(bounds[0]) <= low <= high <= Fraction(bounds[1])


@pytest.mark.parametrize(
    ("name", "fewest"), [("r-product", 24), ("r-hamacher(2)", 10), ("r-hamacher(0)", 15)]
)
def test_closed_forms_of_random_formulas_lie_within_certified_bounds(name, fewest):
    found = 0
    for seed in range(30):
        rng = random.Random(seed)
        formula = random_formula(rng, (P, Q), rng.randint(1, 7))
        try:
            form = consistency(formula, name, method="antiderivative").exact
        except EvaluationError:
            continue
        found += 1
        chosen = relaxation(name)
        bounds = enclose(formula, atoms_of(formula), chosen, width=1e-6, seconds=0.5)
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
        # xy / (2 − x − y + xy) is (1 − a)(1 − b) Σ (−ab)ⁿ with a = 1 − x, b = 1 − y.
        ("r-hamacher(2)", "P & Q", "3 - 4*log(2)"),
        # xy / (x + y − xy), as above.
        ("s-hamacher(0)", "P & Q", "pi^2/3 - 3"),
    ],
)
def test_other_rational_logics(name, text, form):
    assert str(consistency(text, name, method="antiderivative").exact) == form


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
        ("P <-> (Q <-> R)", "more than 2 atoms"),
    ],
)
def test_what_has_no_such_form_is_refused_with_a_reason(text, reason):
    with pytest.raises(EvaluationError, match=reason):
        consistency(text, "r-product", method="antiderivative")
