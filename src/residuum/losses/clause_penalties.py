"""What clauses cost, all of them by one matrix product each way.

It depends on a sum of sides of the literals: under the product of the logarithms of what would
break a clause, under a residuum of how much the antecedent exceeds the consequent. That is a matrix
of 0, 1 and −1 times the sides, and its transpose takes the slopes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import functional

from residuum.losses.clauses import Clauses
from residuum.losses.columns import Outcome, Sides, sides_of, with_slopes
from residuum.losses.largest_clauses import largest
from residuum.losses.tensors import NEARLY_TRUE, TENSORS, floor, is_traced
from residuum.relaxations.degrees import log1mexp

CHUNK: Final = 1 << 17
"""Groundings evaluated at a time on a CPU, where fresh memory costs more than arithmetic."""


def penalties(
    clauses: Clauses,
    inputs: Sequence[Tensor],
    examples: int,
    lengths: Tensor | None,
    shape: tuple[int, ...],
) -> Tensor | None:
    """Return the penalties of rules × examples in a shape; None where more care is needed."""
    with torch.no_grad():
        sides = sides_of(clauses.groups, inputs, examples)
    if sides is None:
        return None
    if clauses.meaning == "product" and clauses.is_ragged:
        assert sides.truths is not None
        sides = sides._replace(truths=functional.pad(sides.truths, (0, 0, 0, 1), value=1.0))
    inside: Tensor | None = None
    if lengths is not None:
        inside = torch.stack([at < lengths.reshape(-1, 1) for at in clauses.inside]).all(0)
    wants_slopes = torch.is_grad_enabled() and any(given.requires_grad for given in inputs)
    if clauses.meaning == "minimum":
        rows = sides.rows
        if wants_slopes:
            outcome = Outcome(rows, (), lambda upstream: upstream, lambda again: again)
            rows = with_slopes(clauses.groups, sides, inputs, outcome)
        return largest(clauses, rows, examples, inside).reshape(shape)
    with torch.no_grad():
        known = _evaluate(clauses, sides, wants_slopes=wants_slopes)
        if known is None:
            return None
        over = _Positions(examples, inside) if clauses.inside else None
        value = known[0] if over is None else over.add_up(known[0])
        if value.shape != shape:  # a view could not be changed in place by the caller
            value = value.reshape(shape).clone()
    if not wants_slopes:
        return value
    back = partial(_slopes_of_rows, clauses, over)
    outcome = Outcome(value, known[1], back, partial(_again, clauses, over, shape))
    return with_slopes(clauses.groups, sides, inputs, outcome)


class _Positions(NamedTuple):
    """The positions of sequences, which stand side by side in each example, and which count."""

    examples: int
    inside: Tensor | None

    def add_up(self, penalty: Tensor) -> Tensor:
        """Return rules × examples from rules × (examples × positions)."""
        apart = penalty.reshape(len(penalty), self.examples, -1)
        return (apart if self.inside is None else apart.where(self.inside, 0.0)).sum(-1)

    def spread(self, slope: Tensor, size: int) -> Tensor:
        """Return the slopes of the parts from those of what they add up to."""
        apart = slope.unsqueeze(-1).expand(-1, -1, size // self.examples)
        return (apart if self.inside is None else apart.where(self.inside, 0.0)).flatten(1)


def can_multiply(inputs: Sequence[Tensor]) -> bool:
    """Return whether matrices are multiplied exactly here, and slopes are taken backwards."""
    for given in inputs:
        if is_traced(given):
            return False
        if forward_ad.unpack_dual(given).tangent is not None:  # type: ignore[no-untyped-call]
            return False
    if inputs[0].is_cuda and torch.are_deterministic_algorithms_enabled():
        return False
    try:
        return torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # a precision was set for one backend alone
        return False


def _evaluate(
    clauses: Clauses, sides: Sides, *, wants_slopes: bool
) -> tuple[Tensor, list[Tensor]] | None:
    """Return the penalties of rules and their slopes, a few rows at a time: they stay in the cache.

    Slopes are those of the columns, for each rule, or where every row is a rule those of the rows,
    for all; the list is empty if they are not wanted. None if a clause is so broken that 1 − x has
    no digits left.
    """
    columns = sides.rows
    matrix = clauses.matrix.to(columns.dtype)
    are_rows_rules = clauses.are_rows_rules
    count, examples = matrix.shape[0], columns.shape[1]
    step = count if columns.is_cuda else min(count, max(1, CHUNK // examples))
    segments = (count,) if are_rows_rules else clauses.segments
    is_whole = step >= count and len(segments) == 1
    shape = (count if are_rows_rules else step, examples)
    # The same memory for all, unless there is one alone.
    buffers = () if is_whole else (columns.new_empty(shape), columns.new_empty(shape))
    values: list[Tensor] = []
    slopes: list[Tensor] = []
    stop = 0
    for size in segments:
        start, stop = stop, stop + size
        for first in range(start, stop, step):
            last = min(first + step, stop)
            to = slice(first, last) if are_rows_rules else slice(last - first)
            part = matrix if is_whole else matrix[first:last]
            found = _costs(clauses, part, first, sides, [buffer[to] for buffer in buffers])
            if found is None:
                return None
            cost, weight = found
            if are_rows_rules:
                continue
            if first == start:
                values.append(cost.sum(0))
                slopes += [part.t() @ weight] if wants_slopes else []
            else:
                values[-1] += cost.sum(0)
                if wants_slopes:
                    slopes[-1].addmm_(part.t(), weight)
    if are_rows_rules:
        costs, weights = buffers or (cost, weight)
        return costs, [weights] if wants_slopes else []
    return values[0].unsqueeze(0) if len(values) == 1 else torch.stack(values), slopes


def _costs(
    clauses: Clauses, matrix: Tensor, first: int, sides: Sides, to: Sequence[Tensor]
) -> tuple[Tensor, Tensor] | None:
    """Return what some rows cost and their slopes, written to buffers if there are any."""
    cost, weight = to or (None, None)
    if clauses.meaning == "residuum":
        cost = torch.mm(matrix, sides.rows, out=cost).clamp_(min=0)
        return cost, torch.sign(cost, out=weight)
    places = clauses.places[:, first : first + len(matrix)]
    return _complement(matrix, places, sides, cost, weight)


def _slopes_of_rows(
    clauses: Clauses, over: _Positions | None, upstream: Tensor, *slopes: Tensor
) -> Tensor:
    """Return the slopes of the columns."""
    size = slopes[0].shape[1]
    upstream = upstream.reshape(len(clauses.segments), size if over is None else over.examples)
    if over is not None:
        upstream = over.spread(upstream, size)
    if clauses.are_rows_rules:
        return clauses.matrix.to(slopes[0].dtype).t() @ (slopes[0] * upstream)
    total = slopes[0] * upstream[0]
    for slope, one in zip(slopes[1:], upstream[1:], strict=True):
        total.addcmul_(slope, one)
    return total


def _again(
    clauses: Clauses, over: _Positions | None, shape: tuple[int, ...], rows: Tensor
) -> Tensor:
    """Return the penalties of rules once more, for their slopes to have slopes."""
    slack = clauses.matrix.to(rows.dtype) @ rows
    costs = torch.relu(slack) if clauses.meaning == "residuum" else -log1mexp(TENSORS, slack)
    total = torch.stack([one.sum(0) for one in costs.split(clauses.segments)])
    return (total if over is None else over.add_up(total)).reshape(shape)


def _complement(
    matrix: Tensor,
    places: Tensor,
    sides: Sides,
    cost: Tensor | None,
    weight: Tensor | None,
) -> tuple[Tensor, Tensor] | None:
    """Return −log(1 − x) and its slope for log x, x / (1 − x), where x is a product of truths.

    None where x is so close to 1 that only its parts could tell.
    """
    truths = sides.truths
    assert truths is not None
    weight = torch.index_select(truths, 0, places[0], out=weight)
    for others in places[1:]:
        cost = torch.index_select(truths, 0, others, out=cost)
        weight.mul_(cost)
    near = None
    if float(weight.amax()) > NEARLY_TRUE:
        # In their logarithms such truths still have the digits of 1 − x.
        near = (weight.amax(0) > NEARLY_TRUE).nonzero()[:, 0]
        logs = matrix @ sides.rows.index_select(1, near)
        if float(logs.amax()) > -floor(logs):
            return None
    cost = torch.sub(weight.new_ones(()), weight, out=cost)
    weight.div_(cost)
    if near is not None:
        ratios = weight.index_select(1, near)
        is_near = ratios > NEARLY_TRUE / (1 - NEARLY_TRUE)
        weight.index_copy_(1, near, torch.where(is_near, 1 / torch.expm1(-logs), ratios))
    return torch.log1p(weight, out=cost), weight  # for 1 + x / (1 − x) is 1 / (1 − x)
