"""Parts of cells fill them, and nothing else."""

import itertools
from fractions import Fraction

import numpy as np
from integration_oracles import P, Q, R

from residuum.analysis.boxes import Evaluator
from residuum.analysis.cells import evaluated, parted
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


def test_quarters_of_boxes_fill_them_and_keep_their_nodes():
    evaluator = evaluator_of("(P -> Q & R) -> (Q <-> P & P)")
    places = np.array(list(itertools.product([0.125, 0.375, 0.625, 0.875], repeat=3))).T
    cells = evaluated(evaluator, Boxes(places, np.full_like(places, 0.125)), np.zeros(64, int))
    assert len({tuple(pair) for pair in cells.axes.T.tolist()}) > 4
    cells.nodes[:] = np.arange(64)  # so that each part says whose it is
    [(parts, nodes)] = parted(evaluator, cells, upright=None)
    for row in range(64):
        whole = corners(cells.boxes, row)
        quarters = [corners(parts, part) for part in np.flatnonzero(nodes == row)]
        assert len(quarters) == 4
        assert all(is_inside(one, whole) for one in quarters)
        assert all(are_apart(*pair) for pair in itertools.combinations(quarters, 2))
        assert float(parts.volumes[nodes == row].sum()) == float(cells.boxes.volumes[row])


def test_slabs_without_height_are_not_halved_in_height_and_others_once():
    evaluator = evaluator_of("P -> Q & R")
    halves = np.full((3, 2), 0.25)
    halves[2, 1] = 1e-15
    slabs = over(Boxes(np.full((3, 2), 0.5), halves), 2)
    cells = evaluated(evaluator, slabs, np.zeros(2, int))
    cells = cells._replace(axes=np.full((2, 2), 2), nodes=np.arange(2))
    [(parts, nodes)] = parted(evaluator, cells, upright=None)
    tall, flat = (parts.of(nodes == row) for row in range(2))
    assert sorted(tall.half[0].tolist()) == [0.125, 0.125]
    assert tall.bases.halves.tolist() == np.full((2, 2), 0.25).tolist()
    assert flat.half[0].tolist() == slabs.half[0, [1, 1]].tolist()
    assert flat.bases.halves[0].tolist() == [0.125, 0.125]
