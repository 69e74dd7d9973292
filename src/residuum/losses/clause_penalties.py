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
    clauses: Clauses, inputs: Sequence[Tensor], batch: tuple[int, ...], lengths: Tensor | None
) -> Tensor | None:
    """Return the penalty of each rule, rules × examples; None where more care is needed."""
    examples = torch.Size(batch).numel()
    sides = sides_of(clauses.groups, inputs, examples)
    if sides is None:
        return None
    inside: Tensor | None = None
    if lengths is not None:
        inside = torch.stack([at < lengths.reshape(-1, 1) for at in clauses.inside]).all(0)
    wants_slopes = torch.is_grad_enabled() and any(given.requires_grad for given in inputs)
    if clauses.meaning == "minimum":
        rows = sides.rows
        if wants_slopes:
            outcome = Outcome(rows, (), lambda upstream: upstream, lambda again: again)
            rows = with_slopes(clauses.groups, sides, inputs, outcome)
        return largest(clauses, rows, examples, inside)
    with torch.no_grad():
        known = _evaluate(clauses, sides, wants_slopes=wants_slopes)
        if known is None:
            return None
        over = _Positions(examples, inside) if clauses.inside else None
        value = known[0] if over is None else over.add_up(known[0])
    if not wants_slopes:
        return value
    outcome = Outcome(
        value, known[1], partial(_slopes_of_rows, clauses, over), partial(_again, clauses, over)
    )
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
    columns, truths = sides.rows, sides.truths
    if clauses.meaning == "product" and clauses.is_ragged:
        truths = functional.pad(truths, (0, 0, 0, 1), value=1.0)
    matrix = clauses.matrix.to(columns.dtype)
    are_rows_rules = len(clauses.segments) == len(matrix)
    count, examples = len(matrix), columns.shape[1]
    step = count if columns.is_cuda else min(count, max(1, CHUNK // examples))
    shape = (count if are_rows_rules else step, examples)
    costs, weights = columns.new_empty(shape), columns.new_empty(shape)
    values: list[Tensor] = []
    slopes: list[Tensor] = []
    stop = 0
    for size in (count,) if are_rows_rules else clauses.segments:
        start, stop = stop, stop + size
        for first in range(start, stop, step):
            last = min(first + step, stop)
            cost, weight, rows, places = costs, weights, matrix, clauses.places
            if last - first < count:
                to = slice(first, last) if are_rows_rules else slice(last - first)
                cost, weight = costs[to], weights[to]
                rows, places = matrix[first:last], places[:, first:last]
            if clauses.meaning == "residuum":
                torch.mm(rows, columns, out=cost).clamp_(min=0)
                torch.sign(cost, out=weight)
            elif not _complement(rows, places, columns, truths, cost, weight):
                return None
            if are_rows_rules:
                continue
            if first == start:
                values.append(cost.sum(0))
                slopes += [rows.t() @ weight] if wants_slopes else []
            else:
                values[-1] += cost.sum(0)
                if wants_slopes:
                    slopes[-1].addmm_(rows.t(), weight)
    if are_rows_rules:
        return costs, [weights] if wants_slopes else []
    return torch.stack(values), slopes


def _slopes_of_rows(
    clauses: Clauses, over: _Positions | None, upstream: Tensor, *slopes: Tensor
) -> Tensor:
    """Return the slopes of the columns."""
    if over is not None:
        upstream = over.spread(upstream, slopes[0].shape[1])
    if len(clauses.matrix) == len(clauses.segments):
        return clauses.matrix.to(slopes[0].dtype).t() @ (slopes[0] * upstream)
    total = slopes[0] * upstream[0]
    for slope, one in zip(slopes[1:], upstream[1:], strict=True):
        total.addcmul_(slope, one)
    return total


def _again(clauses: Clauses, over: _Positions | None, rows: Tensor) -> Tensor:
    """Return the penalties of rules once more, for their slopes to have slopes."""
    slack = clauses.matrix.to(rows.dtype) @ rows
    costs = torch.relu(slack) if clauses.meaning == "residuum" else -log1mexp(TENSORS, slack)
    total = torch.stack([one.sum(0) for one in costs.split(clauses.segments)])
    return total if over is None else over.add_up(total)


def _complement(
    rows: Tensor, places: Tensor, columns: Tensor, truths: Tensor, cost: Tensor, weight: Tensor
) -> bool:
    """Write −log(1 − x) and its slope for log x, x / (1 − x), where x is a product of truths.

    False where x is so close to 1 that only its parts could tell.
    """
    torch.index_select(truths, 0, places[0], out=weight)
    for others in places[1:]:
        weight.mul_(torch.index_select(truths, 0, others, out=cost))
    near = None
    if float(weight.amax()) > NEARLY_TRUE:
        # In their logarithms such truths still have the digits of 1 − x.
        near = (weight.amax(0) > NEARLY_TRUE).nonzero()[:, 0]
        logs = rows @ columns.index_select(1, near)
        if float(logs.amax()) > -floor(logs):
            return False
    torch.sub(weight.new_ones(()), weight, out=cost)
    weight.div_(cost)
    if near is not None:
        ratios = weight.index_select(1, near)
        is_near = ratios > NEARLY_TRUE / (1 - NEARLY_TRUE)
        weight.index_copy_(1, near, torch.where(is_near, 1 / torch.expm1(-logs), ratios))
    torch.log1p(weight, out=cost)  # for 1 + x / (1 − x) is 1 / (1 − x)
    return True
