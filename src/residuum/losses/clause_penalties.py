"""What clauses cost, all of them by one matrix product each way.

It depends on a sum of sides of the literals: under the product of the logarithms of what would
break a clause, under a residuum of how much the antecedent exceeds the consequent. That is a matrix
of 0, 1 and −1 times the sides, and its transpose takes the slopes back.
"""

from __future__ import annotations

import math
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
from residuum.losses.tensors import TENSORS, floor, is_traced
from residuum.relaxations.degrees import log1mexp

CHUNK: Final = 1 << 17
"""About so many groundings at a time on a CPU, where fresh memory costs more than arithmetic."""


def penalties(
    clauses: Clauses,
    inputs: Sequence[Tensor],
    examples: int,
    lengths: Tensor | None,
    shape: tuple[int, ...],
) -> Tensor | None:
    """Return the penalties of rules × examples in a shape; None where more care is needed."""
    wants_slopes = torch.is_grad_enabled() and any(given.requires_grad for given in inputs)
    with torch.no_grad():
        sides = sides_of(clauses.groups, inputs, examples)
        if sides is None:
            return None
        inside = _inside(clauses, lengths)
        if clauses.meaning == "minimum":
            outcome = largest(clauses, sides.rows(), examples, inside)
        else:
            over = _Positions(examples, inside) if clauses.inside else None
            known = _evaluate(clauses, sides, wants_slopes=wants_slopes)
            if known is None:
                return None
            value = known[0] if over is None else over.add_up(known[0])
            back = partial(_slopes_of_rows, clauses, over)
            outcome = Outcome(value, known[1], back, partial(_again, clauses, over))
        if outcome.value.shape != shape:  # a view could not be changed in place by the caller
            outcome = outcome._replace(value=outcome.value.reshape(shape).clone())
    return with_slopes(sides, inputs, outcome) if wants_slopes else outcome.value


def _inside(clauses: Clauses, lengths: Tensor | None) -> Tensor | None:
    """Return which positions of each example count, if not all do."""
    if lengths is None:
        return None
    return torch.stack([at < lengths.reshape(-1, 1) for at in clauses.inside]).all(0)


