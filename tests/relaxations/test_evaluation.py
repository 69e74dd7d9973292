from __future__ import annotations

import decimal
import math
from fractions import Fraction
from functools import cache, partial, reduce

import numpy as np
import pytest
from specimens import LOGICS, every

from residuum.errors import DegreeError, ResiduumError
from residuum.logic import And, Atom, Constant, Implies, Not, Or, atoms
from residuum.relaxations import FLOATS, PAPER, Degree, interpret, relaxation, truth
from residuum.syntax import parse

P, Q = atoms("P Q")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1, 1.0), (0, 0.0), (True, 1.0), (False, 0.0), (0.25, 0.25), (np.float64(0.25), 0.25),
        (np.float32(0.25), 0.25), (np.float16(0.25), 0.25), (np.int64(1), 1.0),
        (np.uint8(1), 1.0), (np.bool_(True), 1.0), (np.longdouble(0.25), 0.25),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_numbers_of_many_types_become_floats(given, expected):
    found = truth("P", {"P": given}, "s-product")
    assert found == expected
    assert type(found) is float


@pytest.mark.parametrize("other", [Fraction(1, 2), 1, True])
def test_fractions_and_integers_stay_exact(other):
    found = truth("P & Q", {"P": Fraction(1, 3), "Q": other}, "s-product")
    assert found == Fraction(1, 3) * other
    assert isinstance(found, Fraction)


def test_a_fraction_beside_a_float_becomes_a_float():
    found = truth("P & Q", {"P": Fraction(1, 2), "Q": 0.5}, "s-product")
    assert (found, type(found)) == (0.25, float)


def test_arrays_broadcast_with_each_other_and_with_numbers():
    column, row = np.array([[0.5], [1.0]]), np.array([0.0, 0.5, 1.0])
    found = truth("P & Q & R", {"P": column, "Q": row, "R": Fraction(1, 2)}, "s-product")
    np.testing.assert_array_equal(found, column * row / 2)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint8, bool])
def test_arrays_of_many_types_become_double_precision(dtype):
    found = truth("~P", {"P": np.array([0, 1], dtype=dtype)}, "s-product")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [1, 0])


@pytest.mark.parametrize("shape", [(), (0,), (1, 0), (2, 3)])
@every([relaxation(name) for name in (*PAPER, "r-yager(2)", "s-drastic", "r-frank(2)")])
def test_arrays_of_every_shape_keep_it(logic, shape):
    for text in ("P -> Q", "P & Q", "P | true", "P & false", "(true -> false) | P"):
        half = np.full(shape, 0.5)
        found = truth(text, {"P": half, "Q": half}, logic)
        assert np.shape(found) == shape, text


def test_the_given_array_is_neither_changed_nor_handed_out():
    given = np.array([0.25, 0.75])
    found = truth("~~P", {"P": given}, "r-godel")
    found[0] = 1.0
    np.testing.assert_array_equal(given, [0.25, 0.75])


