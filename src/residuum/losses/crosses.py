"""Rules of which few groundings can be broken, for a softmax has at most one likely class.

The groundings of `A(i) & B(j) -> C(f(i, j))` are a table. Where neither i nor j is the likeliest
class of its softmax, both have at most truth ½: under Łukasiewicz such a grounding costs nothing,
and under the minimum no more than the second likeliest classes allow. What is left is a cross: the
row of the likeliest i and the column of the likeliest j.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from residuum.losses.columns import Columns
from residuum.losses.softmaxes import Side

WORTH: Final = 8
"""Groundings that a cross must save for each that it has: it takes more steps."""


class Arm(NamedTuple):
    """The groundings in which one literal reads any class, and all others their likeliest.

    `entries` are the columns that it reads, and `stride` is how far apart they are in the table.
    """

    entries: slice
    size: int
    stride: int


class Other(NamedTuple):
    """A literal that the arms settle: the column that it reads in each grounding of the table."""

    columns: Tensor
    sign: int


class Crossed(NamedTuple):
    """The least side of groundings, cross × examples, and their places in the table of rows.

    `top` is the largest of each example.
    """

    least: Tensor
    top: Tensor
    table: Tensor
    rows: Tensor


@dataclass(frozen=True)
class Cross:
    """The arms of a rule's table, its other literals, and the rows that its groundings are."""

    arms: tuple[Arm, ...]
    others: tuple[Other, ...]
    rows: Tensor

    def to(self, device: torch.device) -> Cross:
        """Return the same on a device."""
        others = tuple(Other(columns.to(device), sign) for columns, sign in self.others)
        return replace(self, others=others, rows=self.rows.to(device))

    @cached_property
    def _sizes(self) -> list[int]:
        return [arm.size for arm in self.arms]

    @cached_property
    def _strides(self) -> Tensor:
        strides = [[arm.stride] for arm in self.arms]
        return torch.tensor(strides, device=self.rows.device)

    @cached_property
    def _along(self) -> tuple[Tensor, Tensor]:
        """The arm of each grounding, and how far out it lies."""
        device = self.rows.device
        arms = torch.arange(len(self.arms), device=device)
        arms = arms.repeat_interleave(torch.tensor(self._sizes, device=device))
        out = [torch.arange(arm.size, device=device) * arm.stride for arm in self.arms]
        return arms, torch.cat(out).unsqueeze(1)

    def excess(self, falsities: Tensor, *, wants_slopes: bool) -> tuple[Tensor, Tensor | None]:
        """Return how much groundings of each example exceed, together, and its slopes.

        Falsities are columns × examples, those of the arms being taken away from the others.
        """
        parts = [falsities[arm.entries] for arm in self.arms]
        least, tops = zip(*(part.min(0) for part in parts), strict=True)
        slack = torch.cat([part + _rest(least, n) for n, part in enumerate(parts)]).neg_()
        table = self._table(torch.stack(tops))
        places = [_at(table, other.columns) for other in self.others]
        for place, other in zip(places, self.others, strict=True):
            slack.add_(falsities.gather(0, place), alpha=other.sign)
        self._count_once(slack, tops, 0.0)
        cost = slack.clamp_(min=0)
        value = cost.sum(0)
        if not wants_slopes:
            return value, None
        weight = cost.sign_()
        slope = torch.zeros_like(falsities)
        each = torch.split(weight, self._sizes)
        sums = [part.sum(0) for part in each]
        for number, (arm, part) in enumerate(zip(self.arms, each, strict=True)):
            own = slope[arm.entries].sub_(part)
            own.scatter_add_(0, tops[number].unsqueeze(0), -_rest(sums, number).unsqueeze(0))
        for place, other in zip(places, self.others, strict=True):
            slope.scatter_add_(0, place, weight if other.sign > 0 else -weight)
        return value, slope

    def least(self, sides: Tensor) -> Crossed | None:
        """Return the least sides; a grounding that several arms have is −1 in all but one.

        None if the largest may lie elsewhere, or something as large.
        """
        parts = [sides[arm.entries] for arm in self.arms]
        found = [part.topk(2, 0) for part in parts]
        best = [values[0] for values, _ in found]
        tops = [indices[0] for _, indices in found]
        arms = [torch.minimum(part, _lowest(best, n)) for n, part in enumerate(parts)]
        least = torch.cat(arms)
        table = self._table(torch.stack(tops))
        for other in self.others:
            torch.minimum(least, sides.gather(0, _at(table, other.columns)), out=least)
        self._count_once(least, tops, -1.0)
        # Elsewhere two literals read at best the second likeliest class of their softmaxes.
        elsewhere = torch.stack([values[1] for values, _ in found]).topk(2, 0).values[1]
        top = least.amax(0)
        return Crossed(least, top, table, self.rows) if bool((top > elsewhere).all()) else None

    def _table(self, tops: Tensor) -> Tensor:
        """Return the places in the table of the cross through the likeliest classes."""
        scaled = tops * self._strides
        arms, out = self._along
        return (scaled.sum(0) - scaled).index_select(0, arms).add_(out)

    def _count_once(self, groundings: Tensor, tops: Sequence[Tensor], value: float) -> None:
        """Set the grounding where the arms meet to a value in all of them but the first."""
        parts = torch.split(groundings, self._sizes)
        for part, top in zip(parts[1:], tops[1:], strict=True):
            part.scatter_(0, top.unsqueeze(0), value)


