"""What clauses cost where a conjunction costs as much as the worst of it.

Only the worst groundings of an example have slopes, so that these are looked for among few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

from residuum.losses.clauses import Clauses
from residuum.losses.tensors import in_full

ROWS: Final = 64
"""Rules whose slopes are computed at a time."""


def largest(clauses: Clauses, columns: Tensor, examples: int, inside: Tensor | None) -> Tensor:
    """Return the largest penalty of each rule, rules × examples; columns are truths.

    `inside` says which positions of each example count, if not all do.
    """
    if clauses.is_ragged:  # what is never the least, not even as one of several
        columns = functional.pad(columns, (0, 0, 0, 1), value=torch.inf)
    found: Tensor
    if clauses.are_rows_rules and not clauses.inside:
        found = _Least.apply(columns, clauses.places)  # type: ignore[no-untyped-call]
    else:
        found = _Largest.apply(  # type: ignore[no-untyped-call]
            columns, clauses.places, clauses.segments, examples, inside
        )
    return found


def _least(columns: Tensor, places: Tensor) -> Tensor:
    least = columns.index_select(0, places[0])
    other = torch.empty_like(least)
    for place in places[1:]:
        torch.index_select(columns, 0, place, out=other)
        torch.minimum(least, other, out=least)
    return least


def _shares(sides: Sequence[Tensor], upstream: Tensor) -> list[Tensor]:
    """Return the slopes of minima taken pair by pair, which two equal sides share evenly."""
    below = [sides[0]]
    for side in sides[1:-1]:
        below.append(torch.minimum(below[-1], side))
    found: list[Tensor] = []
    for side, so_far in zip(reversed(sides[1:]), reversed(below), strict=True):
        share = torch.lt(side, so_far, out=torch.empty_like(side))
        share.add_(torch.eq(side, so_far, out=torch.empty_like(side)), alpha=0.5)
        found.append(upstream * share)
        upstream = upstream - found[-1]
    return [upstream, *reversed(found)]


class _Least(torch.autograd.Function):
    """The least side of every row."""

    @staticmethod
    def forward(ctx: Any, columns: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(columns, places)
        return _least(columns, places)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        columns, places = ctx.saved_tensors
        total: Tensor | None = None
        with in_full(columns.device):
            parts = torch.split(places, ROWS, 1), torch.split(upstream, ROWS)
            for part, slope in zip(*parts, strict=True):
                sides = [columns.detach().index_select(0, place) for place in part]
                for place, share in zip(part, _shares(sides, slope), strict=True):
                    hot = functional.one_hot(place, len(columns)).to(share.dtype).t()
                    total = hot @ share if total is None else total.addmm(hot, share)
        return total, None


class _Largest(torch.autograd.Function):
    """The largest of the least sides of all rows of a rule, and of all positions of an example."""

    @staticmethod
    def forward(
        ctx: Any,
        columns: Tensor,
        places: Tensor,
        segments: tuple[int, ...],
        examples: int,
        inside: Tensor | None,
    ) -> Tensor:
        least = _least(columns, places).view(places.shape[1], examples, -1)
        if inside is not None:
            least.masked_fill_(~inside, -1.0)
        tops, ties = [], []
        first = 0
        for number, part in enumerate(torch.split(least, list(segments))):
            top = part.amax((0, 2), keepdim=True)
            rows, example, position = (part == top).nonzero(as_tuple=True)
            count = torch.bincount(example, minlength=examples).to(top.dtype)
            column = example * least.shape[2] + position
            # A sequence too short for any grounding has no largest.
            shares = (count.reciprocal() * (top.flatten() >= 0))[example]
            ties.append((rows + first, column, number * examples + example, shares))
            tops.append(top.flatten())
            first += len(part)
        ctx.save_for_backward(columns, places, *(torch.cat(one) for one in zip(*ties, strict=True)))
        return torch.stack(tops).clamp_(min=0)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        columns, places, rows, column, owner, shares = ctx.saved_tensors
        at = places[:, rows]
        slope = upstream.flatten()[owner] * shares
        slopes = torch.stack(_shares(columns.detach()[at, column].unbind(0), slope))
        where = (at, column.expand_as(at))
        total = torch.zeros_like(columns).index_put(where, slopes, accumulate=True)
        return total, None, None, None, None
