"""What clauses cost where a conjunction costs as much as the worst of it.

Only the worst groundings of an example have slopes, so that these are looked for among few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

from residuum.losses.blocks import CPU_BLOCK
from residuum.losses.clauses import Clauses
from residuum.losses.crosses import Crossed
from residuum.losses.sides import Outcome

ROWS: Final = 32
"""Rules whose slopes are computed at a time on a CPU: they stay in the cache."""

Found = tuple[Tensor, tuple[Tensor, ...]]
"""Values, and what their slopes are made of."""

Find = Callable[[Tensor, Crossed | None], Found]


def largest(
    clauses: Clauses, rows: Tensor, examples: int, inside: Tensor | None, *, looks: bool
) -> Outcome | None:
    """Return the largest penalty of each rule, rules × examples, or of the one; rows are truths.

    `inside` says which positions of each example count, if not all do, and `looks` whether Python
    may look at values. None if a cross of the groundings is not enough, and there are too many.
    """
    columns = _filled_up(clauses, rows)
    crossed = _crossed(clauses, columns)
    if clauses.cross and not crossed and clauses.count * examples > CPU_BLOCK:
        return None
    find: Find
    slopes: Callable[..., Tensor]
    if clauses.are_rows_rules and not clauses.inside:
        find = partial(_each, clauses)
        slopes = partial(_slopes_of_least, clauses)
    else:
        find = partial(_largest if looks else _largest_of_all, clauses, examples, inside)
        slopes = partial(_slopes_of_largest if looks else _slopes_of_all, clauses)
    value, kept = find(columns, crossed)
    back = partial(_slopes_of_rows, clauses, examples, rows.dtype, slopes)
    return Outcome(value, kept, back, partial(_again, clauses, find, slopes))


def _filled_up(clauses: Clauses, rows: Tensor) -> Tensor:
    """Return the rows and, for short clauses, one that is never the least, nor one of several."""
    return functional.pad(rows, (0, 0, 0, 1), value=torch.inf) if clauses.is_ragged else rows


def _slopes_of_rows(
    clauses: Clauses,
    examples: int,
    dtype: torch.dtype,
    slopes: Callable[..., Tensor],
    upstream: Tensor | None,
    *kept: Tensor,
) -> Tensor:
    if upstream is None:
        upstream = torch.ones(examples, dtype=dtype, device=kept[0].device)
    found = slopes(upstream, *kept)
    return (found[:-1] if clauses.is_ragged else found) * clauses.signs


def _again(clauses: Clauses, find: Find, slopes: Callable[..., Tensor], rows: Tensor) -> Tensor:
    columns = _filled_up(clauses, rows)
    crossed = _crossed(clauses, columns.detach())
    value: Tensor = _WithSlopes.apply(columns, crossed, find, slopes)  # type: ignore[no-untyped-call]
    return value


def _crossed(clauses: Clauses, columns: Tensor) -> Crossed | None:
    return None if clauses.cross is None else clauses.cross.least(columns)


class _WithSlopes(torch.autograd.Function):
    """Values whose slopes have slopes: nothing but what comes from upstream varies in them."""

    @staticmethod
    def forward(
        ctx: Any,
        columns: Tensor,
        crossed: Crossed | None,
        find: Find,
        slopes: Callable[..., Tensor],
    ) -> Tensor:
        value, kept = find(columns, crossed)
        ctx.save_for_backward(*kept)
        ctx.slopes = slopes
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        return ctx.slopes(upstream, *ctx.saved_tensors), None, None, None


def _each(clauses: Clauses, columns: Tensor, _crossed: Crossed | None) -> Found:
    return _least(clauses, columns), (columns,)


def _least(clauses: Clauses, columns: Tensor) -> Tensor:
    """Return the least side of every row."""
    first, *others = clauses.literals
    least = columns.index_select(0, first)
    part = torch.empty_like(least)
    for place in others:
        torch.index_select(columns, 0, place, out=part)
        torch.minimum(least, part, out=least)
    return least


def _slopes_of_least(clauses: Clauses, upstream: Tensor, columns: Tensor) -> Tensor:
    places = clauses.places
    total = upstream.new_zeros(columns.shape)  # of a batch of slopes, if there are several
    rows = places.shape[1]
    step = rows if columns.is_cuda else ROWS
    parts = torch.split(places, step, 1), torch.split(upstream.reshape(rows, -1), step)
    for part, slope in zip(*parts, strict=True):
        sides = [columns.detach().index_select(0, place) for place in part]
        for place, share in zip(part, _shares(sides, slope), strict=True):
            total.index_add_(0, place, share)
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
    clauses: Clauses,
    examples: int,
    inside: Tensor | None,
    columns: Tensor,
    crossed: Crossed | None,
) -> Found:
    """Return the largest of the least sides, of all rows of a rule and positions of an example."""
    rules, tops, value = _tops(clauses, examples, inside, columns, crossed)
    entries = columns.view(-1, *rules[0].shape[1:])
    hits = [entries == top.unsqueeze(1) for top in tops]
    if inside is not None:
        hits = [hit & inside for hit in hits]
    most = max([int(hit.sum(0).sum(1).amax()) for hit in hits])
    if most <= 1:  # then it is the least in whichever rows are the largest
        return value, tuple(hits)
    rows, *where = _ties(rules, tops)
    if crossed is not None:
        rows = crossed.rows[crossed.at[rows, where[0]]]
    return value, (columns, rows, *where)


def _largest_of_all(
    clauses: Clauses,
    examples: int,
    inside: Tensor | None,
    columns: Tensor,
    _crossed: Crossed | None,
) -> Found:
    """Return the largest of the least sides, and every row's share of the slope."""
    rules, tops, value = _tops(clauses, examples, inside, columns, None)
    shares = []
    for rule, top in zip(rules, tops, strict=True):
        ties = (rule == top.unsqueeze(1)).to(top.dtype)
        count = ties.sum(0).sum(1)
        shares.append(ties * torch.div(top >= 0, count).unsqueeze(1))
    return value, (columns, torch.cat(shares))


