"""Charts of the cube, with derivatives and integrals taken exactly on fractions."""

import itertools
import math
import random
from fractions import Fraction

import mpmath
import pytest

from residuum.analysis.bounds import boxes
from residuum.analysis.cases.charts import Chart, atlases
from residuum.logic import Atom, atoms_of
from residuum.relaxations import relaxation
from residuum.syntax import parse

AXES = (1, 2, 3, 4, 5)
ATLASES = [(axes, place) for axes in AXES for place in range(len(atlases(axes)))]


def determinant(rows):
    if not rows:
        return Fraction(1)
    return sum(
        (-1) ** i * row[0] * determinant([r[1:] for r in rows[:i] + rows[i + 1 :]])
        for i, row in enumerate(rows)
    )


@pytest.mark.parametrize(("axes", "place"), ATLASES)
def test_the_weight_is_the_determinant_of_the_derivatives(axes, place):
    rng = random.Random(axes)
    for chart in atlases(axes)[place]:
        point = [Fraction(rng.randint(1, 98), 99) for _ in range(axes)]
        atoms, weight = chart.place(point, Fraction(1))
        # Atoms are linear in each coordinate, so that differences are derivatives.
        rows = []
        for axis in range(axes):
            moved = [value + (axis == other) for other, value in enumerate(point)]
            there, _ = chart.place(moved, Fraction(1))
            rows.append([b - a for a, b in zip(atoms, there, strict=True)])
        assert abs(determinant(rows)) == weight > 0


@pytest.mark.parametrize(("axes", "place"), ATLASES)
def test_charts_of_an_atlas_do_not_overlap_and_fill_the_cube(axes, place):
    rng = random.Random(axes)
    charts = atlases(axes)[place]
    assert len({chart.order for chart in charts}) == len(charts)
    volume = Fraction(0)
    for chart in charts:
        point = [Fraction(rng.randint(1, 98), 99) for _ in range(axes)]
        atoms, _ = chart.place(point, Fraction(1))
        seen = [
            1 - atoms[axis] if axis in chart.complemented else atoms[axis] for axis in chart.order
        ]
        assert all(0 < value < 1 for value in atoms)
        assert seen == sorted(seen, reverse=True)
        # Simpson's rule is exact up to cubes, and no coordinate has a higher power in the weight.
        rule = ((Fraction(0), 1), (Fraction(1, 2), 4), (Fraction(1), 1))
        for nodes in itertools.product(rule, repeat=axes):
            _, weight = chart.place([at for at, _ in nodes], Fraction(1))
            volume += weight * math.prod(share for _, share in nodes) / Fraction(6) ** axes
    assert volume == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("P <-> Q", Fraction(1, 2)),
        ("(~P -> ~Q) -> (Q -> P)", (2 + mpmath.log(2)) / 3),  # docs/theory/consistency.md
        ("(P -> Q) <-> (P <-> P & Q)", Fraction(2, 3)),  # max(p, q)
        ("(P -> (Q -> R)) -> ((P -> Q) -> (P -> R))", Fraction(14, 15)),
    ],
)
def test_bounds_hold_in_each_atlas_alone(monkeypatch, text, value):
    formula = parse(text)
    atoms = atoms_of(formula)
    for atlas in atlases(len(atoms)):
        low, high = bounds_in(monkeypatch, atlas, formula, width=1e-2)
        assert low <= value <= high
        assert high - low <= 1e-2


@pytest.mark.parametrize("complemented", [(), (0, 1, 2)])
def test_poles_along_an_oblique_line_do_no_harm_in_orderings(monkeypatch, complemented):
    # 1 where p < r; else 1 − r/p = a is uniform, and min(1, q/a) has the mean 1 − a/2 over q:
    # 1/2 + 1/2 · 3/4. The poles lie on p = r, q = 0.
    formula = parse("~(P -> R) -> Q")
    atlas = [Chart(order, complemented) for order in itertools.permutations(range(3))]
    low, high = bounds_in(monkeypatch, atlas, formula, width=1e-7)
    assert low <= Fraction(7, 8) <= high
    assert high - low <= 1e-7


def test_poles_where_an_atom_meets_a_complement_do_no_harm_once_it_is_complemented(monkeypatch):
    # The same with p replaced by 1 − p, and poles on p + r = 1, q = 0.
    formula = parse("~(~P -> R) -> Q")
    place = atoms_of(formula).index(Atom("P"))
    atlas = next(one for one in atlases(3) if one[0].complemented == (place,))
    low, high = bounds_in(monkeypatch, atlas, formula, width=1e-7)
    assert low <= Fraction(7, 8) <= high
    assert high - low <= 1e-7


def bounds_in(monkeypatch, atlas, formula, width):
    monkeypatch.setattr(boxes, "atlases", lambda _axes: [atlas])
    found = boxes.enclose(formula, atoms_of(formula), relaxation("r-product"), width=width)
    return found if isinstance(found, tuple) else (found, found)
