"""The route for minima: clauses under the minimum, where a rule costs as much as its worst clause.

A clause costs the minimum over its literals, and a rule the maximum over its clauses. Only the
worst groundings of an example have gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Final, NamedTuple, final

import torch
from torch import Tensor
from torch.nn import functional

from residuum.losses.degrees.fused_logits import Sides
from residuum.losses.inputs.calls import Case
from residuum.losses.routes import thresholds
from residuum.losses.routes.clauses import NEEDS_CARE, ByHand, Outcome, Part, usable_clauses
from residuum.losses.routes.crosses import Crossed
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.gradients import with_gradients
from residuum.losses.routes.listing import Clauses
from residuum.losses.routes.route import Evaluate, Surroundings

Found = tuple[Tensor, tuple[Tensor, ...]]
"""Penalties, and the tensors from which their gradients are computed."""

Find = Callable[[Tensor, Crossed | None], Found]


@final
class MinimaRoute:
    """Evaluates clauses under the minimum by their worst groundings."""

    name: Final = "minima"
    hands_over_because: Final = NEEDS_CARE

    def __init__(self, definition: Definition) -> None:
        self._definition = definition

    def prepare(self, case: Case, around: Surroundings) -> Evaluate | str:
        """Return a function that evaluates calls of a case, or the reason why there is none."""
        clauses = usable_clauses(self._definition, case, around)
        if isinstance(clauses, str):
            return clauses
        if case.groundings > self._definition.block(case.device) and not clauses.is_frugal:
            return f"{case.groundings:,} groundings do not fit one block"
        return ByHand(largest, clauses, case, self._definition.is_several)


def largest(clauses: Clauses, sides: Sides, part: Part) -> Outcome | None:
    """Return the largest penalty of each rule: the kernel of this route.

    Returns None if a cross is not enough for these values, and all groundings are too many.
    """
    rows = sides.rows()
    columns = _filled_up(clauses, rows)
    crossed = _crossed(clauses, columns)
    if clauses.cross and not crossed and clauses.count * part.examples > thresholds.CPU_BLOCK:
        return None
    find: Find
    gradients: Callable[..., Tensor]
    if clauses.are_rows_rules and not clauses.inside:
        find = partial(_each, clauses)
        gradients = partial(_gradients_of_least, clauses)
    else:
        way = _largest if part.looks else _largest_of_all
        find = partial(way, clauses, part.examples, part.inside)
        gradients = partial(_gradients_of_largest if part.looks else _gradients_of_all, clauses)
    value, kept = find(columns, crossed)
    back = partial(_gradients_of_rows, clauses, part.examples, rows.dtype, gradients)
    return Outcome(value, kept, back, partial(_again, clauses, find, gradients))


def _filled_up(clauses: Clauses, rows: Tensor) -> Tensor:
    """Return the rows and, to fill up short clauses, a row of ∞, which is never the minimum."""
    return functional.pad(rows, (0, 0, 0, 1), value=torch.inf) if clauses.is_ragged else rows


def _gradients_of_rows(
    clauses: Clauses,
    examples: int,
    dtype: torch.dtype,
    gradients: Callable[..., Tensor],
    upstream: Tensor | None,
    *kept: Tensor,
) -> Tensor:
    if upstream is None:
        upstream = torch.ones(examples, dtype=dtype, device=kept[0].device)
    found = gradients(upstream, *kept)
    return (found[:-1] if clauses.is_ragged else found) * clauses.signs


def _again(clauses: Clauses, find: Find, gradients: Callable[..., Tensor], rows: Tensor) -> Tensor:
    columns = _filled_up(clauses, rows)
    with torch.no_grad():
        value, kept = find(columns, _crossed(clauses, columns))
    backward = _GradientOfMinima(gradients)
    return with_gradients(value, backward, [columns, *kept], [columns], is_linear=True)


class _GradientOfMinima(NamedTuple):
    """The gradients of all sides: constants times the upstream gradient."""

    gradients: Callable[..., Tensor]
    given: int = 1
    again: None = None

    def __call__(self, upstream: Tensor, saved: Sequence[Tensor]) -> list[Tensor | None]:
        return [self.gradients(upstream, *saved[1:])]


def _crossed(clauses: Clauses, columns: Tensor) -> Crossed | None:
    return None if clauses.cross is None else clauses.cross.least(columns)


def _each(clauses: Clauses, columns: Tensor, _crossed: Crossed | None) -> Found:
    return _least(columns, clauses.literals), (columns,)


def _least(columns: Tensor, literals: Sequence[Tensor]) -> Tensor:
    """Return the minimum over the literals of each row."""
    first, *others = literals
    least = columns.index_select(0, first)
    part = torch.empty_like(least)
    for place in others:
        torch.index_select(columns, 0, place, out=part)
        torch.minimum(least, part, out=least)
    return least


def _gradients_of_least(clauses: Clauses, upstream: Tensor, columns: Tensor) -> Tensor:
    places = clauses.places
    total = upstream.new_zeros(columns.shape)  # like `upstream`, which may be batched
    rows = places.shape[1]
    step = rows if columns.is_cuda else thresholds.MINIMA_RULES
    parts = torch.split(places, step, 1), torch.split(upstream.reshape(rows, -1), step)
    for part, gradient in zip(*parts, strict=True):
        sides = [columns.detach().index_select(0, place) for place in part]
        for place, share in zip(part, _shares(sides, gradient), strict=True):
            total.index_add_(0, place, share)
    return total


def _shares(sides: Sequence[Tensor], upstream: Tensor) -> list[Tensor]:
    """Return the gradients of a minimum taken pair by pair. Two equal sides share evenly."""
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
    """Return the largest minimum of each rule and example, over all rows and positions."""
    blocks = partial(_blocks, clauses, examples, inside, columns, crossed)
    tops = [_top(rule) for rule in blocks()] if crossed is None else [crossed.top]
    entries = columns.view(len(columns), examples, -1)
    hits = [entries == top.unsqueeze(1) for top in tops]
    # A side that is read twice counts once, even if only one of its readings lies inside.
    counted = inside if clauses.first_readings is None else clauses.first_readings
    if counted is not None:
        hits = [hit & counted for hit in hits]
    most = max([int(hit.sum(0).sum(1).amax()) for hit in hits])
    value = _of_rules(tops, inside)
    if most <= 1:  # a single side has the maximum, and the whole gradient
        return value, tuple(hits)
    rows, *where = _ties(blocks(), tops)
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
    """Return the largest minimum of each rule and example, and the gradient share of every row.

    This looks at no value, so that it can be recorded.
    """
    tops, shares = [], []
    for rule in _blocks(clauses, examples, inside, columns, None):
        least = torch.cat([block for _, block in rule])
        top = least.amax(0).amax(1)
        ties = (least == top.unsqueeze(1)).to(top.dtype)
        count = ties.sum(0).sum(1)
        tops.append(top)
        shares.append(ties * torch.div(top >= 0, count).unsqueeze(1))
    return _of_rules(tops, inside), (columns, torch.cat(shares))


def _blocks(
    clauses: Clauses,
    examples: int,
    inside: Tensor | None,
    columns: Tensor,
    crossed: Crossed | None,
) -> Iterator[Iterator[tuple[int, Tensor]]]:
    """Yield the minima of each rule in blocks: the number of the first row, and the block.

    A block is rows × examples × positions. Positions that do not count are −1.
    """
    if crossed is not None:
        yield iter([(0, crossed.least.view(len(crossed.least), examples, -1))])
        return
    step = clauses.count if columns.is_cuda else max(1, thresholds.MINIMA_BLOCK // columns.shape[1])
    outside = None if inside is None else ~inside

    def least(start: int, stop: int) -> tuple[int, Tensor]:
        found = _least(columns, clauses.places[:, start:stop].unbind(0))
        block = found.view(stop - start, examples, -1)
        return start, block if outside is None else block.masked_fill_(outside, -1.0)

    first = 0
    for size in clauses.segments:
        last = first + size
        yield (least(at, min(at + step, last)) for at in range(first, last, step))
        first = last


def _top(rule: Iterator[tuple[int, Tensor]]) -> Tensor:
    """Return the maximum of each example over all blocks of a rule."""
    return reduce(torch.maximum, (block.amax(0) for _, block in rule)).amax(1)


def _of_rules(tops: list[Tensor], inside: Tensor | None) -> Tensor:
    value = tops[0] if len(tops) == 1 else torch.stack(tops)
    # A sequence too short for any grounding has only −1, and costs 0.
    return value if inside is None else value.clamp(min=0)


def _ties(
    rules: Iterator[Iterator[tuple[int, Tensor]]], tops: Sequence[Tensor]
) -> Iterator[Tensor]:
    """Return row, column, owner (rule and example) and gradient share of each maximum."""
    ties = []
    for number, (rule, top) in enumerate(zip(rules, tops, strict=True)):
        found = [_where(block == top.unsqueeze(1), start) for start, block in rule]
        rows, example, column = (torch.cat(one) for one in zip(*found, strict=True))
        count = torch.bincount(example, minlength=len(top)).to(top.dtype)
        shares = (top >= 0).div(count)[example]
        ties.append((rows, column, number * len(top) + example, shares))
    return (torch.cat(one) for one in zip(*ties, strict=True))


def _where(hits: Tensor, start: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows, counted from `start`, the examples and the columns of all hits."""
    rows, example, position = hits.nonzero(as_tuple=True)
    return rows + start, example, example * hits.shape[2] + position


