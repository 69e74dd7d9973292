"""Rules whose groundings are a table: some literals vary along an axis each, and settle the others.

Those of `A(i) & B(j) -> C(f(i, j))` are such a table, with A along one axis and B along the other;
for C it lists what is read. Nothing need be multiplied by a matrix, and little need be looked up.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from residuum.losses.routes import thresholds


class Arm(NamedTuple):
    """A literal along one axis of the table: the columns that it reads, one after the other.

    `stride` is how far apart they are in the table as one list.
    """

    entries: slice
    size: int
    stride: int
    sign: int


class Other(NamedTuple):
    """A literal that the arms settle: the column that it reads in each grounding of the table."""

    columns: Tensor
    sign: int


@dataclass(frozen=True)
class Table:
    """The arms of a rule, the last and longest of them outermost, its other literals, and its rows.

    `rows` are the numbers that the groundings of the table have among clauses.
    """

    arms: tuple[Arm, ...]
    others: tuple[Other, ...]
    rows: Tensor

    def to(self, device: torch.device) -> Table:
        """Return the same on a device."""
        others = tuple(Other(columns.to(device), sign) for columns, sign in self.others)
        return replace(self, others=others, rows=self.rows.to(device))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the arms, the last one's first."""
        return tuple(arm.size for arm in reversed(self.arms))

    @cached_property
    def size(self) -> int:
        """The number of groundings."""
        return math.prod(self.shape)

    def along(self, number: int, sides: Tensor) -> Tensor:
        """Return what an arm reads, along its own axis."""
        arm = self.arms[number]
        before = len(self.arms) - 1 - number
        return sides[arm.entries].view((1,) * before + (arm.size,) + (1,) * number + (-1,))

    def groups(self, examples: int, *, is_whole: bool) -> list[slice]:
        """Return parts of the examples for which one step along the outermost axis fits a chunk."""
        most = max(thresholds.SIDE_BY_SIDE, thresholds.CHUNK // math.prod(self.shape[1:]))
        return _parts(examples, examples if is_whole else most)

    def chunks(self, examples: int, *, is_whole: bool) -> list[slice]:
        """Return parts of the outermost axis."""
        outermost = self.shape[0]
        most = max(1, thresholds.CHUNK // (math.prod(self.shape[1:]) * examples))
        return _parts(outermost, outermost if is_whole else most)


def _parts(size: int, most: int) -> list[slice]:
    """Return parts that are alike in size, and no larger than the most."""
    count = math.ceil(size / most)
    ends = [size * part // count for part in range(count + 1)]
    return [slice(*pair) for pair in itertools.pairwise(ends)]


Admits = Callable[[int, Sequence[int]], bool]
"""Says whether the literal of a number, which reads some columns, may be an arm."""


def find_table(listed: Any, taken: int, admits: Admits = lambda *_: True) -> Table | None:
    """Return the table that groundings are, if they are one of two axes or more.

    `listed` has the columns of each row, literals × rows; those of literals that are taken away
    count on from the number `taken`, if any are.
    """
    count = listed.shape[1]
    columns = listed % taken if taken else listed
    is_taken = (listed >= taken) if taken else np.zeros_like(listed, dtype=bool)
    if (is_taken != is_taken[:, :1]).any():  # clauses of a conjunction that are unlike
        return None
    signs = [-1 if first else 1 for first in is_taken[:, 0].tolist()]
    found: dict[int, range] = {}
    place = np.zeros(count, dtype=np.int64)
    stride = 1
    for number, read in enumerate(columns):
        times = np.bincount(read)
        used = np.flatnonzero(times).tolist()
        entries = _evenly_spaced(used)
        if entries is None or stride * len(used) > count or not admits(number, used):
            continue
        if (times[used] != times[used[0]]).any():
            continue
        finer = place + _steps(read, entries) * stride
        if np.count_nonzero(np.bincount(finer)) < stride * len(used):
            continue  # it goes along with an arm that there is
        found[number] = entries
        place = finer
        stride *= len(used)
    if len(found) < 2 or stride != count:
        return None
    arms: dict[int, Arm] = {}
    place = np.zeros(count, dtype=np.int64)
    stride = 1
    for number in sorted(found, key=lambda one: len(found[one])):  # parts of the last are small
        entries = found[number]
        arms[number] = Arm(
            slice(entries.start, entries.stop, entries.step), len(entries), stride, signs[number]
        )
        place += _steps(columns[number], entries) * stride
        stride *= len(entries)
    rows = np.full(count, -1)
    rows[place] = np.arange(count)
    if (rows < 0).any():  # some groundings read the same, and others are excluded
        return None
    others = [
        Other(torch.from_numpy(columns[number][rows]), signs[number])
        for number in range(len(listed))
        if number not in arms
    ]
    return Table(tuple(arms.values()), tuple(others), torch.from_numpy(rows))


def _evenly_spaced(used: Sequence[int]) -> range | None:
    if len(used) < 2:
        return None
    entries = range(used[0], used[-1] + 1, used[1] - used[0])
    return entries if used == list(entries) else None


def _steps(read: Any, entries: range) -> Any:
    """Return how far along its axis each grounding is."""
    return (read - entries.start) // entries.step
