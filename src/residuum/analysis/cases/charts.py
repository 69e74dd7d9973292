"""Coordinates of the unit cube in which lines of poles run along an axis.

The README of `analysis/bounds` says why they help.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

MOST_ORDERED = 4
"""The most atoms whose orderings are used. More atoms have too many."""

MOST_REFLECTED = 3
"""The most atoms of which some are replaced by their complements. Else it is all or none."""


class Chart(NamedTuple):
    """The part of the cube where the atoms, some of them complemented, descend in this order."""

    order: tuple[int, ...] = ()
    complemented: tuple[int, ...] = ()

    def place(self, coordinates: Sequence[Any], one: Any) -> tuple[list[Any], Any]:
        """Return the atoms in terms of coordinates, and the weight: the volume they stand for."""
        atoms, weight, product = list(coordinates), one, one
        for axis in self.order:
            weight, product = weight * product, product * coordinates[axis]
            atoms[axis] = 1 - product if axis in self.complemented else product
        return atoms, weight


def atlases(axes: int) -> list[list[Chart]]:
    """Return the atlases of the cube: the cube itself, and its orderings.

    An atlas is a list of charts that cover the cube without overlap.
    """
    if not 1 < axes <= MOST_ORDERED:
        return [[Chart()]]
    every = tuple(range(axes))
    sizes = [0, axes, *(range(1, axes) if axes <= MOST_REFLECTED else ())]
    return [
        [Chart()],
        *(
            [Chart(order, complemented) for order in itertools.permutations(every)]
            for size in sizes
            for complemented in itertools.combinations(every, size)
        ),
    ]