@pytest.mark.parametrize(
    "wrong",
    [
        1 + 1e-9, -0.1, 2, -1, 1e300, math.nan, math.inf, -math.inf, Fraction(10**30 + 1, 10**30),
        Fraction(-1, 10**30), np.float32(1.5), np.nan, np.array([0.5, 1.5]),
        np.array([0.5, np.nan]), np.array(-0.5), np.array([2]), 10**400, 10**5000,
        Fraction(10**5000 + 1, 10**5000),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_is_out_of_range_is_refused_by_atom_and_value(wrong):
    with pytest.raises(DegreeError, match=r"`Q`: .*\[0, 1\]"):
        truth("P -> Q", {"P": 0.5, "Q": wrong}, "r-product")


def test_degrees_and_relaxation_in_each_others_place_are_told_in_words():
    with pytest.raises(DegreeError, match=r"expected a mapping .* got 'r-product'; .* relaxation"):
        truth("P", "r-product", {"P": 0.5})


@pytest.mark.parametrize(
    "wrong",
    ["0.5", None, [0.5], (0.5,), 0.5j, decimal.Decimal("0.5"), {"x": 1}, np.array(["a"]),
     np.array([0.5j]), np.array([object()]), np.array([None]), object(), float],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_is_no_number_is_refused_by_atom_and_type(wrong):
    with pytest.raises(DegreeError, match="`P`: expected a number"):
        truth("P", {"P": wrong}, "r-product")


def test_shapes_that_do_not_broadcast_are_refused_by_name():
    with pytest.raises(DegreeError, match=r"do not broadcast: `P` \(2,\), `Q` \(3,\)"):
        truth("P & Q", {"P": np.zeros(2), "Q": np.zeros(3)}, "s-product")


def test_missing_atoms_are_named_with_what_was_given():
    with pytest.raises(DegreeError, match="`Q`, `R`; given: `P`, `S`"):
        truth("P & Q | R", {"P": 0.5, "S": 0.5}, "s-product")


def test_superfluous_degrees_are_ignored():
    assert truth("P", {"P": 0.5, "Q": 7}, "s-product") == 0.5


def test_a_quantifier_is_refused_with_advice():
    for degrees in ({}, {"P(x)": 0.5}):
        with pytest.raises(ResiduumError, match=r"quantifier .*expand"):
            truth("forall x in D: P(x)", degrees, "s-product")


def test_atoms_with_arguments_are_given_by_text_or_as_atoms():
    atom = Atom("P", Constant(1))
    assert truth("P(1) & Q", {"P(1)": 0.5, "Q": 0.5}, "s-product") == 0.25
    assert truth("P(1) & Q", {atom: 0.5, Q: 0.5}, "s-product") == 0.25
    assert truth(atom, {"P(1)": 0.5}, "s-product") == 0.5


@every(LOGICS)
def test_constants_need_no_degrees(logic):
    assert truth("true", {}, logic) == truth("false -> false", {}, logic) == 1
    assert truth("false", {}, logic) == truth("true & false", {}, logic) == 0


def test_formulas_may_be_text_or_built():
    assert truth(P >> Q, {"P": 0.5, "Q": 0.25}, relaxation("r-product")) == 0.5
    assert truth("P → Q", {P: 0.5, Q: 0.25}, "r-product") == 0.5


DEEP = 100_000
NAMES = (*PAPER, "r-yager(2)", "r-nilpotent-minimum", "s-schweizer-sklar(-2)")


@cache
def nested(connect, bottom, depth):
    return reduce(lambda formula, _: connect(formula), range(depth), bottom)


@pytest.mark.parametrize("name", ["r-product", "r-godel"])
def test_formulas_100_000_deep_are_evaluated(name):
    assert truth(nested(Not, P, DEEP), {"P": 0.3}, name) == 0.3


@pytest.mark.parametrize("name", NAMES)
def test_deep_implications_are_evaluated(name):
    chain = nested(partial(Implies, P), Q, 5_000)
    # Each step rounds, so that thousands of them may add up.
    assert truth(chain, {"P": 1, "Q": 0.25}, name) == pytest.approx(0.25, abs=1e-11)


@cache
def wide_formulas():
    wide = [Atom(f"A{i}") for i in range(10_000)]
    return And(*wide), Or(*wide), dict.fromkeys(map(str, wide), 1.0)


@pytest.mark.parametrize("name", ["r-product", "s-godel", "lukasiewicz", "r-yager(2)"])
def test_wide_conjunctions_and_disjunctions_are_evaluated(name):
    conjunction, disjunction, ones = wide_formulas()
    assert truth(conjunction, ones, name) == 1
    assert truth(conjunction, {**ones, "A77": 0.0}, name) == 0
    zeros = dict.fromkeys(ones, 0.0)
    found = truth(disjunction, {**zeros, "A77": 0.25}, name)
    assert found == pytest.approx(0.25, abs=1e-11)


def test_shared_parts_are_evaluated_once():
    doubled = reduce(lambda formula, _: formula & formula, range(200), P)
    assert truth(doubled, {"P": 0.5}, "s-godel") == 0.5


def test_interpret_takes_degrees_on_any_carrier():
    degrees = {P: Degree(FLOATS, false=1e-20), Q: Degree(FLOATS, false=2e-20)}
    found = interpret(parse("P & Q"), degrees, relaxation("lukasiewicz"), FLOATS)
    assert found.false == pytest.approx(3e-20)
