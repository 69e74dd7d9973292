"""The method "simplices": piecewise linear logics, by splitting the unit cube into simplices.

A number is a linear function on one simplex, given by its values at the corners. Where a truth
function has a kink or a jump inside the simplex, the simplex is cut along it and the parts are
tried again. On a simplex without such a place the formula's degree is linear, and its integral is
the mean of the corners times the volume.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, final

from residuum.analysis.methods import (
    NotThisWay,
    RestrictedCarrier,
    RestrictedNumber,
)
from residuum.logic import Atom, Formula, distinct_nodes
from residuum.relaxations import Degree, Relaxation, interpret
from residuum.relaxations.carriers import Exact

MOST_SIMPLICES = 20_000
"""The most simplices into which the cube is cut."""

MOST_WORK = 200_000
"""The most simplices times nodes of the formula: a few seconds."""

Point = tuple[Fraction, ...]


class _Simplex(NamedTuple):
    corners: tuple[Point, ...]
    volume: Fraction


def integrate_piecewise_linear(
    formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation
) -> Fraction:
    """Return the mean degree where it is a piecewise linear function of the atoms' degrees."""
    most = min(MOST_SIMPLICES, MOST_WORK // len(distinct_nodes(formula)))
    total = Fraction(0)
    pending = list(_cube(len(atoms)))
    for _ in range(most):
        if not pending:
            return total
        simplex = pending.pop()
        try:
            degree = _degree_on(simplex, formula, atoms, relaxation)
        except _Cut as cut:
            pending.extend(_cut_simplex(simplex, cut.function))
        else:
            total += simplex.volume * sum(degree.values, start=Fraction(0)) / len(degree.values)
    raise NotThisWay(f"the cube would be cut into more than {most:,} simplices")


def _cube(dimension: int) -> list[_Simplex]:
    """Return the unit cube as one simplex for each order of the coordinates."""
    simplices = []
    for order in itertools.permutations(range(dimension)):
        corners = [
            tuple(Fraction(int(axis in order[:count])) for axis in range(dimension))
            for count in range(dimension + 1)
        ]
        simplices.append(_Simplex(tuple(corners), Fraction(1, math.factorial(dimension))))
    return simplices


def _degree_on(
    simplex: _Simplex, formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation
) -> _Linear:
    on = _LinearFunctions(len(simplex.corners))
    known = {
        atom: Degree(on, true=_Linear(tuple(corner[axis] for corner in simplex.corners)))
        for axis, atom in enumerate(atoms)
    }
    degree: _Linear = interpret(formula, known, relaxation, on).true
    return degree


class _Cut(Exception):  # noqa: N818  # control flow, not an error
    """The simplex must be cut where this linear function is zero."""

    def __init__(self, function: _Linear) -> None:
        super().__init__()
        self.function = function


def _cut_simplex(simplex: _Simplex, function: _Linear) -> list[_Simplex]:
    """Cut a simplex until the function has one sign on each part, an edge at a time."""
    done, pending = [], [(simplex, function.values)]
    while pending:
        (corners, volume), values = pending.pop()
        low, high = min(values), max(values)
        if low >= 0 or high <= 0:
            done.append(_Simplex(corners, volume))
            continue
        i, j = values.index(low), values.index(high)
        share = low / (low - high)  # where the edge from i to j crosses zero
        crossing = tuple(a + share * (b - a) for a, b in zip(corners[i], corners[j], strict=True))
        for replaced, part in ((j, share), (i, 1 - share)):
            cut_corners, cut_values = list(corners), list(values)
            cut_corners[replaced], cut_values[replaced] = crossing, Fraction(0)
            pending.append((_Simplex(tuple(cut_corners), volume * part), tuple(cut_values)))
    return done


@final
class _Linear(RestrictedNumber):
    """A linear function on a simplex, by its values at the corners."""

    __slots__ = ("values",)

    def __init__(self, values: tuple[Fraction, ...]) -> None:
        self.values = values

    def _like(self, other: Any) -> tuple[Fraction, ...]:
        return other.values if isinstance(other, _Linear) else (Fraction(other),) * len(self.values)

    def __add__(self, other: Any) -> _Linear:
        return _Linear(tuple(a + b for a, b in zip(self.values, self._like(other), strict=True)))

    def __neg__(self) -> _Linear:
        return _Linear(tuple(-a for a in self.values))

    def __sub__(self, other: Any) -> _Linear:
        return _Linear(tuple(a - b for a, b in zip(self.values, self._like(other), strict=True)))

    def __rsub__(self, other: Any) -> _Linear:
        return _Linear(tuple(b - a for a, b in zip(self.values, self._like(other), strict=True)))

    def __mul__(self, other: Any) -> _Linear:
        if isinstance(other, _Linear):
            raise NotThisWay("its truth functions are not piecewise linear")
        return _Linear(tuple(a * Fraction(other) for a in self.values))

    __radd__, __rmul__ = __add__, __mul__


@final
class _LinearFunctions(RestrictedCarrier):
    what = "piecewise linear"

    def __init__(self, corners: int) -> None:
        self._corners = corners

    def constant(self, value: Exact) -> _Linear:
        return _Linear((Fraction(value),) * self._corners)

    def minimum(self, x: _Linear, y: _Linear) -> _Linear:
        return self.choose(x, y, x, y)

    def maximum(self, x: _Linear, y: _Linear) -> _Linear:
        return self.choose(x, y, y, x)

    def excess(self, x: _Linear, y: _Linear) -> _Linear:
        return self.choose(x, y, self.constant(0), x - y)

    def choose(self, x: _Linear, y: _Linear, then: _Linear, otherwise: _Linear) -> _Linear:
        gap = x - y
        if max(gap.values) <= 0:
            return then
        if min(gap.values) >= 0:
            return otherwise  # x = y on a face only, which has no volume
        raise _Cut(gap)
