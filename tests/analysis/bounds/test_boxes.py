"""Certified bounds against closed forms, samples of textbook values and laws of symmetry."""

import math
import random
import time
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from integration_oracles import P, Q, R, random_formula, textbook
from residuum.analysis import catalogue, consistency
from residuum.analysis.bounds import boxes
from residuum.analysis.bounds.boxes import enclose
from residuum.analysis.bounds.covering import Cover
from residuum.analysis.methods import NotThisWay
from residuum.errors import EvaluationError
from residuum.logic import And, Atom, Iff, Implies, Not, Or, atoms_of, substitute
from residuum.relaxations import relaxation
from residuum.syntax import parse

SAMPLE = np.random.default_rng(11).random((3, 200_000))


def of_a_product(degree, kinks):
    """Return the mean of a degree in z = pq, whose density is −log z."""
    return mpmath.quad(lambda z: -degree(z) * mpmath.log(z), [0, *kinks, 1])


with mpmath.workdps(50):
    LOG_2, HALF = mpmath.log(2), mpmath.mpf(1) / 2
    # p² ≤ 1 − p up to the golden section φ; beyond it ∫ (1 − p) / p² is 1/φ − 1 + log φ.
    GOLDEN = (mpmath.sqrt(5) - 1) / 2
    CLOSED = {
        "P -> Q": mpmath.mpf(3) / 4,
        "P <-> Q": HALF,
        "~P -> P": LOG_2,  # ∫ p / (1 − p) up to 1/2 is log 2 − 1/2, and 1 from there
        "P | P -> P": LOG_2,  # ∫ 1 / (2 − p)
        "P <-> P | P": LOG_2,
        "P & P -> ~P": GOLDEN + 1 / GOLDEN - 1 + mpmath.log(GOLDEN),
        "(~P -> ~Q) -> (Q -> P)": (2 + LOG_2) / 3,  # docs/theory/consistency.md
        # With s = |1 − 2p| uniform, p(1 − p) is (1 − s²) / 4, and the degree the lesser over the
        # greater of two: 2 ∫ (2/3 − t + t³/3) / (1 − t²) dt, with the numerator
        # (1 − t)² (2 + t) / 3.
        "(P <-> Q) <-> (~P <-> ~Q)": (4 * LOG_2 - 1) / 3,
        # max(p, q) where r < pq, r / min(p, q) up to r = min(p, q), then 1: over r that is
        # 1 − a/2 + ab²/2 for a < b, and the mean of a is 1/3, of ab² 1/5.
        "(P -> (Q -> R)) -> ((P -> Q) -> (P -> R))": mpmath.mpf(14) / 15,
        "(P -> Q) <-> (P <-> P & Q)": mpmath.mpf(2) / 3,  # max(p, q)
        "~(P & Q) <-> ~(~P | ~Q)": of_a_product(lambda z: min(z / (1 - z), (1 - z) / z), [HALF]),
        "P & Q -> ~(P & Q)": of_a_product(lambda z: min(1, (1 - z) / z), [HALF]),
    }


@pytest.mark.parametrize(("text", "value"), CLOSED.items())
def test_bounds_hold_the_value_derived_by_hand_and_are_narrow(text, value):
    result = consistency(text, "r-product", method="boxes")
    assert result.method == "boxes"
    assert result.kind == ("exact" if result.low == result.high else "certified")
    assert mpmath.mpf(result.low) <= value <= mpmath.mpf(result.high)
    assert result.low <= result.value <= result.high
    assert result.high - result.low <= 1e-8


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("P <-> P & P", Fraction(1, 2)),
        ("P -> P & P", Fraction(1, 2)),
        ("P & P -> P & P & P", Fraction(1, 2)),
        ("P & P & P & P", Fraction(1, 5)),
        ("(P -> false) -> (Q -> false)", Fraction(1)),
        ("~(((P -> false) & Q) -> false)", Fraction(0)),
        ("(Q -> R) -> (P | Q -> P | R)", Fraction(1)),
    ],
)
def test_one_polynomial_almost_everywhere_is_integrated_exactly(text, value):
    assert consistency(text, "r-product", method="boxes").exact == value