def _at(table: Tensor, listed: Tensor) -> Tensor:
    """Return what is listed at places of the table, by what is faster than an index."""
    return listed.index_select(0, table.flatten()).view_as(table)


def _rest(values: Sequence[Tensor], number: int) -> Tensor:
    """Return the sum of all but one."""
    first, *others = [value for n, value in enumerate(values) if n != number]
    return sum(others, first)


def _lowest(values: Sequence[Tensor], number: int) -> Tensor:
    """Return the least of all but one."""
    first, *others = [value for n, value in enumerate(values) if n != number]
    for other in others:
        first = torch.minimum(first, other)
    return first


def find_cross(listed: Any, groups: Sequence[Columns], side: Side, taken: int) -> Cross | None:
    """Return the cross of a table of groundings, if it is worth looking for.

    `listed` has the columns of each row, literals × rows; those of literals that are taken away
    count on from the number `taken`, if any are. An arm reads that `side` of a softmax.
    """
    count = listed.shape[1]
    columns = listed % taken if taken else listed
    are_taken = listed[:, 0] >= taken if taken else np.zeros(len(listed), dtype=bool)
    softmaxes = _softmaxes(groups, side)
    arms: list[Arm] = []
    of_arms: list[int] = []
    table = np.zeros(count, dtype=np.int64)
    stride = 1
    for number, read in enumerate(columns):
        if taken and not are_taken[number]:
            continue
        entries = _entries(read, softmaxes)
        if entries is None or stride * _size(entries) > count:
            continue
        arms.append(Arm(entries, _size(entries), stride))
        of_arms.append(number)
        table += (read - entries.start) // entries.step * stride
        stride *= _size(entries)
    if len(arms) < 2 or stride != count or sum(arm.size for arm in arms) * WORTH > count:
        return None
    rows = np.full(count, -1)
    rows[table] = np.arange(count)
    if (rows < 0).any():  # some groundings read the same classes, and others are excluded
        return None
    others = [
        Other(torch.from_numpy(columns[number][rows]), -1 if are_taken[number] else 1)
        for number in range(len(listed))
        if number not in of_arms
    ]
    return Cross(tuple(arms), tuple(others), torch.from_numpy(rows))


def _size(entries: slice) -> int:
    return len(range(entries.start, entries.stop, entries.step))


def _softmaxes(groups: Sequence[Columns], side: Side) -> list[tuple[range, int]]:
    """Return where a side of softmaxes is among the columns, and how far apart its classes are."""
    found = []
    start = 0
    for group in groups:
        apart = math.prod(group.kind.sizes[1:])
        for piece in group.pieces:
            if group.kind.is_exclusive and piece.side == side:
                found.append((range(start, start + piece.size), apart))
            start += piece.size
    return found


def _entries(read: Any, softmaxes: Sequence[tuple[range, int]]) -> slice | None:
    """Return the columns that a literal reads, if they are several classes of one softmax."""
    used = np.flatnonzero(np.bincount(read)).tolist()
    if len(used) < 2:
        return None
    step = used[1] - used[0]
    for columns, apart in softmaxes:
        if used[0] in columns and used[-1] in columns:
            entries = range(used[0], used[-1] + 1, step)
            is_one = step % apart == 0 and used == list(entries)
            return slice(entries.start, entries.stop, step) if is_one else None
    return None
