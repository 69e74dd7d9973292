"""Certified bounds for rational logics such as R-Product: boxes, halved where they are worst.

Nobody knows beforehand in which coordinates the boxes are fewest, so that ways to cover the cube
compete: each has a short time to show how fast its bounds narrow, and the best goes on. The bounds
of all of them hold.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np

from residuum.analysis.boxes import ORDERS, Evaluator
from residuum.analysis.charts import atlases
from residuum.analysis.expansions import Boxes
from residuum.analysis.giving_up import NotThisWay
from residuum.analysis.pieces import Leaf, OutOfTime, Tree
from residuum.logic import Atom, Formula
from residuum.relaxations import Relaxation
from residuum.relaxations.arrays import Array

MOST_BOXES = 3_000_000
AT_ONCE = 1_000_000
"""Coefficients of the largest polynomial on all boxes that are evaluated together."""

TRIAL = 1 / 240
"""The share of the time in which each way to cover the cube is tried: 1/4 second at most."""

EARLY, HOPELESS = 1 / 10, 10
"""Bounds are given up after this share of the time if they would take so many times all of it."""


def enclose(
    formula: Formula,
    atoms: Sequence[Atom],
    relaxation: Relaxation,
    *,
    width: float,
    seconds: float,
    useful: float = 1.0,
) -> Fraction | tuple[float, float]:
    """Return bounds of the mean degree, narrowed until they are `width` apart or time is up.

    Where the degree turns out to be one polynomial almost everywhere, return its integral. Where
    it soon looks as if the bounds would never be `useful`, give up.
    """
    axes = len(atoms)
    if axes > max(ORDERS):
        raise NotThisWay(f"bounding the cube of more than {max(ORDERS)} atoms takes too long")
    began = time.perf_counter()
    deadline = began + seconds
    trial = min(0.25, seconds * TRIAL)
    covers: list[_Cover] = []
    for atlas in atlases(axes):
        try:
            trees = [Tree(formula, atoms, relaxation, one, deadline=deadline) for one in atlas]
            cover = _Cover([Evaluator(tree, axes) for tree in trees], width)
            cover.narrow(trial, deadline)
        except OutOfTime:
            break
        except NotThisWay:
            if not covers:
                raise
            continue
        covers.append(cover)
        value = cover.exact()
        if value is not None:
            return value
        if cover.is_done():
            break
    left = covers
    while left and not any(cover.is_done() for cover in covers) and time.perf_counter() < deadline:
        left = sorted(left, key=lambda cover: cover.forecast(width))[: math.ceil(len(left) / 2)]
        if time.perf_counter() > began + EARLY * seconds:
            soonest = min(cover.forecast(useful) for cover in left)
            if soonest > math.log(HOPELESS * seconds):
                raise NotThisWay(f"its certified bounds would stay wider than {useful:g}")
        trial = 2 * trial
        for cover in tuple(left):
            try:
                cover.narrow(trial, deadline)
            except NotThisWay:  # what it has found so far holds all the same
                left.remove(cover)
            value = cover.exact()
            if value is not None:
                return value
            if cover.is_done():
                break
    bounds = [cover.bounds() for cover in covers]
    return (
        max([0.0, *(low for low, _ in bounds)]),
        min([1.0, *(high for _, high in bounds)]),
    )


@final
class _Cover:
    """Charts that cover the cube, halved into boxes until the bounds are narrow enough."""

    def __init__(self, evaluators: Sequence[Evaluator], width: float) -> None:
        self._evaluators = evaluators
        self._width = width
        half = np.full((evaluators[0].axes, 1), 0.5)
        self._cells = [
            _evaluated(one, Boxes(half, half), np.zeros(1, dtype=int)) for one in evaluators
        ]
        self._spent = 0.0
        self._course: list[tuple[float, float]] = []

    def bounds(self) -> tuple[float, float]:
        """Return bounds of the mean degree."""
        low = _rounded_sum(np.concatenate([cells.low for cells in self._cells]))
        return low, -_rounded_sum(-np.concatenate([cells.high for cells in self._cells]))

    def is_done(self) -> bool:
        """Say whether there is nothing left to do."""
        low, high = self.bounds()
        return high - low <= self._width or sum(len(c.low) for c in self._cells) > MOST_BOXES

    def exact(self) -> Fraction | None:
        """Return the integral if each chart lies in one case, and that is a polynomial."""
        values = [
            _exact(evaluator, cells.nodes)
            for evaluator, cells in zip(self._evaluators, self._cells, strict=True)
        ]
        return None if None in values else sum(filter(None, values), Fraction(0))

    def forecast(self, target: float) -> float:
        """Return the logarithm of the time it would take in all to come down to a width.

        The bounds are taken to keep narrowing as they did.
        """
        spent, width = self._course[-1]
        earlier, wider = next(one for one in self._course if one[0] >= spent / 2)
        speed = math.log(wider / width) / max(math.log(spent / earlier), 1e-3)
        return math.log(spent) + math.log(max(width / target, 1.0)) / max(speed, 1e-3)

    def narrow(self, spend: float, deadline: float) -> None:
        """Halve the worst boxes until this much processor time is spent in all, or time is up."""
        began = time.thread_time() - self._spent

        def is_over() -> bool:
            return time.thread_time() - began > spend or time.perf_counter() > deadline

        while not self.is_done() and self.exact() is None:
            least = _least_of_the_worst(np.concatenate([c.high - c.low for c in self._cells]))
            for place, evaluator in enumerate(self._evaluators):
                self._cells[place] = _refined(evaluator, self._cells[place], least, is_over)
            self._spent = time.thread_time() - began
            low, high = self.bounds()
            self._course.append((self._spent, high - low))
            if is_over():
                break


class _Cells(NamedTuple):
    """Boxes, bounds of the integral over each, the axis to halve next, and their case so far."""

    boxes: Boxes
    low: Array
    high: Array
    axis: Any
    nodes: Any

    def of(self, which: Any) -> _Cells:
        return _Cells(self.boxes.of(which), *(part[which] for part in self[1:]))


def _joined(parts: Sequence[_Cells]) -> _Cells:
    boxes = (np.concatenate(both, axis=1) for both in zip(*(p.boxes for p in parts), strict=True))
    rest = (np.concatenate(column) for column in zip(*(part[1:] for part in parts), strict=True))
    return _Cells(Boxes(*boxes), *rest)


def _evaluated(evaluator: Evaluator, boxes: Boxes, nodes: Any) -> _Cells:
    with np.errstate(all="ignore"):  # what is not finite counts as unknown
        bounds, nodes = evaluator.evaluate(boxes, nodes)
    volume = np.prod(2 * boxes.halves, axis=0)  # a power of 2: exact
    axis = np.argmax(bounds.blame, axis=0)
    return _Cells(boxes, bounds.low * volume, bounds.high * volume, axis, nodes)


def _halved(cells: _Cells) -> tuple[Boxes, Any]:
    """Return both halves of each box, without rounding."""
    rows = np.arange(len(cells.axis))
    halves, shift = cells.boxes.halves.copy(), np.zeros_like(cells.boxes.halves)
    halves[cells.axis, rows] /= 2
    shift[cells.axis, rows] = halves[cells.axis, rows]
    centres = np.concatenate([cells.boxes.centres - shift, cells.boxes.centres + shift], axis=1)
    return Boxes(centres, np.tile(halves, 2)), np.tile(cells.nodes, 2)


def _refined(
    evaluator: Evaluator, cells: _Cells, least: float, is_over: Callable[[], bool]
) -> _Cells:
    """Return the cells with those halved whose bounds are `least` apart or more, if time allows."""
    widths = cells.high - cells.low
    worst = np.flatnonzero(widths >= least)
    parts = [cells.of(widths < least)]
    step = min(8192, max(64, AT_ONCE // evaluator.largest))
    for first in range(0, len(worst), step):
        parents = cells.of(worst[first : first + step])
        if not is_over():
            with suppress(OutOfTime):
                parents = _evaluated(evaluator, *_halved(parents))
        parts.append(parents)
    return _joined(parts)


def _least_of_the_worst(widths: Array) -> float:
    """Return the least width among the fewest that make up three quarters of the uncertainty."""
    falling = -np.sort(-widths)
    enough = int(np.searchsorted(np.cumsum(falling), 0.75 * widths.sum()))
    return float(falling[min(enough, len(falling) - 1)])


def _exact(evaluator: Evaluator, nodes: Any) -> Fraction | None:
    """Return the integral if all boxes lie in one case, and it is a polynomial."""
    only = evaluator.nodes[nodes[0]]
    return only.integral() if isinstance(only, Leaf) and (nodes == nodes[0]).all() else None


def _rounded_sum(values: Any) -> float:
    return math.nextafter(math.fsum(values), -math.inf)
