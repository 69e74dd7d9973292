"""Signs of guards that follow from those of others, against exact values at samples."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

from integration_oracles import P, Q, R, random_formula
from residuum.analysis.bounds.expansions import Boxes
from residuum.analysis.bounds.grouping import Cases
from residuum.analysis.cases.charts import Chart
from residuum.analysis.cases.tree import Branch, Tree
from residuum.relaxations import relaxation
from residuum.syntax import parse


def value(guard, place):
    """Return the value of an exact polynomial, term by term."""
    total = Fraction(0)
    for powers, coefficient in guard.terms():
        term = Fraction(int(coefficient.p), int(coefficient.q))
        for power, number in zip(powers, place, strict=True):
            term *= number ** int(power)
        total += term
    return total


def guards_of(tree):
    """Return the guards of the branches that were visited, by name."""
    found, pending = {}, [tree.root]
    while pending:
        node = pending.pop()
        if isinstance(node, Branch):
            found[node.name] = node.guard
            pending.extend(node.children.values())
    return found


def test_a_guard_is_decided_by_one_that_it_touches_along_an_edge():
    # With p = x, r = xz and q = xyz two guards are a = x² − x + y and b = −a − x²(1 − x)z, which
    # are never positive at once, and meet where z is 0 and y = x − x². The slab lies above that.
    formula = parse("~(((P <-> (Q <-> R)) -> ~(R | P)) -> ~R) <-> R & R")
    tree = Tree(formula, [P, Q, R], relaxation("r-product"), Chart(order=(0, 2, 1)))
    # At the edge z = 0 both come close to 0 at once: only a decides b.
    halves = np.array([[2.0**-12], [2.0**-12], [2.0**-30]])
    boxes = Boxes(np.array([[0.5], [0.25 + 2.0**-9], [2.0**-30]]), halves)
    [group] = Cases(tree).groups(boxes, np.zeros(1, int))
    a, b = "x0^2 - x0 + x1", "x0^3*x2 - x0^2*x2 - x0^2 + x0 - x1"
    assert not group.undecided
    assert (group.signs[a], group.signs[b]) == (1, -1)


@pytest.mark.parametrize("seed", [0, 19, 40])
def test_signs_on_a_box_are_those_at_its_places(seed):
    # In the last two of these formulas some of the signs follow from others.
    formula = random_formula(random.Random(seed), [P, Q, R], 10)
    tree = Tree(formula, [P, Q, R], relaxation("r-product"))
    centres = np.array(list(itertools.product((np.arange(8) + 0.5) / 8, repeat=3))).T
    boxes, draw = Boxes(centres, np.full_like(centres, 1 / 16)), random.Random(seed)
    checked = 0
    for group in Cases(tree).groups(boxes, np.zeros(boxes.number, int)):
        guards = guards_of(tree)
        for box in group.which:
            place = [
                Fraction(centre) + Fraction(draw.randrange(-63, 64), 1024)
                for centre in centres[:, box]
            ]
            for name, sign in group.signs.items():
                checked += sign != 0
                assert sign * value(guards[name], place) >= 0
    assert checked > 500


def small_boxes(seed):
    """Return the cases of a random formula, boxes that fill the cube, and what draws places."""
    formula = random_formula(random.Random(seed), [P, Q, R], 10)
    tree = Tree(formula, [P, Q, R], relaxation("r-product"))
    centres = np.array(list(itertools.product((np.arange(16) + 0.5) / 16, repeat=3))).T
    return tree, Boxes(centres, np.full_like(centres, 1 / 32)), random.Random(seed)


def place_and_case(tree, boxes, box, draw):
    """Return an exact place in a box, and the case that holds there."""
    place = [
        Fraction(centre) + Fraction(draw.randrange(-63, 64), 2048)
        for centre in boxes.centres[:, box]
    ]
    node = tree.root
    while isinstance(node, Branch):
        node = tree.child(node, value(node.guard, place) > 0)
    return place, node


@pytest.mark.parametrize("seed", [61, 74, 75])
def test_the_guards_that_matter_tell_the_case_at_each_place_of_a_box(seed):
    tree, boxes, draw = small_boxes(seed)
    cases = Cases(tree)
    checked, fewer = 0, 0
    for group in cases.groups(boxes, np.zeros(boxes.number, int)):
        if group.is_too_open or not group.undecided:
            continue
        names, table = cases.table(group)
        guards = guards_of(tree)
        for box in group.which:
            place, case = place_and_case(tree, boxes, box, draw)
            assert table[tuple(value(guards[name], place) > 0 for name in names)] is case
            checked += 1
            fewer += len(names) < len(group.undecided)
    assert checked > 500
    assert fewer > 50
