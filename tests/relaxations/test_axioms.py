from __future__ import annotations

import itertools
from functools import reduce

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from specimens import (
    GRID,
    LOGICS,
    RESIDUA,
    STEP,
    TNORMS,
    X,
    Y,
    every,
    higher,
    lower,
    value,
)  # fmt: skip

from residuum.logic import evaluate
from residuum.relaxations import truth
from strategies import few, propositional_formulas

X3, Y3, Z3 = np.meshgrid(GRID, GRID, GRID, indexing="ij")
degrees = st.floats(0, 1) | st.sampled_from([float(x) for x in GRID])


@every(TNORMS)
def test_conjunction_and_disjunction_commute(logic):
    for text, swapped in (("P & Q", "Q & P"), ("P | Q", "Q | P")):
        np.testing.assert_allclose(
            value(text, logic, X, Y), value(swapped, logic, X, Y), rtol=0, atol=STEP
        )


# The inner value is known up to rounding, and a steep t-norm magnifies that without bound. T is
# monotone, so T of the lowered and of the raised inner value enclose what rounding can explain.
@every(TNORMS)
@pytest.mark.parametrize("operator", ["&", "|"])
def test_conjunction_and_disjunction_associate(logic, operator):
    text = f"P {operator} Q"

    def outer(x, y, shift):
        return value(text, logic, shift(x), shift(y))

    left, right = value(text, logic, X3, Y3), value(text, logic, Y3, Z3)
    assert np.all(outer(left, Z3, lower) - STEP <= outer(X3, right, higher) + STEP)
    assert np.all(outer(X3, right, lower) - STEP <= outer(left, Z3, higher) + STEP)


@every(TNORMS)
@pytest.mark.parametrize("operator", ["&", "|"])
def test_conjunction_and_disjunction_are_monotone(logic, operator):
    found = value(f"P {operator} Q", logic, X, Y)
    assert np.diff(found, axis=0).min() >= -STEP
    assert np.diff(found, axis=1).min() >= -STEP


@every(TNORMS)
def test_true_is_neutral_for_and_false_for_or(logic):
    for text in ("P & true", "true & P", "P | false", "false | P"):
        np.testing.assert_allclose(value(text, logic, GRID), GRID, rtol=0, atol=STEP)


@every(TNORMS)
def test_false_annihilates_and_true_absorbs_exactly(logic):
    for text in ("P & false", "false & P"):
        assert np.all(value(text, logic, GRID) == 0)
    for text in ("P | true", "true | P"):
        assert np.all(value(text, logic, GRID) == 1)


@every(TNORMS)
def test_conjunction_is_at_most_the_minimum_and_disjunction_at_least_the_maximum(logic):
    assert np.all(value("P & Q", logic, X, Y) <= np.minimum(X, Y) + STEP)
    assert np.all(value("P | Q", logic, X, Y) >= np.maximum(X, Y) - STEP)


@every(TNORMS)
def test_disjunction_is_dual_to_conjunction(logic):
    np.testing.assert_array_equal(
        value("P | Q", logic, X, Y), value("~(~P & ~Q)", logic, X, Y), strict=True
    )
    halves = GRID[(GRID == 0) | (GRID > 2**-50)]  # 1 − x must not round these away
    x, y = np.meshgrid(halves, halves)
    flipped = 1 - value("P & Q", logic, lower(1 - x), lower(1 - y))
    assert np.all(value("P | Q", logic, x, y) <= flipped + STEP)
    flipped = 1 - value("P & Q", logic, higher(1 - x), higher(1 - y))
    assert np.all(value("P | Q", logic, x, y) >= flipped - STEP)


@every(LOGICS)
@pytest.mark.parametrize("operator", ["&", "|"])
def test_n_ary_is_folded_binary(logic, operator):
    x, y, z = (part[::2, ::2, ::2] for part in (X3, Y3, Z3))
    several = value(f"P {operator} Q {operator} R {operator} S", logic, x, y, z, y)

    def folded(shift):
        def binary(left, right):
            return shift(value(f"P {operator} Q", logic, shift(left), shift(right)))

        return reduce(binary, (x, y, z, y))

    assert np.all(folded(lower) <= several)
    assert np.all(several <= folded(higher))


@every(RESIDUA)
def test_residuum_is_exactly_one_where_the_antecedent_is_no_truer(logic):
    found = value("P -> Q", logic, X, Y)
    assert np.all(found[X <= Y] == 1)


@every(RESIDUA)
def test_residuum_is_exactly_one_at_and_just_above_every_float(logic):
    x = np.random.default_rng(0).random(5_000)
    x = np.concatenate([x, x**20, 1 - x**20])
    for y in (x, np.nextafter(x, 1)):
        assert np.all(value("P -> Q", logic, x, y) == 1)


@every(RESIDUA)
def test_residuum_of_true_is_the_consequent(logic):
    np.testing.assert_allclose(value("true -> P", logic, GRID), GRID, rtol=0, atol=STEP)


