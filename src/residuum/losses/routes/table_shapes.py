"""Tables: groundings in which some literals, the arms, vary along one axis each.

The groundings of `A(i) & B(j) -> C(f(i, j))` are a table with the arms A and B. The arms determine
what all other literals read: for C, the table lists the columns. A table needs no matrix product,
and only the other literals need an index.
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
    """A literal that varies along one axis of the table. `entries` are the columns that it reads.

    `stride` is the distance of neighbours along this axis in the flattened table.
    """

    entries: slice
    size: int
    stride: int
    sign: int


class Other(NamedTuple):
    """A literal that is no arm: the column that it reads in each grounding of the table."""

    columns: Tensor
    sign: int


@dataclass(frozen=True)
class Table:
    """The arms and the other literals of a rule. The last arm is the longest and outermost.

    `rows` has the number of the clause of each grounding.
    """

    arms: tuple[Arm, ...]
    others: tuple[Other, ...]
    rows: Tensor

    def to(self, device: torch.device) -> Table:
        """Return the same table with its tensors on a device."""
        others = tuple(Other(columns.to(device), sign) for columns, sign in self.others)
        return replace(self, others=others, rows=self.rows.to(device))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the arms, in reverse order."""
        return tuple(arm.size for arm in reversed(self.arms))

    @cached_property
    def size(self) -> int:
        """The number of groundings."""
        return math.prod(self.shape)

    def along(self, number: int, sides: Tensor) -> Tensor:
        """Return the sides that an arm reads, in a shape that broadcasts over the table."""
        arm = self.arms[number]
        before = len(self.arms) - 1 - number
        return sides[arm.entries].view((1,) * before + (arm.size,) + (1,) * number + (-1,))

    def groups(self, examples: int, *, is_whole: bool) -> list[slice]:
        """Return parts of the batch for which one step along the outermost axis fits a chunk."""
        most = max(thresholds.SIDE_BY_SIDE, thresholds.CHUNK // math.prod(self.shape[1:]))
        return _parts(examples, examples if is_whole else most)

    def chunks(self, examples: int, *, is_whole: bool) -> list[slice]:
        """Return parts of the outermost axis, so small that each fits a chunk."""
        outermost = self.shape[0]
        most = max(1, thresholds.CHUNK // (math.prod(self.shape[1:]) * examples))
        return _parts(outermost, outermost if is_whole else most)


def _parts(size: int, most: int) -> list[slice]:
    """Return parts of nearly equal size, each no larger than `most`."""
    count = math.ceil(size / most)
    ends = [size * part // count for part in range(count + 1)]
    return [slice(*pair) for pair in itertools.pairwise(ends)]


Admits = Callable[[int, Sequence[int]], bool]
"""Says whether a literal may be an arm, given its number and the columns that it reads."""


def find_table(listed: Any, taken: int, admits: Admits = lambda *_: True) -> Table | None:
    """Return the table of some groundings; None if they form no table of two or more axes.

    `listed` is literals × rows: the column of each literal. Columns of subtracted literals are
    numbered from `taken` on; 0 says that no literal is subtracted.
    """
    count = listed.shape[1]
    columns = listed % taken if taken else listed
    is_taken = (listed >= taken) if taken else np.zeros_like(listed, dtype=bool)
    if (is_taken != is_taken[:, :1]).any():  # clauses of different forms
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
            continue  # it varies together with an earlier arm
        found[number] = entries
        place = finer
        stride *= len(used)
    if len(found) < 2 or stride != count:
        return None
    arms: dict[int, Arm] = {}
    place = np.zeros(count, dtype=np.int64)
    stride = 1
    for number in sorted(found, key=lambda one: len(found[one])):  # the longest arm is last
        entries = found[number]
        arms[number] = Arm(
            slice(entries.start, entries.stop, entries.step), len(entries), stride, signs[number]
        )
        place += _steps(columns[number], entries) * stride
        stride *= len(entries)
    rows = np.full(count, -1)
    rows[place] = np.arange(count)
    if (rows < 0).any():  # some groundings are missing, others occur twice
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
    """Return the step of each grounding along an axis."""
    return (read - entries.start) // entries.step
