"""What clauses cost where a conjunction costs as much as the worst of it.

Only the worst groundings of an example have slopes, so that these are looked for among few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

from residuum.losses.clauses import Clauses
from residuum.losses.columns import Outcome

ROWS: Final = 64
"""Rules whose slopes are computed at a time."""

Found = tuple[Tensor, tuple[Tensor, ...]]
"""Values, and what their slopes are made of."""


def largest(clauses: Clauses, rows: Tensor, examples: int, inside: Tensor | None) -> Outcome:
    """Return the largest penalty of each rule, rules × examples, or of the one; rows are truths.

    `inside` says which positions of each example count, if not all do.
    """
    places = clauses.places
    find: Callable[[Tensor], Found]
    if clauses.are_rows_rules and not clauses.inside:
        find = partial(_least, places)
        slopes = partial(_slopes_of_least, places)
    else:
        find = partial(_largest, places, clauses.segments, examples, inside)
        slopes = partial(_slopes_of_largest, places)
    value, kept = find(_filled_up(clauses, rows))
    back = partial(_slopes_of_rows, len(rows), slopes)
    return Outcome(value, kept, back, partial(_again, clauses, find, slopes))


def _filled_up(clauses: Clauses, rows: Tensor) -> Tensor:
    """Return the rows and, for short clauses, one that is never the least, nor one of several."""
    return functional.pad(rows, (0, 0, 0, 1), value=torch.inf) if clauses.is_ragged else rows


def _slopes_of_rows(
    count: int, slopes: Callable[..., Tensor], upstream: Tensor, *kept: Tensor
) -> Tensor:
    return slopes(upstream, *kept)[:count]


def _again(
    clauses: Clauses, find: Callable[[Tensor], Found], slopes: Callable[..., Tensor], rows: Tensor
) -> Tensor:
    value: Tensor = _WithSlopes.apply(_filled_up(clauses, rows), find, slopes)  # type: ignore[no-untyped-call]
    return value


class _WithSlopes(torch.autograd.Function):
    """Values whose slopes have slopes: nothing but what comes from upstream varies in them."""

    @staticmethod
    def forward(
        ctx: Any, columns: Tensor, find: Callable[[Tensor], Found], slopes: Callable[..., Tensor]
    ) -> Tensor:
        value, kept = find(columns)
        ctx.save_for_backward(*kept)
        ctx.slopes = slopes
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        return ctx.slopes(upstream, *ctx.saved_tensors), None, None


def _least(places: Tensor, columns: Tensor) -> Found:
    """Return the least side of every row."""
    least = columns.index_select(0, places[0])
    other = torch.empty_like(least)
    for place in places[1:]:
        torch.index_select(columns, 0, place, out=other)
        torch.minimum(least, other, out=least)
    return least, (columns,)


def _slopes_of_least(places: Tensor, upstream: Tensor, columns: Tensor) -> Tensor:
    total: Tensor | None = None
    parts = torch.split(places, ROWS, 1), torch.split(upstream.reshape(places.shape[1], -1), ROWS)
    for part, slope in zip(*parts, strict=True):
        sides = [columns.detach().index_select(0, place) for place in part]
        for place, share in zip(part, _shares(sides, slope), strict=True):
            hot = functional.one_hot(place, len(columns)).to(share.dtype).t()
            total = hot @ share if total is None else total.addmm(hot, share)
    assert total is not None
    return total


def _shares(sides: Sequence[Tensor], upstream: Tensor) -> list[Tensor]:
    """Return the slopes of minima taken pair by pair, which two equal sides share evenly."""
    below = [sides[0]]
    for side in sides[1:-1]:
        below.append(torch.minimum(below[-1], side))
    found: list[Tensor] = []
    for side, so_far in zip(reversed(sides[1:]), reversed(below), strict=True):
        half = upstream / 2
        found.append(torch.addcmul(half, half, torch.sub(so_far, side).sign_()))
        upstream = upstream - found[-1]
    return [upstream, *reversed(found)]


def _largest(
    places: Tensor,
    segments: tuple[int, ...],
    examples: int,
    inside: Tensor | None,
    columns: Tensor,
) -> Found:
    """Return the largest of the least sides, of all rows of a rule and positions of an example."""
    least = _least(places, columns)[0].view(places.shape[1], examples, -1)
    if inside is not None:
        least.masked_fill_(~inside, -1.0)
    tops, ties = [], []
    first = 0
    for number, part in enumerate(torch.split(least, list(segments))):
        top = part.amax((0, 2), keepdim=True)
        rows, example, position = (part == top).nonzero(as_tuple=True)
        top = top.flatten()
        count = torch.bincount(example, minlength=examples).to(top.dtype)
        # A sequence too short for any grounding has no largest.
        shares = (top >= 0).div(count)[example]
        column = example * least.shape[2] + position
        ties.append((rows + first, column, number * examples + example, shares))
        tops.append(top)
        first += len(part)
    if len(tops) == 1:
        return tops[0].clamp(min=0), (columns, *ties[0])  # no view: it may be changed in place
    together = (torch.cat(one) for one in zip(*ties, strict=True))
    return torch.stack(tops).clamp_(min=0), (columns, *together)


def _slopes_of_largest(
    places: Tensor,
    upstream: Tensor,
    columns: Tensor,
    rows: Tensor,
    column: Tensor,
    owner: Tensor,
    shares: Tensor,
) -> Tensor:
    at = places[:, rows]
    slope = upstream.reshape(-1)[owner] * shares
    slopes = torch.stack(_shares(columns.detach()[at, column].unbind(0), slope))
    where = (at, column.expand_as(at))
    return torch.zeros_like(columns).index_put(where, slopes, accumulate=True)
