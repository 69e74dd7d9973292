"""Parts of cells fill them, and nothing else."""

import itertools
from fractions import Fraction

import numpy as np
from integration_oracles import P, Q, R

from residuum.analysis import cells as module
from residuum.analysis.boxes import Evaluator
from residuum.analysis.cells import Cells, evaluated, parted, refined
from residuum.analysis.expansions import Boxes
from residuum.analysis.pieces import Tree
from residuum.analysis.slabs import over
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
    cells = evaluated(evaluator, Boxes(places, np.full_like(places, 0.125)), np.zeros(64, int))
    assert len({tuple(pair) for pair in cells.axes.T.tolist()}) > 4
    [(parts, parents, are_cut)] = parted(evaluator, cells, upright=None)
    assert not are_cut.any()
    for row in range(64):
        whole = corners(cells.boxes, row)
        quarters = [corners(parts, part) for part in np.flatnonzero(parents == row)]
        assert len(quarters) == 4
        assert all(is_inside(one, whole) for one in quarters)
        assert all(are_apart(*pair) for pair in itertools.combinations(quarters, 2))
        assert float(parts.volumes[parents == row].sum()) == float(cells.boxes.volumes[row])


def test_slabs_without_height_are_not_halved_in_height_and_others_once():
    evaluator = evaluator_of("P -> Q & R")
    halves = np.full((3, 2), 0.25)
    halves[2, 1] = 1e-15
    slabs = over(Boxes(np.full((3, 2), 0.5), halves), 2)
    cells = evaluated(evaluator, slabs, np.zeros(2, int))
    cells = cells._replace(axes=np.full((2, 2), 2))
    [(parts, parents, _)] = parted(evaluator, cells, upright=None)
    tall, flat = (parts.of(parents == row) for row in range(2))
    assert sorted(tall.half[0].tolist()) == [0.125, 0.125]
    assert tall.bases.halves.tolist() == np.full((2, 2), 0.25).tolist()
    assert flat.half[0].tolist() == slabs.half[0, [1, 1]].tolist()
    assert flat.bases.halves[0].tolist() == [0.125, 0.125]


def test_parts_keep_the_nodes_of_their_cells():
    evaluator = evaluator_of("(P -> Q & R) -> (Q <-> P & P)")
    places = np.array(list(itertools.product([0.25, 0.75], repeat=3))).T
    cells = evaluated(evaluator, Boxes(places, np.full_like(places, 0.25)), np.zeros(8, int))
    decided = np.flatnonzero(cells.nodes)  # parts of these need not go through all cases again
    assert len(decided)
    [parts] = refined(evaluator, cells.of(decided), upright=None)
    assert (parts.nodes != 0).all()


def test_a_cut_that_makes_bounds_worse_is_undone_and_the_cell_halved_next(monkeypatch):
    evaluator = evaluator_of("P & Q -> R & R")  # the guard R² = PQ crosses both of these
    halves = np.array([[1 / 32], [1 / 32], [1 / 4]]) * np.ones(2)
    boxes = Boxes(np.array([[0.5, 0.25], [0.5, 0.25], [0.5, 0.25]]), halves)
    cells = evaluated(evaluator, boxes, np.zeros(2, int))
    [parts] = parted(evaluator, cells, upright=2)
    assert parts.are_cut.all()

    def widened(evaluator, boxes, nodes):
        found = evaluated(evaluator, boxes, nodes)
        factor = np.where(boxes.bases.centres[0] == 0.5, 1.0, 1e9)
        return found._replace(high=found.low + factor * found.widths)

    monkeypatch.setattr(module, "evaluated", widened)
    held, kept = refined(evaluator, cells, upright=2)
    assert held.boxes.centres.tolist() == boxes.centres[:, 1:].tolist()
    assert (held.low, held.high) == (cells.low[1], cells.high[1])
    assert kept.boxes.bases.centres[0].tolist() == [0.5, 0.5]
    [halves] = parted(evaluator, held, upright=2)
    assert not halves.are_cut.any()


def test_cuts_that_change_nothing_yet_are_kept():
    # Where nothing is known of a cell, its parts are no better until they are parted again.
    evaluator = evaluator_of("P & Q -> R & R")
    boxes = Boxes(np.full((3, 1), 0.5), np.array([[1 / 32], [1 / 32], [1 / 4]]))
    cells = evaluated(evaluator, boxes, np.zeros(1, int))
    [parts] = parted(evaluator, cells, upright=2)
    exact = evaluated(evaluator, parts.boxes, np.zeros(2, int))
    cells = Cells(
        cells.boxes, exact.low.sum(keepdims=True), exact.high.sum(keepdims=True), *cells[3:]
    )
    assert sum(len(found.low) for found in refined(evaluator, cells, upright=2)) == 2
