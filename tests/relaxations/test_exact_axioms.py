"""The axioms on fractions, where nothing rounds: equality means equality."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import LOGICS, RATIONAL, RATIONAL_RESIDUA, every, value

from residuum.errors import InexactError
from residuum.logic import evaluate
from residuum.relaxations import FRACTIONS, Degree, truth
from residuum.relaxations.sugeno_weber import SugenoWeber
from strategies import few, propositional_formulas

# The S- and R-logic of a t-norm share these.
RATIONAL_TNORMS = [logic for logic in RATIONAL if not logic.name.startswith("r-")]
SIXTHS = [Fraction(k, 6) for k in range(7)]
NEARBY = [
    Fraction(0), Fraction(1, 10**9), Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**9),
    Fraction(2, 3), 1 - Fraction(1, 10**9), Fraction(1),
]  # fmt: skip
PAIRS = list(itertools.product(SIXTHS, repeat=2)) + list(itertools.product(NEARBY, repeat=2))
fractions = st.fractions(0, 1, max_denominator=1000)


@every(RATIONAL)
def test_values_on_fractions_are_fractions(logic):
    for text in ("~P", "P & Q", "P | Q", "P -> Q", "P <-> Q"):
        for pair in PAIRS:
            assert isinstance(value(text, logic, *pair), Fraction)


@every(RATIONAL_TNORMS)
def test_conjunction_is_a_t_norm(logic):
    for x, y in PAIRS:
        both = value("P & Q", logic, x, y)
        assert both == value("Q & P", logic, x, y)
        assert 0 <= both <= min(x, y)
        assert value("P & Q", logic, x, Fraction(1)) == x
        assert value("P & Q", logic, x, Fraction(0)) == 0


@every(RATIONAL_TNORMS)
def test_conjunction_and_disjunction_associate_and_are_folds(logic):
    for x, y, z in itertools.product(SIXTHS[::3] + NEARBY[1:4:2], repeat=3):
        for operator in "&|":
            ternary = value(f"P {operator} Q {operator} R", logic, x, y, z)
            assert ternary == value(f"(P {operator} Q) {operator} R", logic, x, y, z)
            assert ternary == value(f"P {operator} (Q {operator} R)", logic, x, y, z)


@every(RATIONAL_TNORMS)
def test_conjunction_is_monotone(logic):
    for grid in (SIXTHS, NEARBY):
        for z in grid:
            found = [value("P & Q", logic, x, z) for x in grid]
            assert found == sorted(found)


@every(RATIONAL_TNORMS)
def test_disjunction_is_the_dual(logic):
    for x, y in PAIRS:
        assert value("P | Q", logic, x, y) == 1 - value("P & Q", logic, 1 - x, 1 - y)


@every(RATIONAL_RESIDUA)
def test_residuation_is_an_equivalence(logic):
    for grid in (SIXTHS[::2], NEARBY):
        for x, y in itertools.product(grid, repeat=2):
            implication = value("P -> Q", logic, x, y)
            for z in (*grid, implication):
                assert (value("P & Q", logic, z, x) <= y) == (z <= implication)


@settings(few, max_examples=50)
@given(fractions, fractions, fractions)
def test_residuation_is_an_equivalence_at_random(x, y, z):
    for logic in RATIONAL_RESIDUA:
        assert (value("P & Q", logic, z, x) <= y) == (z <= value("P -> Q", logic, x, y))


@every(RATIONAL_RESIDUA)
def test_residuum_is_one_exactly_where_the_antecedent_is_no_truer(logic):
    for x, y in PAIRS:
        assert (value("P -> Q", logic, x, y) == 1) == (x <= y)


@every([logic for logic in RATIONAL if logic.kind == "S"])
def test_s_implication_is_not_x_or_y(logic):
    for x, y in PAIRS:
        assert value("P -> Q", logic, x, y) == value("P | Q", logic, 1 - x, y)


@every(RATIONAL)
def test_iff_is_the_conjunction_of_both_implications(logic):
    for x, y in PAIRS:
        there, back = value("P -> Q", logic, x, y), value("P -> Q", logic, y, x)
        assert value("P <-> Q", logic, x, y) == value("P & Q", logic, there, back)


@every(RATIONAL)
def test_negation_is_involutive(logic):
    for x in SIXTHS + NEARBY:
        assert value("~P", logic, x) == 1 - x
        assert value("~~P", logic, x) == x


@few
@given(propositional_formulas, st.tuples(*[st.sampled_from([0, 1])] * 4))
def test_every_rational_logic_agrees_with_boolean_logic(formula, row):
    crisp = dict(zip("PQRS", row, strict=True))
    degrees = {name: Fraction(x) for name, x in crisp.items()}
    for logic in RATIONAL:
        assert truth(formula, degrees, logic) == evaluate(formula, crisp)


@every(LOGICS)
def test_a_value_on_fractions_is_the_exact_one_or_refused(logic):
    for text, pair in itertools.product(
        ("P & Q", "P | Q", "P -> Q"), [(0, 0), (0, 1), (1, 1), (Fraction(1, 4), Fraction(3, 4))]
    ):
        x, y = map(Fraction, pair)
        try:
            found = value(text, logic, x, y)
        except InexactError:
            continue
        assert isinstance(found, Fraction)
        assert float(found) == pytest.approx(value(text, logic, float(x), float(y)), abs=1e-15)


def test_an_irrational_logic_refuses_fractions_and_says_what_to_do():
    with pytest.raises(InexactError, match="give the degrees as floats"):
        truth("P & Q", {"P": Fraction(1, 3), "Q": Fraction(1, 2)}, "s-frank(2)")


# A parameter may be an int or a float as well as a fraction; exact must stay exact.
@pytest.mark.parametrize("weight", [2, 0.1, 10, Fraction(1, 3)])
def test_sugeno_weber_is_exact_for_parameters_of_every_type(weight):
    x, y, exact = Fraction(2, 3), Fraction(3, 4), Fraction(weight)
    found = SugenoWeber(weight).conjoin(Degree(FRACTIONS, true=x), Degree(FRACTIONS, true=y))
    assert found.true == (x + y - 1 + exact * x * y) / (1 + exact)