def test_the_only_preserved_row_that_the_laws_do_not_prove_is_proved_by_its_cases():
    row = next(row for row in catalogue() if row.name == "PP5")
    assert consistency(row.formula, "r-product").exact == 1


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        # pq / (p + q − pq): over p it is q / (1 − q) + q² log q / (1 − q)².
        (
            "s-hamacher(0)",
            "P & Q",
            mpmath.quad(
                lambda q: q / (1 - q) + q**2 * mpmath.log(q) / (1 - q) ** 2, [0, 0.5, 0.9, 1]
            ),
        ),
        # The residuum for γ = 1/3 with y = x²: y (1/3 + 2x/3) / (y (1/3 + 2x/3) + x − y).
        (
            "r-hamacher(1/3)",
            "P -> (P & (P -> P)) & P",
            mpmath.quad(
                lambda x: (lambda y: y * (1 + 2 * x) / (y * (1 + 2 * x) + 3 * (x - y)))(
                    3 * x**2 / (1 + 2 * (2 * x - x**2))
                ),
                [0, 1],
            ),
        ),
        # κ = 2/3: max(0, 1 − (1 − p) − (1 − q) + 2/3 (1 − p)(1 − q)) with a = 1 − p ≤ …
        (
            "s-sugeno-weber(2)",
            "P & Q",
            mpmath.quad(
                lambda a: (lambda b: (1 - a) * b - (1 - 2 * a / 3) * b**2 / 2)(
                    (1 - a) / (1 - 2 * a / 3)
                ),
                [0, 1],
            ),
        ),
    ],
)
def test_other_rational_logics_are_certified_with_any_rational_parameter(name, text, value):
    result = consistency(text, name, method="boxes")
    assert mpmath.mpf(result.low) <= value <= mpmath.mpf(result.high)
    assert result.high - result.low <= 1e-8


def holds_the_sample(result, formula):
    values = dict(zip((P, Q, R), SAMPLE, strict=True))
    with np.errstate(all="ignore"):
        sampled = np.broadcast_to(textbook(formula, values, "r-product"), SAMPLE.shape[1])
    error = 6 * sampled.std() / math.sqrt(len(sampled)) + 1e-6
    return result.low - error <= sampled.mean() <= result.high + error


@pytest.mark.parametrize("seed", range(30))
def test_random_formulas_of_two_atoms_are_bounded_to_eight_digits(seed):
    rng = random.Random(seed)
    formula = random_formula(rng, (P, Q), rng.randint(1, 7))
    result = consistency(formula, "r-product", method="boxes")
    assert result.kind in ("exact", "certified")
    assert result.high - result.low <= 1e-8
    assert holds_the_sample(result, formula)


@pytest.mark.parametrize("seed", range(10))
def test_bounds_of_random_formulas_of_three_atoms_hold_the_sample(seed):
    formula = random_formula(random.Random(seed), (P, Q, R), 10)
    result = consistency(formula, "r-product", method="boxes", seconds=0.2)
    assert result.kind in ("exact", "certified")
    assert holds_the_sample(result, formula)


INDEPENDENT = {
    # Ratios of the lesser to the greater are uniform and independent: the mean of u -> v is 3/4.
    "(P <-> Q) -> (R <-> S)": (Fraction(3, 4), 0.1),
    # Means of independent parts multiply.
    "(P -> Q) & (R -> S) & (T <-> T & T)": (Fraction(9, 32), 0.3),
    "(P -> Q) & (R -> S) & (T -> U)": (Fraction(27, 64), 0.7),
    "(A -> B) & (C -> D) & (E -> F) & (G -> H)": (Fraction(81, 256), 0.97),
}


@pytest.mark.parametrize(("text", "expected"), INDEPENDENT.items())
def test_bounds_over_many_atoms_hold_the_value_derived_by_hand(text, expected):
    value, widest = expected
    formula = parse(text)
    found = enclose(formula, atoms_of(formula), relaxation("r-product"), width=widest)
    low, high = found if isinstance(found, tuple) else (found, found)
    assert low <= value <= high
    assert high - low <= widest


