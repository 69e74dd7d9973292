"""Sums of cases on boxes against integrals worked out by hand."""

import itertools
import random
from fractions import Fraction

import flint
import numpy as np
import pytest

from integration_oracles import P, Q, R
from polynomial_oracles import exact_at, in_cube, random_boxes, random_polynomial
from residuum.analysis.bounds.cuts import Guard, guard_of
from residuum.analysis.bounds.expansions import Boxes, in_floats
from residuum.analysis.bounds.means import (
    ORDERS,
    Evaluator,
    _differences,
    _merge,
    _Sums,
    never_both,
)
from residuum.analysis.bounds.taylor import Taylor
from residuum.analysis.cases.tree import Tree
from residuum.relaxations import relaxation
from residuum.syntax import parse

ORDER = ORDERS[1]


def line(constant, slope):
    """Return the model of constant + slope · u, without error."""
    coefficients = np.zeros((ORDER + 1, len(constant)))
    coefficients[0], coefficients[1] = constant, slope
    return Taylor(coefficients, np.zeros(len(constant)), np.zeros(len(constant)))


def mean_of_positive_part(place):
    """Return the mean of max(0, u − place) over −1 < u < 1."""
    return (1 - place) ** 2 / 4


def bounds_of(sums, number):
    low, high = np.zeros(number), np.full(number, np.inf)
    sums.fill(low, high, np.zeros((1, number)))
    return low, high


def test_of_boxes_that_were_not_added_nothing_is_known():
    sums = _Sums(1, 3)
    one = line(np.ones(1), 0.0)
    sums.add(np.array([1]), {(): one.coefficients}, [], [one])
    low, high = bounds_of(sums, 3)
    assert low.tolist() == pytest.approx([0, 1, 0])
    assert high[1] == pytest.approx(1)
    assert np.isinf(high[[0, 2]]).all()


def test_each_box_gets_its_own_cuts_and_all_of_them():
    # 1 + max(0, u − a) + max(0, u − b) on every second box, 1 + max(0, u − a) on the others.
    rng = random.Random(1)
    first, second = (
        np.array([Fraction(rng.randint(-60, 60), 64) for _ in range(40)]) for _ in range(2)
    )
    sums = _Sums(1, 40)
    for which, count in ((np.arange(0, 40, 2), 2), (np.arange(1, 40, 2)[::-1], 1)):
        places = [some[which].astype(float) for some in (first, second)[:count]]
        guards = [Guard(line(-at, 1.0).coefficients, np.zeros(len(at))) for at in places]
        signs = [(False,), (True,)]
        signs = [a + b for a in signs for b in signs] if count == 2 else signs
        models = {
            chosen: line(
                1 - sum((at for at, one in zip(places, chosen, strict=True) if one), 0 * places[0]),
                float(sum(chosen)),
            )
            for chosen in signs
        }
        deltas = _differences({chosen: chosen for chosen in signs}, models)
        _merge(deltas, guards, {(0, 1): frozenset()} if count == 2 else {})
        sums.add(which, deltas, guards, list(models.values()))
    low, high = bounds_of(sums, 40)
    for box in range(40):
        true = 1 + mean_of_positive_part(first[box])
        true += mean_of_positive_part(second[box]) if box % 2 == 0 else 0
        assert Fraction(low[box]) <= true <= Fraction(high[box])
        assert high[box] - low[box] < 1e-9


def test_cases_that_are_only_compared_have_a_mean_between_them():
    sums = _Sums(1, 2)
    which = np.arange(2)
    # At each place 1 + u / 10 or 1.02 + u / 10, whichever: the mean is between 1 and 1.02.
    cases = [line(np.full(2, at), 0.1) for at in (1.0, 1.02)]
    sums.compare(which, cases, np.ones((1, 2)))
    low, high = bounds_of(sums, 2)
    assert (low <= 1).all()
    assert (high >= 1.02).all()
    assert high - low == pytest.approx(0.02)


def test_boxes_get_the_same_bounds_whatever_stands_beside_them():
    formula = parse("(P <-> Q & R) -> ~(Q <-> R) | P")
    evaluator = Evaluator(Tree(formula, [P, Q, R], relaxation("r-product")), 3)
    rng = np.random.default_rng(2)
    halves = 2.0 ** -rng.integers(2, 7, (3, 60))
    centres = halves * (2 * np.floor(rng.random((3, 60)) / (2 * halves)) + 1)
    boxes = Boxes(centres, halves)
    starts = np.zeros(60, dtype=int)
    together = evaluator.evaluate(boxes, starts)
    alone = [evaluator.evaluate(boxes.of([box]), starts[[box]]) for box in range(60)]
    assert len(set(together.nodes.tolist())) > 4
    for box, one in enumerate(alone):
        assert together.low[box] == pytest.approx(one.low[0], abs=1e-12)
        assert together.high[box] == pytest.approx(one.high[0], abs=1e-12)
        assert together.nodes[box] == one.nodes[0]


# Which signs two guards never have at once, against exact values on a grid

SIGNS = list(itertools.product((-1, 1), repeat=2))


def guard_on(exact, boxes):
    return guard_of(in_floats(exact)[0].expand(boxes), 5)


GRID = [Fraction(n, 2) for n in range(-2, 3)]


def test_signs_said_to_exclude_each_other_never_meet_on_a_grid():
    rng = random.Random(0)
    excluded = 0
    for _ in range(40):
        guards = [random_polynomial(rng, 2, 2) for _ in range(2)]
        guards[1] += rng.randint(-1, 1) * 3 * guards[0]  # half of them nearly parallel
        if any(guard.is_zero() for guard in guards):
            continue
        boxes = random_boxes(rng, 2, 6)
        expansions = [guard_on(guard, boxes) for guard in guards]
        for signs in SIGNS:
            for box in np.flatnonzero(never_both(*expansions, signs)):
                excluded += 1
                for u in itertools.product(GRID, repeat=2):
                    point = in_cube(boxes, box, u)
                    values = [exact_at(guard, point) for guard in guards]
                    assert not all(s * v > 0 for s, v in zip(signs, values, strict=True))
    assert excluded > 50


def test_parallel_guards_of_unlike_scale_are_told_apart():
    x, y = flint.fmpq_mpoly_ctx.get(("x0", "x1"), "lex").gens()
    # Around x + y = 1, and around three fifths of x + y = 1.1, with a little curvature.
    left, right = x + y - 1, (6 * x + 6 * y) / 10 - flint.fmpq(66, 100) + x * y / 1000
    boxes = Boxes(np.array([[0.5], [0.5]]), np.array([[0.25], [0.25]]))
    expansions = [guard_on(guard, boxes) for guard in (left, right)]
    assert [bool(never_both(*expansions, signs)[0]) for signs in SIGNS] == [
        False,
        True,
        False,
        False,
    ]
