"""What clauses cost, all of them by one matrix product each way.

It depends on a sum of sides of the literals: under the product of the logarithms of what would
break a clause, under a residuum of how much the antecedent exceeds the consequent. That is a matrix
of 0, 1 and −1 times the sides, and its transpose takes the slopes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import functional

from residuum.losses.clauses import Clauses
from residuum.losses.columns import columns_of
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
    given = columns_of(clauses.groups, inputs, examples)
    if given is None:
        return None
    columns, truths = given
    if clauses.meaning == "minimum":
        return largest(clauses, columns, examples, lengths)
    if clauses.meaning == "product" and clauses.is_ragged:
        truths = functional.pad(truths, (0, 0, 0, 1), value=1.0)
    matrix = clauses.matrix.to(columns.dtype)
    with torch.no_grad():
        known = _evaluate(clauses, matrix, columns, truths, wants_slopes=columns.requires_grad)
    if known is None:
        return None
    found: Tensor = known[0]
    if known[1]:
        found = _WithSlopes.apply(columns, matrix, clauses, known)  # type: ignore[no-untyped-call]
    if not clauses.inside:
        return found
    found = found.reshape(len(found), examples, -1)
    if lengths is not None:
        limits = lengths.reshape(-1, 1)
        for positions in clauses.inside:
            found = found.masked_fill(positions >= limits, 0.0)
    return found.sum(-1)


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
    clauses: Clauses, matrix: Tensor, columns: Tensor, truths: Tensor, *, wants_slopes: bool
) -> tuple[Tensor, list[Tensor]] | None:
    """Return the penalties of rules and their slopes, a few rows at a time: they stay in the cache.

    Slopes are those of the columns, for each rule, or where every row is a rule those of the rows,
    for all; the list is empty if they are not wanted. None if a clause is so broken that 1 − x has
    no digits left.
    """
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
            to = slice(first, last) if are_rows_rules else slice(last - first)
            cost, weight, rows = costs[to], weights[to], matrix[first:last]
            if clauses.meaning == "residuum":
                torch.mm(rows, columns, out=cost)
                torch.gt(cost, 0, out=weight)
                cost.clamp_(min=0)
            else:
                places = clauses.places[:, first:last]
                if not _complement(rows, places, columns, truths, cost, weight):
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


def _complement(
    rows: Tensor, places: Tensor, columns: Tensor, truths: Tensor, cost: Tensor, weight: Tensor
) -> bool:
    """Write −log(1 − x) and its slope for log x, x / (1 − x), where x is a product of truths.

    False where x is so close to 1 that only its parts could tell.
    """
    torch.index_select(truths, 0, places[0], out=weight)
    for others in places[1:]:
        weight.mul_(torch.index_select(truths, 0, others, out=cost))
    peaks = weight.amax(0)
    near = (peaks > NEARLY_TRUE).nonzero()[:, 0] if float(peaks.amax()) > NEARLY_TRUE else None
    if near is not None:  # in their logarithms such truths still have the digits of 1 − x
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


class _WithSlopes(torch.autograd.Function):
    """Penalties whose slopes are known."""

    @staticmethod
    def forward(
        ctx: Any,
        columns: Tensor,
        matrix: Tensor,
        clauses: Clauses,
        known: tuple[Tensor, list[Tensor]],
    ) -> Tensor:
        value, slopes = known
        ctx.clauses = clauses
        ctx.save_for_backward(columns, matrix, *slopes)
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        columns, matrix, *slopes = ctx.saved_tensors
        nothing = (None,) * 3
        with torch.autocast(columns.device.type, enabled=False):
            if torch.is_grad_enabled():  # a second derivative is wanted
                slack = matrix @ columns
                is_residuum = ctx.clauses.meaning == "residuum"
                costs = torch.relu(slack) if is_residuum else -log1mexp(TENSORS, slack)
                total = torch.stack([one.sum(0) for one in costs.split(ctx.clauses.segments)])
                return *torch.autograd.grad(total, columns, upstream, create_graph=True), *nothing
            if len(matrix) == len(ctx.clauses.segments):
                return matrix.t() @ (slopes[0] * upstream), *nothing
        total = slopes[0] * upstream[0]
        for slope, one in zip(slopes[1:], upstream[1:], strict=True):
            total.addcmul_(slope, one)
        return total, *nothing
