"""Certified bounds for rational logics such as R-Product: boxes, halved where they are worst."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from residuum.analysis.boxes import ORDERS, Evaluator
from residuum.analysis.expansions import Boxes
from residuum.analysis.giving_up import NotThisWay
from residuum.analysis.pieces import Leaf, Tree
from residuum.logic import Atom, Formula
from residuum.relaxations import Relaxation
from residuum.relaxations.arrays import Array

MOST_BOXES = 3_000_000
AT_ONCE = 1_000_000
"""Coefficients of the largest polynomial on all boxes that are evaluated together."""


def enclose(
    formula: Formula,
    atoms: Sequence[Atom],
    relaxation: Relaxation,
    *,
    width: float,
    seconds: float,
) -> Fraction | tuple[float, float]:
    """Return bounds of the mean degree, narrowed until they are `width` apart or time is up.

    Where the degree turns out to be one polynomial almost everywhere, return its integral.
    """
    axes = len(atoms)
    if axes > max(ORDERS):
        raise NotThisWay(f"bounding the cube of more than {max(ORDERS)} atoms takes too long")
    deadline = time.perf_counter() + seconds
    evaluator = Evaluator(Tree(formula, atoms, relaxation), axes)
    half = np.full((axes, 1), 0.5)
    cells = _evaluated(evaluator, Boxes(half, half), np.zeros(1, dtype=int))
    while True:
        value = _exact(evaluator, cells.nodes)
        if value is not None:
            return value
        low, high = _rounded_sum(cells.low), -_rounded_sum(-cells.high)
        enough = high - low <= width or len(cells.low) > MOST_BOXES
        if enough or time.perf_counter() > deadline:
            return max(0.0, low), min(1.0, high)
        worst, others = _worst(cells.high - cells.low)
        parts = [cells.of(others)]
        step = min(8192, max(64, AT_ONCE // evaluator.largest))
        for first in range(0, len(worst), step):
            parents = cells.of(worst[first : first + step])
            if time.perf_counter() < deadline:
                parents = _evaluated(evaluator, *_halved(parents))
            parts.append(parents)
        cells = _joined(parts)


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


def _worst(widths: Array) -> tuple[Any, Any]:
    """Return the fewest boxes that make up three quarters of the uncertainty, and the others."""
    order = np.argsort(-widths)
    enough = int(np.searchsorted(np.cumsum(widths[order]), 0.75 * widths.sum())) + 1
    return order[:enough], order[enough:]


def _exact(evaluator: Evaluator, nodes: Any) -> Fraction | None:
    """Return the integral if all boxes lie in one case, and it is a polynomial."""
    only = evaluator.nodes[nodes[0]]
    return only.integral() if isinstance(only, Leaf) and (nodes == nodes[0]).all() else None


def _rounded_sum(values: Any) -> float:
    return math.nextafter(math.fsum(values), -math.inf)