@pytest.mark.parametrize("atoms", [4, 5, 6])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_random_formulas_of_many_atoms_hold_the_sample(seed, atoms):
    leaves = [Atom(f"A{i}") for i in range(atoms)]
    rng = random.Random(seed)
    formula = And(*leaves[:2])  # every leaf occurs, so that there are as many atoms as said
    for leaf in leaves[2:]:
        formula = rng.choice((Implies, Iff, Or))(random_formula(rng, leaves[:3], 2), formula)
        formula = rng.choice((Implies, And))(leaf, formula)
    result = consistency(formula, "r-product", method="boxes", seconds=0.3)
    points = np.random.default_rng(seed).random((atoms, 200_000))
    with np.errstate(all="ignore"):
        degrees = textbook(formula, dict(zip(leaves, points, strict=True)), "r-product")
    error = 6 * degrees.std() / math.sqrt(degrees.size) + 1e-6
    assert result.low - error <= degrees.mean() <= result.high + error


@pytest.mark.parametrize("seed", range(12))
def test_renaming_complementing_and_swapping_leave_the_bounds_overlapping(seed):
    rng = random.Random(100 + seed)
    left, right = (random_formula(rng, (P, Q), 3) for _ in range(2))
    kind = rng.choice((And, Or, Iff))
    formula = kind(left, right)
    result = consistency(formula, "r-product", method="boxes")
    for other in (
        substitute(formula, {P: Q, Q: P}),
        substitute(formula, {P: Not(P)}),
        kind(right, left),
    ):
        again = consistency(other, "r-product", method="boxes")
        assert max(result.low, again.low) <= min(result.high, again.high)


@pytest.mark.parametrize(
    "text",
    [
        # Guards that touch: p² against p at both ends, pq against p along p = 0 and q = 1.
        "(P -> Q) -> (P & P -> Q & Q)",
        "(P & Q -> R) -> (P -> R)",
        "~(~(P -> Q) -> ~(Q -> P))",
        "~(P -> ~(Q -> ~(P -> Q)))",
        "((P -> Q) -> Q) -> ((Q -> P) -> P)",
        "P & P & P & P -> Q & Q",
        "(P <-> P & P & P) <-> (Q <-> Q | Q)",
    ],
)
def test_bounds_of_awkward_formulas_hold_the_sample(text):
    formula = parse(text)
    result = consistency(formula, "r-product", method="boxes", seconds=60)
    assert result.high - result.low <= 1e-8
    assert holds_the_sample(result, formula)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(P -> false) -> (Q -> false)", 1),
        ("(P -> false) -> false", 1),
        ("(P -> false) <-> (Q -> false)", 1),
        ("~(((P -> false) & Q) -> false)", 0),
    ],
)
def test_bounds_hold_where_a_denominator_vanishes_everywhere(text, value):
    for method in (None, "boxes"):
        result = consistency(text, "r-product", method=method)
        assert result.low <= value <= result.high


def test_narrower_bounds_lie_within_wider_ones():
    formula = parse("(P -> (Q <-> R)) -> ((Q -> P) <-> R & P)")
    atoms, product = atoms_of(formula), relaxation("r-product")
    bounds = [
        enclose(formula, atoms, product, width=width, seconds=60) for width in (1e-1, 1e-2, 1e-4)
    ]
    for (low, high), (lower, higher) in zip(bounds[1:], bounds, strict=False):
        assert lower <= low <= high <= higher


def test_no_time_gives_honest_bounds():
    result = consistency("P <-> (Q <-> R)", "r-product", method="boxes", seconds=0)
    assert (result.kind, result.low, result.high) == ("certified", 0, 1)
    assert 0 < result.value < 1


