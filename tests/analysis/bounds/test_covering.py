"""Parts of cells fill them, and nothing else."""

import itertools
import math
from fractions import Fraction

import numpy as np

from integration_oracles import P, Q, R
from residuum.analysis.bounds.covering import Cover, _quartered
from residuum.analysis.bounds.expansions import Boxes
from residuum.analysis.bounds.means import Evaluator
from residuum.analysis.cases.tree import Tree
from residuum.relaxations import relaxation
from residuum.syntax import parse


def evaluator_of(text):
    return Evaluator(Tree(parse(text), [P, Q, R], relaxation("r-product")), 3)


def corners(boxes, row):
    """Return the ends of a box along each axis, in exact numbers."""
    pairs = zip(boxes.centres[:, row].tolist(), boxes.halves[:, row].tolist(), strict=True)
    return [(Fraction(c) - Fraction(h), Fraction(c) + Fraction(h)) for c, h in pairs]


def is_inside(part, whole):
    return all(a <= c and d <= b for (a, b), (c, d) in zip(whole, part, strict=True))


def are_apart(one, other):
    return any(b <= c or d <= a for (a, b), (c, d) in zip(one, other, strict=True))


def test_quarters_of_boxes_fill_them():
    evaluator = evaluator_of("(P -> Q & R) -> (Q <-> P & P)")
    places = np.array(list(itertools.product([0.125, 0.375, 0.625, 0.875], repeat=3))).T
    cells = evaluator.evaluate(Boxes(places, np.full_like(places, 0.125)), np.zeros(64, int))
    assert len({tuple(pair) for pair in cells.axes.T.tolist()}) > 4
    parts = _quartered(evaluator, cells).boxes
    every = [corners(parts, part) for part in range(parts.number)]
    assert len(every) == 256
    for row in range(64):
        whole = corners(cells.boxes, row)
        quarters = [one for one in every if is_inside(one, whole)]
        assert len(quarters) == 4
        assert all(are_apart(*pair) for pair in itertools.combinations(quarters, 2))
        volumes = [math.prod(b - a for a, b in one) for one in quarters]
        assert sum(volumes) == Fraction(float(cells.boxes.volumes[row]))


def test_parts_keep_the_nodes_of_their_cells():
    evaluator = evaluator_of("(P -> Q & R) -> (Q <-> P & P)")
    places = np.array(list(itertools.product([0.25, 0.75], repeat=3))).T
    cells = evaluator.evaluate(Boxes(places, np.full_like(places, 0.25)), np.zeros(8, int))
    decided = np.flatnonzero(cells.nodes)  # parts of these need not go through all cases again
    assert len(decided)
    parts = _quartered(evaluator, cells.of(decided))
    assert (parts.nodes != 0).all()


def test_the_work_of_a_cover_is_the_number_of_boxes_that_it_bounded(monkeypatch):
    evaluator = evaluator_of("(P -> Q & R) -> (Q <-> P & P)")
    evaluate, bounded = Evaluator.evaluate, []

    def follow(one, boxes, starts):
        bounded.append(boxes.number)
        return evaluate(one, boxes, starts)

    monkeypatch.setattr(Evaluator, "evaluate", follow)
    cover = Cover([evaluator], 1e-9)
    before = cover.width()
    cover.refine(10_000, math.inf)
    assert cover.work == sum(bounded) >= 10_000
    assert cover.width() < before


def test_a_cover_whose_time_is_up_stays_as_it_is():
    cover = Cover([evaluator_of("(P -> Q & R) -> (Q <-> P & P)")], 1e-9)
    before = cover.bounds()
    cover.refine(10_000, 0.0)
    assert (cover.bounds(), cover.work) == (before, 1)
