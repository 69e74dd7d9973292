"""Crosses: the few groundings of a table that a softmax lets be violated.

The groundings of `A(i) & B(j) -> C(f(i, j))` are a table. Where neither i nor j is the likeliest
class of its softmax, both have at most truth ½. Under Łukasiewicz such a grounding costs nothing,
and under the minimum no more than the second likeliest classes allow. What is left is a cross: the
row of the likeliest i and the column of the likeliest j.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, final

import torch
from torch import Tensor

from residuum.losses.degrees.logits import Side
from residuum.losses.degrees.stacking import Columns
from residuum.losses.routes import thresholds
from residuum.losses.routes.table_shapes import Table, find_table


class Crossed(NamedTuple):
    """The minima over the literals of each grounding of a cross, and the largest per example.

    `least` is groundings × examples, and `top` its maximum over groundings. `at` has the place of
    each grounding in the table, and `rows` the number of the clause at each place.
    """

    least: Tensor
    top: Tensor
    at: Tensor
    rows: Tensor


@final
class Cross:
    """The groundings of a table in which all arms, except one, read their likeliest class."""

    def __init__(self, table: Table) -> None:
        self.table = table
        arms, device = table.arms, table.rows.device
        self._sizes = [arm.size for arm in arms]
        self._strides = torch.tensor([[arm.stride] for arm in arms], device=device)
        # The arm of each grounding, and its offset in the table along that arm.
        numbers = [number for number, arm in enumerate(arms) for _ in range(arm.size)]
        self._arms = torch.tensor(numbers, device=device)
        out = [step * arm.stride for arm in arms for step in range(arm.size)]
        self._out = torch.tensor(out, device=device).unsqueeze(1)

    def to(self, device: torch.device) -> Cross:
        """Return the same cross with its tensors on a device."""
        return Cross(self.table.to(device))

    def excess(self, falsities: Tensor, *, wants_gradients: bool) -> tuple[Tensor, Tensor | None]:
        """Return the total excess of the groundings of each example, and its gradients.

        `falsities` is columns × examples. The falsities of the arms are subtracted.
        """
        arms, others = self.table.arms, self.table.others
        parts = [falsities[arm.entries] for arm in arms]
        least, tops = zip(*(part.min(0) for part in parts), strict=True)
        slack = torch.cat([part + _rest(least, n) for n, part in enumerate(parts)]).neg_()
        at = self._places(torch.stack(tops))
        read = [_columns_at(other.columns, at) for other in others]
        for place, other in zip(read, others, strict=True):
            slack.add_(falsities.gather(0, place), alpha=other.sign)
        self._count_once(slack, tops, 0.0)
        cost = slack.clamp_(min=0)
        value = cost.sum(0)
        if not wants_gradients:
            return value, None
        weight = cost.sign_()
        gradient = torch.zeros_like(falsities)
        each = torch.split(weight, self._sizes)
        sums = [part.sum(0) for part in each]
        for number, (arm, part) in enumerate(zip(arms, each, strict=True)):
            own = gradient[arm.entries].sub_(part)
            own.scatter_add_(0, tops[number].unsqueeze(0), -_rest(sums, number).unsqueeze(0))
        for place, other in zip(read, others, strict=True):
            gradient.scatter_add_(0, place, weight if other.sign > 0 else -weight)
        return value, gradient

    def least(self, sides: Tensor) -> Crossed | None:
        """Return the minimum of each grounding of the cross; one on several arms counts once.

        Returns None if a grounding outside of the cross may have the largest minimum, or share it.
        """
        parts = [sides[arm.entries] for arm in self.table.arms]
        found = [part.topk(2, 0) for part in parts]
        best = [values[0] for values, _ in found]
        tops = [indices[0] for _, indices in found]
        arms = [torch.minimum(part, _lowest(best, n)) for n, part in enumerate(parts)]
        least = torch.cat(arms)
        at = self._places(torch.stack(tops))
        for other in self.table.others:
            torch.minimum(least, sides.gather(0, _columns_at(other.columns, at)), out=least)
        self._count_once(least, tops, -1.0)
        # Outside of the cross, two arms read at best the second likeliest class of their softmaxes.
        elsewhere = torch.stack([values[1] for values, _ in found]).topk(2, 0).values[1]
        top = _largest(least)
        settled = top > elsewhere
        if not bool(settled.all()):
            # A side that alone has this value gets the whole gradient, in whichever grounding.
            settled |= (top == elsewhere) & ((sides == top).sum(0) == 1)
            if not bool(settled.all()):
                return None
        return Crossed(least, top, at, self.table.rows)

    def _places(self, tops: Tensor) -> Tensor:
        """Return the places of the cross in the table, given the likeliest class of each arm."""
        scaled = tops * self._strides
        return (scaled.sum(0) - scaled).index_select(0, self._arms).add_(self._out)

    def _count_once(self, groundings: Tensor, tops: Sequence[Tensor], value: float) -> None:
        """Set the grounding where all arms meet to a value, in all arms except the first."""
        parts = torch.split(groundings, self._sizes)
        for part, top in zip(parts[1:], tops[1:], strict=True):
            part.scatter_(0, top.unsqueeze(0), value)


def _largest(groundings: Tensor) -> Tensor:
    """Return the maximum of each example, folded first: PyTorch is slow for few examples."""
    rows, examples = groundings.shape
    folded = math.gcd(rows, thresholds.MAXIMUM_FOLD)
    return groundings.view(rows // folded, folded * examples).amax(0).view(folded, examples).amax(0)


def _columns_at(columns: Tensor, at: Tensor) -> Tensor:
    """Return the columns at some places; `index_select` is faster than indexing."""
    return columns.index_select(0, at.flatten()).view_as(at)


def _rest(values: Sequence[Tensor], number: int) -> Tensor:
    """Return the sum of all values except one."""
    first, *others = [value for n, value in enumerate(values) if n != number]
    return sum(others, first)


def _lowest(values: Sequence[Tensor], number: int) -> Tensor:
    """Return the minimum of all values except one."""
    first, *others = [value for n, value in enumerate(values) if n != number]
    for other in others:
        first = torch.minimum(first, other)
    return first


def find_cross(listed: Any, groups: Sequence[Columns], side: Side, taken: int) -> Cross | None:
    """Return the cross of a table of groundings; None if there is none, or it saves too little.

    Arms read one `side` of a softmax. If literals are subtracted, those of the arms must be.
    `listed` and `taken` are the arguments of `find_table`.
    """
    softmaxes = _softmaxes(groups, side)

    def admits(number: int, used: Sequence[int]) -> bool:
        if taken and listed[number, 0] < taken:
            return False
        return any(
            used[0] in columns and used[-1] in columns and (used[1] - used[0]) % apart == 0
            for columns, apart in softmaxes
        )

    table = find_table(listed, taken, admits)
    if table is None or sum(table.shape) * thresholds.WORTH_OF_A_CROSS > table.size:
        return None
    return Cross(table)


def _softmaxes(groups: Sequence[Columns], side: Side) -> list[tuple[range, int]]:
    """Return the columns that read a side of a softmax, and the distance between its classes."""
    found = []
    start = 0
    for group in groups:
        apart = math.prod(group.kind.sizes[1:])
        for piece in group.pieces:
            if group.kind.is_exclusive and piece.side == side:
                found.append((range(start, start + piece.size), apart))
            start += piece.size
    return found
