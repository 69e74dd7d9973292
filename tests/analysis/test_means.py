"""Sums of cases on boxes against integrals worked out by hand."""

import random
from fractions import Fraction

import numpy as np
import pytest
from integration_oracles import P, Q, R

from residuum.analysis.boxes import Evaluator
from residuum.analysis.expansions import Boxes, Expansion, exponents
from residuum.analysis.means import Means
from residuum.analysis.models import Model
from residuum.analysis.pieces import Tree
from residuum.analysis.truncated import ORDER as TRUNCATED_ORDER
from residuum.analysis.truncated import Truncated
from residuum.relaxations import relaxation
from residuum.syntax import parse

ORDER, CUT_ORDER = 6, 5


def line(constant, slope):
    """Return the model of constant + slope · u, without error."""
    coefficients = np.zeros((ORDER + 1, len(constant)))
    coefficients[0], coefficients[1] = constant, slope
    return Model(ORDER, coefficients, np.zeros(len(constant)), np.zeros(len(constant)))


def mean_of_positive_part(place):
    """Return the mean of max(0, u − place) over −1 < u < 1."""
    return (1 - place) ** 2 / 4


def test_of_boxes_that_were_not_added_nothing_is_known():
    means = Means(1, 3)
    means.add(np.array([1]), {(): "one"}, [], {}, {"one": line(np.ones(1), 0.0)}, None)
    low, high, blame = means.bounds()
    assert low.tolist() == pytest.approx([0, 1, 0])
    assert high[1] == pytest.approx(1)
    assert np.isinf(high[[0, 2]]).all()
    assert np.isinf(blame[0, [0, 2]]).all()


def test_each_box_gets_its_own_cuts_and_all_of_them():
    # 1 + max(0, u − a) + max(0, u − b) on every second box, 1 + max(0, u − a) on the others.
    rng = random.Random(1)
    first, second = (
        np.array([Fraction(rng.randint(-60, 60), 64) for _ in range(40)]) for _ in range(2)
    )
    means = Means(1, 40)
    for which, guards in ((np.arange(0, 40, 2), 2), (np.arange(1, 40, 2)[::-1], 1)):
        places = [some[which].astype(float) for some in (first, second)[:guards]]
        undecided = [
            Expansion((1,), np.stack([-at, np.ones(len(at))]), np.zeros(len(at))) for at in places
        ]
        signs = [(False,), (True,)]
        signs = [a + b for a in signs for b in signs] if guards == 2 else signs
        models = {
            chosen: line(
                1 - sum((at for at, one in zip(places, chosen, strict=True) if one), 0 * places[0]),
                float(sum(chosen)),
            )
            for chosen in signs
        }
        pairs = {(0, 1): frozenset()}
        means.add(which, {chosen: chosen for chosen in signs}, undecided, pairs, models, CUT_ORDER)
    low, high, _ = means.bounds()
    for box in range(40):
        true = 1 + mean_of_positive_part(first[box])
        true += mean_of_positive_part(second[box]) if box % 2 == 0 else 0
        assert Fraction(low[box]) <= true <= Fraction(high[box])
        assert high[box] - low[box] < 1e-9


def test_boxes_get_the_same_bounds_whatever_stands_beside_them():
    formula = parse("(P <-> Q & R) -> ~(Q <-> R) | P")
    evaluator = Evaluator(Tree(formula, [P, Q, R], relaxation("r-product")), 3)
    rng = np.random.default_rng(2)
    halves = 2.0 ** -rng.integers(2, 7, (3, 60))
    centres = halves * (2 * np.floor(rng.random((3, 60)) / (2 * halves)) + 1)
    boxes = Boxes(centres, halves)
    starts = np.zeros(60, dtype=int)
    with np.errstate(all="ignore"):
        together, _ = evaluator.evaluate(boxes, starts)
        alone = [evaluator.evaluate(boxes.of([box]), starts[[box]])[0] for box in range(60)]
    assert len({tuple(cuts) for cuts in together.cuts.T.tolist()}) > 4
    for box, one in enumerate(alone):
        assert together.low[box] == pytest.approx(one.low[0], abs=1e-12)
        assert together.high[box] == pytest.approx(one.high[0], abs=1e-12)
        assert together.blame[:, box] == pytest.approx(one.blame[:, 0], abs=1e-9)
        assert together.cuts[:, box].tolist() == one.cuts[:, 0].tolist()


SLAB = exponents(2, TRUNCATED_ORDER)


def on_a_slab(terms, error=0.0, mean_error=0.0):
    """Return the model of a polynomial in u and w, given by exponents."""
    coefficients = np.zeros((len(SLAB), 1))
    for exponent, value in terms.items():
        coefficients[SLAB.index(exponent)] = value
    return Model(TRUNCATED_ORDER, coefficients, np.full(1, error), np.full(1, mean_error))


def bounds_of_two(guard, below, above, cut_order=4):
    """Return bounds of what is one case where a guard is negative, and another elsewhere."""
    means = Means(2, 1)
    function = Truncated(2, on_a_slab(guard).coefficients, np.zeros(1))
    table, models = {(False,): "below", (True,): "above"}, {"below": below, "above": above}
    means.add(np.zeros(1, int), table, [function], {}, models, cut_order)
    low, high, _ = means.bounds()
    return low[0], high[0]


def test_what_is_unknown_of_a_case_beyond_a_sliver_counts_only_there():
    guard = {(0, 0): 0.99, (0, 1): 1.0}  # negative where w < −0.99, a share of 1/200
    vague, clear = on_a_slab({(0, 0): 1.0}, 1.0, 0.5), on_a_slab({(0, 0): 1.0})
    low, high = bounds_of_two(guard, vague, clear)
    # Below the guard it may be anything between 0 and 2.
    assert low <= 1 - 1 / 200 < 1 + 1 / 200 <= high
    assert high - low < 2.1 / 200
    # Above it nothing helps; errors of 1 at most and 1/2 in the mean are all that is known.
    low, high = bounds_of_two(guard, clear, vague)
    assert high - low == pytest.approx(1.0)


def test_a_sliver_is_cut_where_that_is_better():
    # max(0, w + 0.8): the mean is 1.8² / 4.
    low, high = bounds_of_two(
        {(0, 0): 0.8, (0, 1): 1.0}, on_a_slab({}), on_a_slab({(0, 0): 0.8, (0, 1): 1.0})
    )
    assert low <= 0.81 <= high
    assert high - low < 1e-9