# As for associativity: the residuum is enclosed by its values at degrees one rounding away, and
# z is compared with that enclosure. At a jump it is wide; fractions decide there.
@every(RESIDUA)
def test_residuation_holds_up_to_rounding(logic):
    least = np.broadcast_to(value("P -> Q", logic, higher(X), lower(Y)) - STEP, X3.shape)
    most = np.broadcast_to(value("P -> Q", logic, lower(X), higher(Y)) + STEP, X3.shape)
    x, y, z = Z3, X3, Y3  # the residua above vary over the last two axes, as (x, y)
    x, y, z = np.moveaxis(x, 2, 1), np.moveaxis(y, 0, 2), np.moveaxis(z, 1, 0)
    conjunction = value("P & Q", logic, z, x)
    assert np.all(conjunction[z <= least] <= y[z <= least] + STEP)
    assert np.all(conjunction[z > most] >= y[z > most] - STEP)


@every(LOGICS)
def test_implication_falls_in_its_antecedent_and_rises_in_its_consequent(logic):
    found = value("P -> Q", logic, X, Y)
    assert np.all(value("P -> Q", logic, higher(X[1:]), lower(Y[1:])) - STEP <= found[:-1])
    assert np.all(
        value("P -> Q", logic, higher(X[:, :-1]), lower(Y[:, :-1])) - STEP <= found[:, 1:]
    )


@every([logic for logic in LOGICS if logic.kind == "S"])
def test_s_implication_is_the_disjunction_with_the_negated_antecedent(logic):
    np.testing.assert_array_equal(value("P -> Q", logic, X, Y), value("~P | Q", logic, X, Y))


@every(LOGICS)
def test_iff_is_the_logics_own_conjunction_of_both_implications(logic):
    np.testing.assert_allclose(
        value("P <-> Q", logic, X, Y),
        value("(P -> Q) & (Q -> P)", logic, X, Y),
        rtol=0,
        atol=STEP,
    )


@every(RESIDUA)
def test_iff_is_exactly_one_on_equal_degrees_in_an_r_logic(logic):
    assert np.all(value("P <-> Q", logic, GRID, GRID) == 1)


@every(LOGICS)
def test_double_negation_returns_the_very_number(logic):
    for x in GRID.tolist():
        assert truth("~~P", {"P": x}, logic) == x
        assert truth("~~~P", {"P": x}, logic) == 1 - x


@every(LOGICS)
def test_floats_and_arrays_agree(logic):
    texts = ("P & Q", "P | Q", "P -> Q", "P <-> Q")
    coarse = [0.0, 1e-12, 0.1, 0.5, 0.75, 1 - 1e-12, 1.0]
    x, y = np.array(list(itertools.product(coarse, coarse))).T
    for text in texts:
        on_arrays = value(text, logic, x, y)
        on_floats = [value(text, logic, *pair) for pair in zip(x.tolist(), y.tolist(), strict=True)]
        # NumPy's logarithms and powers may differ from the C library's in the last place.
        np.testing.assert_allclose(on_floats, on_arrays, rtol=1e-9, atol=STEP)


ROWS = np.array(list(itertools.product([0.0, 1.0], repeat=4))).T


@settings(few, max_examples=50)
@given(propositional_formulas)
def test_every_logic_agrees_with_boolean_logic_on_arrays_of_corners(formula):
    expected = [evaluate(formula, dict(zip("PQRS", row, strict=True))) for row in ROWS.T]
    for logic in LOGICS:
        found = truth(formula, dict(zip("PQRS", ROWS, strict=True)), logic)
        np.testing.assert_array_equal(np.broadcast_to(found, 16), expected)


@few
@given(propositional_formulas, st.tuples(*[st.booleans()] * 4), st.sampled_from(LOGICS))
def test_every_logic_agrees_with_boolean_logic_on_floats(formula, row, logic):
    crisp = dict(zip("PQRS", row, strict=True))
    assert truth(formula, {name: float(x) for name, x in crisp.items()}, logic) == evaluate(
        formula, crisp
    )


@settings(few, max_examples=25)
@given(degrees, degrees, degrees)
@example(0.0, 0.0, 1.0)
@example(1.0, 1.0, 1.0)
@example(5e-324, 1 - 2**-53, 0.5)
def test_random_degrees_obey_the_axioms_in_every_logic(x, y, z):
    low, high = sorted((x, y))
    for logic in TNORMS:
        both = value("P & Q", logic, x, y)
        assert both == pytest.approx(value("P & Q", logic, y, x), abs=STEP)
        assert 0 <= both <= low + STEP
        assert value("P & Q", logic, low, z) <= value("P & Q", logic, high, z) + STEP
        assert value("P | Q", logic, x, y) == value("~(~P & ~Q)", logic, x, y)
        assert high - STEP <= value("P | Q", logic, x, y) <= 1
    for logic in RESIDUA:
        assert value("P -> Q", logic, low, high) == 1
        assert 0 <= value("P -> Q", logic, high, low) <= 1
