"""Coordinates of the unit cube in which lines of poles run along an axis.

The README of `analysis/bounds` says why they help.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

MOST_ORDERED = 4
"""There are too many orderings of more atoms than this."""

MOST_REFLECTED = 3
"""With more atoms than this, all of them are replaced by their complements, or none."""


class Chart(NamedTuple):
    """The part of the cube where the atoms, or complements of some, descend in this order."""

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
    """Return ways to cover the cube by charts, without overlap: as it is, and by orderings."""
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
