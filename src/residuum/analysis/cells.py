"""Boxes and slabs with bounds of the integral over each, and how they are parted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from residuum.analysis.boxes import Evaluator
from residuum.analysis.groups import Domain
from residuum.analysis.slabs import Slabs, is_above, over
from residuum.analysis.surfaces import advise
from residuum.relaxations.arrays import Array

WORSE = 2.0
"""A cut is undone that makes bounds so many times as wide."""

EASED = 4.0
"""What halving along an axis divides its blame by, more or less."""


class Cells(NamedTuple):
    """Boxes, bounds of the integral over each, two axes to halve next, and their case so far.

    For `cuts` see `Bounds`.
    """

    boxes: Domain
    low: Array
    high: Array
    axes: Any
    nodes: Any
    cuts: Any

    def of(self, which: Any) -> Cells:
        """Return some of them."""
        return Cells(
            self.boxes.of(which),
            self.low[which],
            self.high[which],
            self.axes[:, which],
            self.nodes[which],
            self.cuts[:, which],
        )

    @property
    def widths(self) -> Array:
        """How far the bounds are apart."""
        return self.high - self.low

    @property
    def vertical(self) -> int:
        """The vertical axis of slabs, or −1."""
        return vertical(self.boxes)


def vertical(boxes: Domain) -> int:
    """Return the vertical axis of slabs, or −1 for boxes."""
    return boxes.vertical if isinstance(boxes, Slabs) else -1


def joined(parts: Sequence[Cells]) -> Cells:
    """Return cells that are all boxes, or all slabs with the same vertical axis, as one."""
    return Cells(
        _joined([part.boxes for part in parts]),
        *(np.concatenate(column, axis=-1) for column in zip(*(p[1:] for p in parts), strict=True)),
    )


def _joined(parts: Sequence[Any]) -> Domain:
    whole: Domain = parts[0].joined(parts[1:])
    return whole


def evaluated(evaluator: Evaluator, boxes: Domain, nodes: Any) -> Cells:
    """Return boxes that lie in the cases of these nodes, with their bounds."""
    with np.errstate(all="ignore"):  # what is not finite counts as unknown
        bounds, nodes = evaluator.evaluate(boxes, nodes)
    volume = boxes.volumes  # a power of 2: exact
    axes = _most_to_blame(bounds.blame)
    return Cells(boxes, bounds.low * volume, bounds.high * volume, axes, nodes, bounds.cuts)


def _most_to_blame(blame: Array) -> Any:
    """Return the axis to halve, and the one to halve after that."""
    left = blame.copy()
    first = np.argmax(left, axis=0)
    left[first, np.arange(len(first))] /= EASED
    return np.stack([first, np.argmax(left, axis=0)]).astype(np.int8)


def refined(evaluator: Evaluator, cells: Cells, upright: int | None) -> list[Cells]:
    """Return the parts of each cell with their bounds, or the cell where a cut made them worse.

    So it is where other guards cross it that were flat, and are bent between curved surfaces.
    """
    parts = parted(evaluator, cells, upright)
    found = [evaluated(evaluator, part.boxes, cells.nodes[part.parents]) for part in parts]
    widths = np.zeros(len(cells.low))
    for part, some in zip(parts, found, strict=True):
        widths += np.bincount(part.parents, some.widths, len(widths))
    was_cut = np.zeros(len(widths), dtype=bool)
    was_cut[np.concatenate([part.parents[part.are_cut] for part in parts])] = True
    held = was_cut & (widths > WORSE * cells.widths)
    if not held.any():
        return found
    kept = cells.of(held)
    whole = kept._replace(cuts=np.full_like(kept.cuts, -1))  # it is halved next time
    return [whole, *(s.of(~held[p.parents]) for p, s in zip(parts, found, strict=True))]


class Parts(NamedTuple):
    """Parts of cells, the row of the cell that each is part of, and whether that was cut."""

    boxes: Domain
    parents: Any
    are_cut: Any


def parted(evaluator: Evaluator, cells: Cells, upright: int | None) -> list[Parts]:
    """Return the parts of each cell: two slabs where it is cut along a guard.

    Slabs have this axis `upright`. Otherwise quarters: to halve twice saves looking at the halves.
    Only boxes that may become slabs are halved once.
    """
    axes, whole = cells.axes.copy(), np.ones(cells.axes.shape[1], dtype=bool)
    parts: dict[int, list[tuple[Any, Any]]] = {}
    if upright is not None:
        for part, rows in _cut(evaluator, cells, upright, axes, whole):
            parts.setdefault(vertical(part), []).append((part, np.tile(rows, 2)))
    if isinstance(cells.boxes, Slabs):
        _keep_thick(cells.boxes, axes)
    elif upright is not None:  # a half may be cut already, and better than a quarter
        axes[1] = -1
    for pair in itertools.product(range(evaluator.axes), range(-1, evaluator.axes)):
        rows = np.flatnonzero(whole & (axes[0] == pair[0]) & (axes[1] == pair[1]))
        if len(rows):
            some = cells.boxes.of(rows)
            for along in pair:
                some = some.halved(along) if along >= 0 else some
            parents = np.tile(rows, some.number // len(rows))
            parts.setdefault(cells.vertical, []).append((some, parents))
    found = []
    for pairs in parts.values():
        parents = np.concatenate([rows for _, rows in pairs])
        found.append(Parts(_joined([part for part, _ in pairs]), parents, ~whole[parents]))
    return found


def _keep_thick(slabs: Slabs, axes: Any) -> None:
    """Change the axes to halve so that no slab is halved in height that is thin, or twice."""
    upright = len(slabs.bases.centres)
    thin = ~is_above(slabs.half, slabs.off)
    axes[0, thin & (axes[0] == upright)] = 0
    axes[1, axes[1] == upright] = -1


def _cut(
    evaluator: Evaluator, cells: Cells, upright: int, axes: Any, whole: Any
) -> Iterator[tuple[Slabs, Any]]:
    """Cut cells along guards, note which are left whole, and along which axis to halve some.

    A cell from which a guard exits is halved along the base, so that it stays inside of a part.
    """
    boxes = cells.boxes
    slabs = boxes if isinstance(boxes, Slabs) else over(boxes, upright)
    # The axes of a slab are its own; those of a box are not turned yet.
    base = np.arange(evaluator.axes - 1)
    if not isinstance(boxes, Slabs):
        base = np.delete(np.arange(evaluator.axes), upright)
    told = np.zeros(len(whole), dtype=bool)
    for row in cells.cuts:
        for number in np.unique(row[row >= 0]):
            guard = evaluator.cases.guards[number // 2]
            rows = np.flatnonzero(whole & (row == number))
            if not len(rows):
                continue
            some = slabs.of(rows)
            with np.errstate(all="ignore"):  # what is not finite is not cut
                advice = advise(some, some.expand(guard), bool(number % 2))
            cut = np.flatnonzero(advice.cuts)
            if len(cut):
                yield some.of(cut).cut(advice.surface[:, cut]), rows[cut]
                whole[rows[cut]] = False
            exits = advice.exits & ~told[rows]
            axes[0, rows[exits]] = base[np.argmax(advice.tilt[:, exits], axis=0)]
            told[rows] |= exits
