"""The degree of a count, against subsets, sorted lists and a recursion on plain truth tables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from specimens import LOGICS, MILD_LOGICS, RATIONAL, every, higher, lower

from residuum.logic import Count, CountOf, Not, Or, at_least, at_most, atoms, exactly
from residuum.relaxations import relaxation, truth
from residuum.relaxations.rows import sorting_network

NAMES = "PQRS"
ATOMS = atoms(" ".join(NAMES))
CORNERS = (0.0, 1e-300, 0.2, 0.75, 1 - 2**-53, 1.0)
RANDOM = np.random.default_rng(5).random((200, 4))
POINTS = np.concatenate([list(itertools.product(CORNERS, repeat=4)), RANDOM, np.round(RANDOM, 1)])


def degree(formula, points, logic):
    return truth(formula, dict(zip(NAMES, np.asarray(points).T, strict=False)), logic)


def of_fractions(formula, values, logic):
    return truth(formula, dict(zip(NAMES, map(Fraction, values), strict=False)), logic)


def assert_alike(found, formula, points, logic, slack=1e-12):
    """Assert that degrees are those of a formula, up to the rounding of its atoms."""
    assert (degree(formula, lower(points), logic) - slack <= found).all()
    assert (found <= degree(formula, higher(points), logic) + slack).all()


THIRDS = [Fraction(k, 7) for k in range(0, 8, 2)] + [Fraction(1, 2), Fraction(1)]
ROWS = list(itertools.product(THIRDS, repeat=3))


# Each truth function against its definition, on fractions


@pytest.mark.parametrize("number", range(5))
def test_product_is_the_probability_of_so_many_independent_successes(number):
    for row in ROWS:
        expected = Fraction(0)
        for outcome in itertools.product([0, 1], repeat=3):
            if sum(outcome) >= number:
                pairs = zip(row, outcome, strict=True)
                expected += math.prod(x if won else 1 - x for x, won in pairs)
        assert of_fractions(at_least(number, ATOMS[:3]), row, "s-product") == expected


@pytest.mark.parametrize("number", range(1, 4))
def test_godel_is_the_kth_largest_degree(number):
    for row in ROWS:
        expected = sorted(row, reverse=True)[number - 1]
        assert of_fractions(at_least(number, ATOMS[:3]), row, "s-godel") == expected


@pytest.mark.parametrize("number", range(1, 4))
def test_lukasiewicz_is_what_the_sum_exceeds_k_minus_one_by(number):
    for row in ROWS:
        expected = max(Fraction(0), min(Fraction(1), sum(row) - number + 1))
        assert of_fractions(at_least(number, ATOMS[:3]), row, "lukasiewicz") == expected


def counted_by_loops(row, number, logic):
    """Return s(n, k) of the counter, from degrees of `P & Q` and `P | Q` alone."""
    ordered = sorted(row, reverse=True)
    reached = [Fraction(1)] + [Fraction(0)] * number
    for x in ordered:
        following = list(reached)
        for j in range(1, number + 1):
            both = truth("P & Q", {"P": reached[j - 1], "Q": x}, logic)
            following[j] = truth("P | Q", {"P": reached[j], "Q": both}, logic)
        reached = following
    return reached[number]


_DEFINED = [relaxation(name).tnorm for name in ("s-product", "lukasiewicz")]
FAMILIES = [logic for logic in RATIONAL if logic.tnorm not in _DEFINED]


@every(FAMILIES)
def test_other_families_count_by_the_counter_over_descending_degrees(logic):
    for number, row in itertools.product([2, 3], ROWS[::11]):
        found = of_fractions(at_least(number, ATOMS[:3]), row, logic)
        assert found == counted_by_loops(row, number, logic)


# Laws of every relaxation


@every(LOGICS)
def test_at_least_one_is_the_disjunction_and_at_least_all_the_conjunction(logic):
    assert np.array_equal(
        degree(at_least(1, ATOMS), POINTS, logic), degree("P | Q | R | S", POINTS, logic)
    )
    assert_alike(degree(at_least(4, ATOMS), POINTS, logic), "P & Q & R & S", POINTS, logic)


@every(LOGICS)
def test_the_order_of_operands_does_not_matter(logic):
    for number, order in itertools.product([2, 3], [[3, 2, 1, 0], [1, 2, 3, 0], [0, 2, 1, 3]]):
        count = at_least(number, ATOMS)
        found = degree(count, POINTS[:, order], logic)
        assert np.allclose(found, degree(count, POINTS, logic), rtol=0, atol=1e-15)


@every(LOGICS)
def test_counts_grow_with_each_operand(logic):
    for number, place in itertools.product(range(1, 5), [0, 2]):
        raised = POINTS.copy()
        raised[:, place] = np.minimum(1, raised[:, place] + 0.125)
        low, high = (degree(at_least(number, ATOMS), points, logic) for points in (POINTS, raised))
        assert (low <= high + 1e-12).all()


@every(LOGICS)
def test_more_are_harder_to_reach_and_none_need_nothing(logic):
    degrees = [degree(at_least(number, ATOMS), POINTS, logic) for number in range(7)]
    for more, fewer in itertools.pairwise(reversed(degrees)):
        assert (more <= fewer + 1e-12).all()
    assert (degrees[0] == 1).all()
    assert (degrees[5] == 0).all()
    assert (degrees[6] == 0).all()
    assert all(((one >= 0) & (one <= 1 + 1e-15)).all() for one in degrees)


@every(LOGICS)
def test_a_true_operand_counts_as_one_and_a_false_one_as_none(logic):
    three = POINTS[::3, :3]
    ones, zeros = np.ones((len(three), 1)), np.zeros((len(three), 1))
    for number in (1, 2, 3):
        with_true = degree(at_least(number + 1, ATOMS), np.hstack([three, ones]), logic)
        with_false = degree(at_least(number, ATOMS), np.hstack([zeros, three]), logic)
        for found in (with_true, with_false):
            assert_alike(found, at_least(number, ATOMS[:3]), three, logic)


@every(LOGICS)
def test_on_true_and_false_counts_are_boolean(logic):
    rows = np.array(list(itertools.product([0.0, 1.0], repeat=4)))
    true = rows.sum(1)
    for number in range(6):
        expected = {
            "at least": true >= number,
            "at most": true <= number,
            "exactly": true == number,
        }
        for relation, truths in expected.items():
            found = degree(CountOf(Count(relation, number), ATOMS), rows, logic)
            assert np.array_equal(np.broadcast_to(found, 16), truths)


@every(MILD_LOGICS)
def test_at_most_and_exactly_follow_from_at_least(logic):
    for number in range(6):
        few = degree(at_most(number, ATOMS), POINTS, logic)
        assert np.array_equal(few, degree(Not(at_least(number + 1, ATOMS)), POINTS, logic))
        both = degree(at_least(number, ATOMS) & at_most(number, ATOMS), POINTS, logic)
        assert np.allclose(degree(exactly(number, ATOMS), POINTS, logic), both, 1e-9, 1e-14)


# Carriers


@every(MILD_LOGICS)
def test_floats_and_arrays_agree(logic):
    points = POINTS[::150]
    rows = [dict(zip(NAMES, map(float, point), strict=True)) for point in points]
    for formula in (at_least(2, ATOMS), exactly(3, ATOMS), at_most(1, ATOMS)):
        found = [truth(formula, row, logic) for row in rows]
        assert np.allclose(found, degree(formula, points, logic), rtol=1e-12, atol=1e-15)


@every(RATIONAL)
def test_fractions_are_exact_and_agree_with_floats(logic):
    row = [Fraction(1, 3), Fraction(5, 7), Fraction(1, 2), Fraction(9, 10)]
    for number in range(5):
        found = of_fractions(exactly(number, ATOMS), row, logic)
        assert isinstance(found, Fraction)
        floats = truth(
            exactly(number, ATOMS), dict(zip(NAMES, map(float, row), strict=True)), logic
        )
        assert math.isclose(found, floats, rel_tol=1e-9, abs_tol=1e-12)


def test_arrays_of_different_shapes_broadcast():
    degrees = {"P": np.linspace(0, 1, 3)[:, None], "Q": np.linspace(0, 1, 4), "R": 0.5, "S": 1}
    for logic in ("s-product", "s-hamacher(0)", "s-godel", "lukasiewicz"):
        assert truth(at_least(2, ATOMS), degrees, logic).shape == (3, 4)


@pytest.mark.parametrize("length", range(1, 18))
def test_the_sorting_network_sorts(length):
    rows = np.random.default_rng(length).integers(0, 2, (300, length))  # the 0-1 principle
    for first, second in sorting_network(length):
        high, low = rows[:, [first, second]].max(1), rows[:, [first, second]].min(1)
        rows[:, first], rows[:, second] = high, low
    assert (np.diff(rows, axis=1) <= 0).all()


def test_many_operands_take_little_time():
    many = atoms(" ".join(f"A{i}" for i in range(400)))
    degrees = {atom.predicate: i / 400 for i, atom in enumerate(many)}
    assert math.isclose(truth(at_least(200, many), degrees, "lukasiewicz"), 0.5, abs_tol=1e-9)
    assert 0.4 < truth(at_least(200, many), degrees, "s-product") < 0.6
    assert truth(at_least(3, many), degrees, "s-hamacher(2)") == 1
    assert truth(Or(*many), degrees, "s-godel") == truth(at_least(1, many), degrees, "s-godel")