def test_bounds_too_wide_to_be_of_use_give_way_to_an_estimate():
    result = consistency("(P -> (Q <-> R)) -> (Q -> R & P)", "r-product", seconds=0)
    assert (result.kind, result.method) == ("estimate", "sobol")
    assert "wider than 0.01" in result.note
    assert result.high - result.low < 1e-2


def test_bounds_hold_and_end_where_cases_turn_out_to_be_too_many(monkeypatch):
    formula = parse("(P -> (Q <-> R)) -> ((Q -> P) <-> R & P)")
    refine = Cover.refine

    def refine_a_little(cover, work, deadline):
        refine(cover, min(work, 500), deadline)
        raise NotThisWay("its degree has too many cases")

    monkeypatch.setattr(Cover, "refine", refine_a_little)
    low, high = enclose(formula, atoms_of(formula), relaxation("r-product"), width=1e-8)
    degrees = textbook(formula, dict(zip((P, Q, R), SAMPLE, strict=True)), "r-product")
    assert 0 <= low <= degrees.mean() <= high <= 1


def test_what_grows_too_large_is_refused_with_a_reason():
    formula = P
    for _ in range(8):
        formula = And(formula, formula)
    with pytest.raises(EvaluationError, match="degree over"):
        consistency(Implies(formula, Q), "r-product", method="boxes")
    many = And(*(Atom(f"A{i}") for i in range(8)))
    with pytest.raises(EvaluationError, match="atoms"):
        consistency(Implies(many, P), "r-product", method="boxes")


def test_logics_that_are_not_rational_are_refused():
    with pytest.raises(EvaluationError, match="not rational"):
        consistency("P & Q", "s-frank(2)", method="boxes")


def test_the_same_call_gives_the_same_bounds_however_long_it_takes(monkeypatch):
    formula = parse("P & Q -> R & R")
    atoms, product = atoms_of(formula), relaxation("r-product")
    monkeypatch.setattr(boxes, "FIRST_WORK", 500)
    monkeypatch.setitem(boxes.MOST_WORK, 3, 10_000)
    found = enclose(formula, atoms, product, width=1e-13)
    refine = Cover.refine

    def slowly(cover, work, deadline):
        time.sleep(0.01)
        refine(cover, work, deadline)

    monkeypatch.setattr(Cover, "refine", slowly)
    assert enclose(formula, atoms, product, width=1e-13, seconds=600) == found
    assert found[1] - found[0] > 1e-13  # the work was spent


def test_coordinates_that_are_behind_are_given_up_and_the_best_gets_most_of_the_work(monkeypatch):
    formula = parse("P & Q -> R & R")
    monkeypatch.setattr(boxes, "FIRST_WORK", 500)
    monkeypatch.setitem(boxes.MOST_WORK, 3, 20_000)
    refine, spent = Cover.refine, {}

    def follow(cover, work, deadline):
        refine(cover, work, deadline)
        spent[cover] = cover.work

    monkeypatch.setattr(Cover, "refine", follow)
    enclose(formula, atoms_of(formula), relaxation("r-product"), width=1e-13)
    assert len(spent) == 9
    *others, most = sorted(spent.values())
    assert most >= 20_000
    assert max(others) < 12_000
    best = max(spent, key=spent.get)
    assert best.width() == min(cover.width() for cover in spent)


def test_bounds_that_will_not_be_useful_are_given_up_after_a_tenth_of_the_work(monkeypatch):
    formula = parse("P & Q -> R & R")
    monkeypatch.setattr(boxes, "FIRST_WORK", 100)
    monkeypatch.setitem(boxes.MOST_WORK, 3, 1_000)
    with pytest.raises(NotThisWay, match="wider than 1e-06"):
        enclose(formula, atoms_of(formula), relaxation("r-product"), width=1e-8, useful=1e-6)


def test_a_value_that_is_known_exactly_is_not_given_up_for_wide_bounds():
    formula = parse("P -> " + " & ".join(["P"] * 8))  # p⁷, beyond the order of Taylor polynomials
    found = enclose(formula, [P], relaxation("r-product"), width=1e-8, useful=1e-9)
    assert found == Fraction(1, 8)