def _gradients_of_largest(clauses: Clauses, upstream: Tensor, *kept: Tensor) -> Tensor:
    if kept[0].dtype == torch.bool:
        return _gradients_of_one_each(upstream, kept)
    return _gradients_of_ties(clauses.places, upstream, *kept)


def _gradients_of_all(
    clauses: Clauses, upstream: Tensor, columns: Tensor, shares: Tensor
) -> Tensor:
    each = upstream.reshape(len(clauses.segments), -1, 1).unbind(0)
    parts = zip(torch.split(shares, list(clauses.segments)), each, strict=True)
    gradients = torch.cat([share * gradient for share, gradient in parts])
    return _gradients_of_least(clauses, gradients, columns)


def _gradients_of_one_each(upstream: Tensor, hits: Sequence[Tensor]) -> Tensor:
    """Return the gradients if in every example a single entry has the maximum of each rule."""
    each = upstream.reshape(len(hits), -1, 1).unbind(0)
    parts = [torch.where(hit, gradient, 0.0) for hit, gradient in zip(hits, each, strict=True)]
    total = parts[0] if len(parts) == 1 else torch.stack(parts).sum(0)
    return total.reshape(len(hits[0]), -1)


def _gradients_of_ties(
    places: Tensor,
    upstream: Tensor,
    columns: Tensor,
    rows: Tensor,
    column: Tensor,
    owner: Tensor,
    shares: Tensor,
) -> Tensor:
    at = places[:, rows]
    gradient = upstream.reshape(-1)[owner] * shares
    gradients = torch.stack(_shares(columns.detach()[at, column].unbind(0), gradient))
    where = (at, column.expand_as(at))
    return torch.zeros_like(columns).index_put(where, gradients, accumulate=True)