class _Positions(NamedTuple):
    """The positions of sequences, which stand side by side in each example, and which count."""

    examples: int
    inside: Tensor | None

    def add_up(self, penalty: Tensor) -> Tensor:
        """Return examples from examples × positions side by side, for each rule if several."""
        apart = penalty.reshape(*penalty.shape[:-1], self.examples, -1)
        return (apart if self.inside is None else apart.where(self.inside, 0.0)).sum(-1)

    def spread(self, slope: Tensor, size: int) -> Tensor:
        """Return the slopes of the parts, rules × size, from those of what they add up to."""
        apart = slope.unsqueeze(-1).expand(-1, -1, size // self.examples)
        return (apart if self.inside is None else apart.where(self.inside, 0.0)).flatten(1)


def can_multiply(inputs: Sequence[Tensor]) -> bool:
    """Return whether matrices are multiplied exactly here, and slopes are taken backwards."""
    if is_traced(inputs[0]):
        return False
    if torch._C._are_functorch_transforms_active() and any(map(is_traced, inputs)):
        return False
    if forward_ad._current_level >= 0:  # else there are no dual numbers to be looked for
        for given in inputs:
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

    Penalties are rules × columns, or those of the one rule. Slopes are those of the columns, for
    each rule, or where every row is a rule those of the rows, for all; the list is empty if they
    are not wanted. None if a clause is so broken that 1 − x has no digits left.
    """
    read = _read(clauses, sides)
    matrix = clauses.matrix.to(read[0].dtype)
    are_rows_rules = clauses.are_rows_rules
    count, examples = matrix.shape[0], read[0].shape[1]
    segments = (count,) if are_rows_rules else clauses.segments
    longest = max(segments)
    parts = 1 if matrix.is_cuda else max(1, round(longest * examples / CHUNK))
    step = math.ceil(longest / parts)  # parts alike in size: none is a few rows left over
    if step == count and len(segments) == 1:
        found = _costs(clauses, matrix, 0, read, ())
        if found is None:
            return None
        cost, weight = found
        if are_rows_rules:
            return cost, [weight] if wants_slopes else []
        return cost.sum(0), [matrix.t() @ weight] if wants_slopes else []
    # The same memory for all.
    shape = (count if are_rows_rules else step, examples)
    buffers = [read[0].new_empty(shape) for _ in range(3)]
    values: list[Tensor] = []
    slopes: list[Tensor] = []
    stop = 0
    for size in segments:
        start, stop = stop, stop + size
        for first in range(start, stop, step):
            last = min(first + step, stop)
            to = slice(first, last) if are_rows_rules else slice(last - first)
            part = matrix[first:last]
            found = _costs(clauses, part, first, read, [buffer[to] for buffer in buffers])
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
        costs, weights, _ = buffers
        return costs, [weights] if wants_slopes else []
    return values[0] if len(values) == 1 else torch.stack(values), slopes


def _costs(
    clauses: Clauses, matrix: Tensor, first: int, read: Sequence[Tensor], to: Sequence[Tensor]
) -> tuple[Tensor, Tensor] | None:
    """Return what some rows cost and their slopes, written to buffers if there are any."""
    if clauses.meaning == "residuum":
        return _excess(matrix, read[0], to)
    truths, falsities = read
    return _complement(clauses.places[:, first : first + len(matrix)], truths, falsities, to)


def _read(clauses: Clauses, sides: Sides) -> tuple[Tensor, ...]:
    """Return the rows that clauses are made of: falsities beside truths where they multiply.

    Below them stands what fills short clauses up.
    """
    if clauses.meaning == "residuum":
        return (sides.rows(),)
    if not clauses.is_ragged:
        return sides.truths(), sides.falsities()
    return (
        functional.pad(sides.truths(), (0, 0, 0, 1), value=1.0),
        functional.pad(sides.falsities(), (0, 0, 0, 1)),
    )


def _excess(matrix: Tensor, rows: Tensor, to: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return how much antecedents exceed consequents, and the slope of it."""
    cost, weight, _ = to or (None, None, None)
    cost = torch.mm(matrix, rows, out=cost).clamp_(min=0)
    return cost, torch.sign(cost, out=weight)


def _complement(
    places: Tensor, truths: Tensor, falsities: Tensor, to: Sequence[Tensor]
) -> tuple[Tensor, Tensor] | None:
    """Return −log(1 − x) and its slope for log x, x / (1 − x), where x is a product of truths.

    One less a product is the sum of each falsity times the truths before it: nothing cancels. None
    where it is so small that logarithms go on as a straight line.
    """
    rest, x, part = to or (None, None, None)
    rest = torch.index_select(falsities, 0, places[0], out=rest)
    x = torch.index_select(truths, 0, places[0], out=x)
    for place in places[1:]:
        part = torch.index_select(falsities, 0, place, out=part)
        rest.addcmul_(x, part)
        x.mul_(torch.index_select(truths, 0, place, out=part))
    if rest.amin().item() < floor(rest):
        return None
    weight = x.div_(rest)
    return torch.log1p(weight, out=rest), weight  # for 1 + x / (1 − x) is 1 / (1 − x)


def _slopes_of_rows(
    clauses: Clauses, over: _Positions | None, upstream: Tensor, *slopes: Tensor
) -> Tensor:
    """Return the slopes of the columns."""
    if len(slopes) == 1 and over is None and not clauses.are_rows_rules:
        return slopes[0] * upstream.reshape(-1)
    size = slopes[0].shape[1]
    upstream = upstream.reshape(len(clauses.segments), -1)
    if over is not None:
        upstream = over.spread(upstream, size)
    if clauses.are_rows_rules:
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
