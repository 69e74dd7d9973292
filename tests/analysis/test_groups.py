"""Signs of guards that follow from those of others, against exact values at samples."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from integration_oracles import P, Q, R, random_formula

from residuum.analysis.charts import Chart
from residuum.analysis.expansions import Boxes, exponents
from residuum.analysis.groups import Cases, _table
from residuum.analysis.pieces import Branch, Tree
from residuum.analysis.slabs import SURFACE_ORDER, Slabs
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
    places = {k: i for i, k in enumerate(exponents(2, SURFACE_ORDER))}
    centre, half, gap = 0.5625, 0.0625, 1e-12
    bottom = np.zeros((len(places), 1))
    bottom[places[0, 0]] = centre - centre**2 + gap
    bottom[places[1, 0]] = (1 - 2 * centre) * half
    bottom[places[2, 0]] = -(half**2)
    top = bottom.copy()
    top[0] += 0.2
    base = Boxes(np.array([[centre], [half]]), np.full((2, 1), half))
    [group] = Cases(tree).groups(Slabs(1, base, bottom, top, np.full(1, 1e-14)), np.zeros(1, int))
    assert not group.undecided
    a, b = "x0^2 - x0 + x1", "x0^3*x2 - x0^2*x2 - x0^2 + x0 - x1"
    assert (group.signs[a], group.signs[b]) == (1, -1)
    guards, draw = guards_of(tree), random.Random(5)
    for _ in range(100):
        x, z, up = (Fraction(draw.randrange(129), 128) for _ in range(3))
        x, z = (1 + x / 4) / 2, z / 8
        place = (x, x - x**2 + Fraction(gap) + up / 5, z)
        assert value(guards[a], place) > 0 > value(guards[b], place)


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


@pytest.mark.parametrize("seed", [61, 74])
def test_cases_at_the_places_of_a_box_are_among_those_it_reaches(seed):
    tree, boxes, draw = small_boxes(seed)
    cases = Cases(tree)
    checked, fewer = 0, 0
    for group in cases.groups(boxes, np.zeros(boxes.number, int), 8):
        if len(group.undecided) < 4 or group.is_too_open:
            continue
        reached = cases.reached(group)
        fewer += len(reached) < 2 ** len(group.undecided)
        for box in group.which:
            for _ in range(5):
                _, case = place_and_case(tree, boxes, box, draw)
                assert case in reached
                checked += 1
    assert checked > 100
    assert fewer


@pytest.mark.parametrize("seed", [61, 74, 75])
def test_few_guards_tell_the_case_at_each_place_of_a_box(seed):
    tree, boxes, draw = small_boxes(seed)
    cases = Cases(tree)
    checked = 0
    for group in cases.groups(boxes, np.zeros(boxes.number, int), 8):
        found = None if group.is_too_open else cases.table(group)
        if found is None or len(group.undecided) <= len(found[0]):
            continue
        names, table = found
        guards = guards_of(tree)
        for box in group.which:
            place, case = place_and_case(tree, boxes, box, draw)
            assert table[tuple(value(guards[name], place) > 0 for name in names)] is case
            checked += 1
    assert checked > 50


def test_cases_that_no_three_guards_tell_apart_have_no_table():
    names = ["a", "b", "c", "d"]
    every = itertools.product((-1, 1), repeat=4)
    paths = [(dict(zip(names, signs, strict=True)), object()) for signs in every]
    assert _table(paths, names) is None


def test_signs_that_guards_never_have_lead_to_a_case_nearby():
    one, other = object(), object()
    # a decides; where it is positive so is b, and that leads to the same case.
    paths = [({"a": -1, "b": 0}, one), ({"a": 1, "b": 1}, other)]
    assert _table(paths, ["a", "b"]) == (("a",), {(False,): one, (True,): other})
    third = object()
    paths = [({"a": -1, "b": -1}, one), ({"a": 1, "b": -1}, other), ({"a": 1, "b": 1}, third)]
    names, table = _table(paths, ["a", "b"])
    assert names == ("a", "b")
    assert [table[sides] for sides in ((False, False), (True, False), (True, True))] == [
        one,
        other,
        third,
    ]
    assert table[False, True] in (one, third)
