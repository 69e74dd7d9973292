"""Coordinates of the unit cube in which lines of poles run along an axis.

A quotient such as p / q or r / (p − q) has no limit where both of its sides vanish, and boxes
around an oblique line of such places must be as short as they are thin. Where x > y > z let x = s,
y = st and z = stu instead: s, t and u run over the whole cube, edges and diagonals of the ordering
become planes and lines parallel to the axes, and the weight s²t often cancels the poles.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple


class Chart(NamedTuple):
    """The part of the cube where these atoms descend, or, seen from 1, their complements do."""

    order: tuple[int, ...] = ()
    from_one: bool = False

    def place(self, coordinates: Sequence[Any], one: Any) -> tuple[list[Any], Any]:
        """Return the atoms in terms of coordinates, and the weight: the volume they stand for."""
        atoms, weight, product = list(coordinates), one, one
        for axis in self.order:
            weight, product = weight * product, product * coordinates[axis]
            atoms[axis] = 1 - product if self.from_one else product
        return atoms, weight


def atlases(axes: int) -> list[list[Chart]]:
    """Return ways to cover the cube by charts, without overlap: as it is, and by orderings."""
    if axes == 1:
        return [[Chart()]]
    orders = list(itertools.permutations(range(axes)))
    return [[Chart()], *([Chart(order, side) for order in orders] for side in (False, True))]
