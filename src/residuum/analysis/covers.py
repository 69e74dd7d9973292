"""The cube covered by charts, and these by boxes or slabs, parted where they are worst."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, final

import numpy as np

from residuum.analysis.boxes import Evaluator
from residuum.analysis.cells import Cells, evaluated, joined, refined
from residuum.analysis.expansions import Boxes
from residuum.analysis.giving_up import NotThisWay
from residuum.analysis.pieces import Leaf, OutOfTime
from residuum.relaxations.arrays import Array

MOST_BOXES, MOST_SLABS = 4_000_000, 1_500_000
"""As many as fit into a gigabyte or so."""

AT_ONCE = 2_000_000
"""Coefficients of the largest polynomial on all boxes that are evaluated together."""

MOST_AT_ONCE = (16384, 8192)
"""Boxes, and slabs, that are parted together."""

BEHIND = 4.0
"""An upright axis is not tried on if its bounds are so many times as wide after half the time."""

FEWEST = 1000
"""So many boxes are parted at a time, for fewer would hardly take less."""


@final
class Cover:
    """Charts that cover the cube, halved into boxes until the bounds are narrow enough.

    Or else cut along guards, into slabs with one axis of each chart upright.
    """

    def __init__(
        self,
        evaluators: Sequence[Evaluator],
        width: float,
        upright: Mapping[Evaluator, int] | None = None,
    ) -> None:
        self._evaluators = evaluators
        self._width = width
        self._upright = {} if upright is None else upright
        half = np.full((evaluators[0].axes, 1), 0.5)
        self._bounds = 0.0, 1.0
        self._take(
            {
                (one, -1): evaluated(one, Boxes(half, half), np.zeros(1, dtype=int))
                for one in evaluators
            }
        )
        self.spent = 0.0
        self._course: list[tuple[float, float]] = []

    def along_guards(self, spend: float, deadline: float) -> list[Cover]:
        """Return the same charts cut along guards, after trying each axis upright for some time.

        A curve of poles lies in the surface of a slab only if its axis fits, and which one does is
        seen from what came of it. If that is not the same for all charts, a further cover has the
        narrowest slabs of each.
        """
        every = self._evaluators
        tried = [
            Cover(every, self._width, dict.fromkeys(every, axis)) for axis in range(every[0].axes)
        ]
        promising = tried
        for share in (0.5, 1.0):
            for one in promising:
                with suppress(NotThisWay):  # what it has found so far holds all the same
                    one.narrow(share * spend, deadline)
            least = {chart: min(one.width_of(chart) for one in tried) for chart in every}
            promising = [
                one
                for one in tried
                if any(one.width_of(chart) <= BEHIND * least[chart] for chart in every)
            ]
        best = {chart: min(tried, key=lambda one: one.width_of(chart)) for chart in every}
        if len({id(one) for one in best.values()}) == 1:
            return tried
        upright = {chart: one._upright[chart] for chart, one in best.items()}
        mixed = Cover(every, self._width, upright)
        mixed._take(
            {
                (chart, vertical): cells
                for one in tried
                for (chart, vertical), cells in one._sheets.items()
                if best[chart] is one
            }
        )
        mixed.spent = max(one.spent for one in tried)
        narrowest = min(tried, key=Cover.width)
        mixed._course = [*narrowest._course, (mixed.spent, mixed.width())]
        return [*tried, mixed]

    def _take(self, sheets: dict[tuple[Evaluator, int], Cells]) -> None:
        """Go on with these cells; bounds from others hold as well, and may be narrower.

        The parts of a slab can be worse than the slab at first.
        """
        self._sheets = sheets
        low = _rounded_sum(np.concatenate([cells.low for cells in sheets.values()]))
        high = -_rounded_sum(-np.concatenate([cells.high for cells in sheets.values()]))
        self._bounds = max(self._bounds[0], low), min(self._bounds[1], high)

    def bounds(self) -> tuple[float, float]:
        """Return bounds of the mean degree."""
        return self._bounds

    def width(self) -> float:
        """Return how far the bounds are apart."""
        low, high = self._bounds
        return high - low

    def width_of(self, evaluator: Evaluator) -> float:
        """Return the same for one chart."""
        return sum(
            float(c.widths.sum()) for (one, _), c in self._sheets.items() if one is evaluator
        )

    def is_done(self) -> bool:
        """Say whether the bounds are narrow enough."""
        return self.width() <= self._width

    def is_full(self) -> bool:
        """Say whether there are too many boxes to go on."""
        number = sum(len(cells.low) for cells in self._sheets.values())
        return number > (MOST_SLABS if self._upright else MOST_BOXES)

    def exact(self) -> Fraction | None:
        """Return the integral if each chart lies in one case, and that is a polynomial."""
        nodes: dict[Evaluator, set[int]] = {}
        for (evaluator, _), cells in self._sheets.items():
            nodes.setdefault(evaluator, set()).update(np.unique(cells.nodes).tolist())
        values = [_exact(evaluator, numbers) for evaluator, numbers in nodes.items()]
        return None if None in values else sum(filter(None, values), Fraction(0))

    def forecast(self, target: float) -> float:
        """Return the logarithm of the time it would take in all to come down to a width.

        The bounds are taken to keep narrowing as they did.
        """
        if not self._course:
            return math.inf
        spent, width = self._course[-1]
        earlier, wider = next(one for one in self._course if one[0] >= spent / 2)
        speed = max(math.log(wider / width) / max(math.log(spent / earlier), 1e-3), 1e-3)
        return math.log(spent) + math.log(max(width / target, 1.0)) / speed

    def to_go(self, target: float) -> float:
        """Return the logarithm of the time it would still take."""
        whole = self.forecast(target)
        spent = math.log(self.spent) if self._course else -math.inf
        return whole + math.log(-math.expm1(min(spent - whole, -1e-9)))

    def narrow(self, spend: float, deadline: float) -> None:
        """Quarter the worst boxes until this much processor time is spent in all, or time is up."""
        began = time.thread_time() - self.spent

        def is_over() -> bool:
            return time.thread_time() - began > spend or time.perf_counter() > deadline

        while not (self.is_done() or self.is_full()) and self.exact() is None:
            widths = np.concatenate([cells.widths for cells in self._sheets.values()])
            least = _least_of_the_worst(widths, self._width)
            sheets: dict[tuple[Evaluator, int], list[Cells]] = {}
            for (evaluator, _), cells in self._sheets.items():
                for part in self._refined(evaluator, cells, least, is_over):
                    sheets.setdefault((evaluator, part.vertical), []).append(part)
            self._take({key: joined(parts) for key, parts in sheets.items()})
            self.spent = time.thread_time() - began
            self._course.append((self.spent, self.width()))
            if is_over():
                break

    def _refined(
        self, evaluator: Evaluator, cells: Cells, least: float, is_over: Callable[[], bool]
    ) -> list[Cells]:
        """Part the cells whose bounds are `least` apart or more, if time allows."""
        widths = cells.widths
        worst = np.flatnonzero(widths >= least)
        found = [cells.of(widths < least)]
        step = min(MOST_AT_ONCE[cells.vertical >= 0], max(64, AT_ONCE // evaluator.cases.largest))
        for first in range(0, len(worst), step):
            parents = cells.of(worst[first : first + step])
            children = [parents]
            if not is_over():
                with suppress(OutOfTime):
                    children = refined(evaluator, parents, self._upright.get(evaluator))
            found.extend(children)
        return [some for some in found if len(some.low)]


def _least_of_the_worst(widths: Array, target: float) -> float:
    """Return the least width among the fewest that make up three quarters of the uncertainty.

    Or twice what there is too much of it, if that is less, for parts are half as wide or better. Or
    among `FEWEST`, if those are more.
    """
    falling, whole = -np.sort(-widths), float(widths.sum())
    wanted = min(0.75 * whole, 2 * (whole - target))
    enough = max(FEWEST, int(np.searchsorted(np.cumsum(falling), wanted)))
    return float(falling[min(enough, len(falling) - 1)])


def _exact(evaluator: Evaluator, numbers: set[int]) -> Fraction | None:
    """Return the integral if all boxes lie in one case, and it is a polynomial."""
    first = evaluator.cases.nodes[next(iter(numbers))]
    return first.integral() if isinstance(first, Leaf) and len(numbers) == 1 else None


def _rounded_sum(values: Any) -> float:
    return math.nextafter(math.fsum(values), -math.inf)
