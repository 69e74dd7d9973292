"""The unit cube covered by charts, and each chart by boxes that are halved where they are worst."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import final

import numpy as np

from residuum.analysis.bounds.expansions import Boxes
from residuum.analysis.bounds.means import BoundedBoxes, Evaluator
from residuum.analysis.cases.tree import Leaf, OutOfTime
from residuum.relaxations.arrays import Array

AT_ONCE, MOST_AT_ONCE = 2_000_000, 16_384
"""The most coefficients of a polynomial on boxes evaluated together, and the most boxes."""

FEWEST = 1000
"""The fewest boxes that are quartered at a time. Fewer would hardly be faster."""


def _quartered(evaluator: Evaluator, cells: BoundedBoxes) -> BoundedBoxes:
    """Return the quarters of each box with their bounds. The halves need no bounds."""
    quarters, nodes = [], []
    for first, second in itertools.product(range(evaluator.axes), repeat=2):
        rows = np.flatnonzero((cells.axes[0] == first) & (cells.axes[1] == second))
        quarters.append(cells.boxes.of(rows).halved(first).halved(second))
        nodes.append(np.tile(cells.nodes[rows], 4))
    return evaluator.evaluate(quarters[0].joined(quarters[1:]), np.concatenate(nodes))


@final
class Cover:
    """Charts that cover the cube, each cut into boxes. `work` counts all boxes bounded so far."""

    def __init__(self, evaluators: Sequence[Evaluator], width: float) -> None:
        half = np.full((evaluators[0].axes, 1), 0.5)
        self._width = width
        self._cells = {
            one: one.evaluate(Boxes(half, half), np.zeros(1, dtype=int)) for one in evaluators
        }
        self.work = len(evaluators)

    def bounds(self) -> tuple[float, float]:
        """Return bounds of the mean degree."""
        low, high = (
            np.concatenate([one[place] for one in self._cells.values()]) for place in (1, 2)
        )
        return max(0.0, _rounded_down(low)), min(1.0, -_rounded_down(-high))

    def width(self) -> float:
        """Return the distance between the bounds of the mean degree."""
        low, high = self.bounds()
        return high - low

    def exact(self) -> Fraction | None:
        """Return the integral if the degree is one polynomial on each chart, else None."""
        total = Fraction(0)
        for evaluator, cells in self._cells.items():
            numbers = np.unique(cells.nodes)
            node = evaluator.cases.nodes[numbers[0]]
            value = node.integral() if isinstance(node, Leaf) and len(numbers) == 1 else None
            if value is None:
                return None
            total += value
        return total

    def is_done(self) -> bool:
        """Return whether the value is known, or its bounds are narrow enough."""
        return self.width() <= self._width or self.exact() is not None

    def refine(self, work: int, deadline: float) -> None:
        """Quarter the boxes with the widest bounds, until `work` boxes were bounded in all."""
        while not (self.is_done() or self.work >= work or time.perf_counter() > deadline):
            widths = np.concatenate([one.high - one.low for one in self._cells.values()])
            least = _least_of_the_worst(widths, self._width)
            for evaluator, cells in self._cells.items():
                worst = np.flatnonzero(cells.high - cells.low >= least)
                rest = np.setdiff1d(np.arange(len(cells.low)), worst)
                found = [cells.of(rest)]
                step = min(MOST_AT_ONCE, max(64, AT_ONCE // evaluator.cases.largest))
                for start in range(0, len(worst), step):
                    some = cells.of(worst[start : start + step])
                    if self.work < work and time.perf_counter() <= deadline:
                        with suppress(OutOfTime):
                            some = _quartered(evaluator, some)
                            self.work += len(some.low)
                    found.append(some)
                self._cells[evaluator] = found[0].joined(found[1:])


def _least_of_the_worst(widths: Array, target: float) -> float:
    """Return the least width of the boxes to quarter.

    These are the fewest boxes that make up three quarters of the total width, or twice its excess
    over the target if that is less.
    """
    falling, whole = -np.sort(-widths), float(widths.sum())
    wanted = min(0.75 * whole, 2 * (whole - target))
    enough = max(FEWEST, int(np.searchsorted(np.cumsum(falling), wanted)))
    return float(falling[min(enough, len(falling) - 1)])


def _rounded_down(values: Array) -> float:
    return math.nextafter(math.fsum(values), -math.inf)