def _tops(
    clauses: Clauses,
    examples: int,
    inside: Tensor | None,
    columns: Tensor,
    crossed: Crossed | None,
) -> tuple[Sequence[Tensor], Sequence[Tensor], Tensor]:
    """Return the least sides of each rule, rows × examples × positions, and the largest of them."""
    each = _least(clauses, columns) if crossed is None else crossed.least
    least = each.view(len(each), examples, -1)
    if inside is not None:
        least.masked_fill_(~inside, -1.0)
    rules = torch.split(least, list(clauses.segments)) if len(clauses.segments) > 1 else (least,)
    tops = [rule.amax(0).amax(1) for rule in rules] if crossed is None else [crossed.top]
    value = tops[0] if len(tops) == 1 else torch.stack(tops)
    # A sequence too short for any grounding has no largest.
    return rules, tops, value if inside is None else value.clamp(min=0)


def _ties(rules: Sequence[Tensor], tops: Sequence[Tensor]) -> Iterator[Tensor]:
    """Return the row, column, rule and example of what is the largest, and a share of the slope."""
    ties = []
    first = 0
    for number, (rule, top) in enumerate(zip(rules, tops, strict=True)):
        _, examples, positions = rule.shape
        rows, example, position = (rule == top.unsqueeze(1)).nonzero(as_tuple=True)
        count = torch.bincount(example, minlength=examples).to(top.dtype)
        shares = (top >= 0).div(count)[example]
        column = example * positions + position
        ties.append((rows + first, column, number * examples + example, shares))
        first += len(rule)
    return (torch.cat(one) for one in zip(*ties, strict=True))


def _slopes_of_largest(clauses: Clauses, upstream: Tensor, *kept: Tensor) -> Tensor:
    if kept[0].dtype == torch.bool:
        return _slopes_of_one_each(upstream, kept)
    return _slopes_of_ties(clauses.places, upstream, *kept)


def _slopes_of_all(clauses: Clauses, upstream: Tensor, columns: Tensor, shares: Tensor) -> Tensor:
    each = upstream.reshape(len(clauses.segments), -1, 1).unbind(0)
    parts = zip(torch.split(shares, list(clauses.segments)), each, strict=True)
    slopes = torch.cat([share * slope for share, slope in parts])
    return _slopes_of_least(clauses, slopes, columns)


def _slopes_of_one_each(upstream: Tensor, hits: Sequence[Tensor]) -> Tensor:
    """Return slopes where one entry alone is the largest of a rule in an example."""
    each = upstream.reshape(len(hits), -1, 1).unbind(0)
    parts = [torch.where(hit, slope, 0.0) for hit, slope in zip(hits, each, strict=True)]
    total = parts[0] if len(parts) == 1 else torch.stack(parts).sum(0)
    return total.reshape(len(hits[0]), -1)


def _slopes_of_ties(
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
