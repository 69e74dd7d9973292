"""What clauses cost, all of them by one matrix product each way, or as a table.

It depends on a sum of sides of the literals: under the product of the logarithms of what would
break a clause, under a residuum of how much the antecedent exceeds the consequent. That is a matrix
of 0, 1 and −1 times the sides, and its transpose takes the slopes back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad

from residuum.losses.blocks import LastSlopes
from residuum.losses.clause_sums import back_to_columns, evaluate, of_a_table
from residuum.losses.clauses import Clauses
from residuum.losses.columns import Stack
from residuum.losses.largest_clauses import largest
from residuum.losses.sides import (
    KnownSlopes,
    Outcome,
    Sides,
    by_slots,
    outcome_with_slopes,
    rows_to_differentiate,
    sides_of,
)
from residuum.losses.slopes import with_slopes
from residuum.losses.tensors import TENSORS, is_traced, without_graph
from residuum.relaxations.degrees import log1mexp

FEWEST: Final = 4
"""Examples from which on it pays to have them side by side in a table."""


def penalties(
    clauses: Clauses,
    inputs: Sequence[Tensor],
    examples: int,
    lengths: Tensor | None,
    shape: tuple[int, ...],
    *,
    is_large: bool,
) -> Tensor | None:
    """Return the penalties of rules × examples in a shape; None where more care is needed.

    `is_large` says that there are more groundings than are evaluated at a time.
    """
    if clauses.table is not None and examples < FEWEST:
        return None
    wants_slopes = torch.is_grad_enabled() and any(given.requires_grad for given in inputs)
    stacks = clauses.stacks(examples, inputs)
    with without_graph():
        sides = sides_of(stacks, inputs, divides=clauses.meaning == "product", looks=True)
        if sides is None:
            return None
        outcome = _outcome(
            clauses, sides, examples, lengths, is_large=is_large, wants_slopes=wants_slopes
        )
        if outcome is None:
            return None
        if outcome.value.shape != shape:  # a view could not be changed in place by the caller
            outcome = outcome._replace(value=outcome.value.reshape(shape).clone())
        if not wants_slopes:
            return outcome.value
        known = None
        if len(clauses.segments) == 1 and not clauses.inside:  # one value for each example
            known = _known_slopes(clauses, sides, outcome)
    rows_again = partial(rows_to_differentiate, stacks, clauses.meaning == "product")
    return outcome_with_slopes(sides, inputs, outcome, known, rows_again)


def penalties_by_rows(
    clauses: Clauses,
    inputs: Sequence[Tensor],
    lengths: Tensor | None,
    parts: Sequence[slice],
    value_again: Callable[[Sequence[Tensor]], Tensor],
) -> Tensor | None:
    """Return the penalties of a single rule, one for each row of the inputs, some rows at a time.

    `value_again(inputs)` gives them once more, for slopes that have slopes. None as of `penalties`.
    """
    if clauses.table is not None and parts[0].stop < FEWEST:
        return None
    wants_slopes = torch.is_grad_enabled() and any(given.requires_grad for given in inputs)
    whole = clauses.stacks(len(inputs[0]), inputs)
    with without_graph():
        known = [_slopes_to_be(stack, inputs) for stack in whole] if wants_slopes else []
        values = []
        for rows in parts:
            own = [given[rows] for given in inputs]
            count = rows.stop - rows.start
            stacks = clauses.stacks(count, own)
            sides = sides_of(stacks, own, divides=clauses.meaning == "product", looks=True)
            if sides is None:
                return None
            lasting = None if lengths is None else lengths[rows]
            outcome = _outcome(
                clauses, sides, count, lasting, is_large=False, wants_slopes=wants_slopes
            )
            if outcome is None:
                return None
            values.append(outcome.value.reshape(count))
            if wants_slopes:
                _known_slopes(clauses, sides, outcome, [slopes[:, rows] for slopes in known])
        value = torch.cat(values)
    if not wants_slopes:
        return value
    return with_slopes(
        value, KnownSlopes(whole, len(inputs), value_again), [*inputs, *known], inputs
    )


def _slopes_to_be(stack: Stack, inputs: Sequence[Tensor]) -> Tensor:
    """Return room for the slopes of the inputs in a stack."""
    like = inputs[stack.slots[0]]
    dtype = torch.promote_types(like.dtype, torch.float32)
    return like.new_empty((len(stack.slots), *like.shape), dtype=dtype)


def _known_slopes(
    clauses: Clauses, sides: Sides, outcome: Outcome, into: Sequence[Tensor] | None = None
) -> list[Tensor]:
    """Return the slopes of a single rule for each stack, of which every example has its own."""
    # Which positions count is decided where what comes from upstream is spread over them.
    upstream = torch.ones_like(outcome.value) if clauses.inside else None
    return sides.slopes(outcome.back(upstream, *outcome.kept), into)


def can_be_recorded(clauses: Clauses, examples: int) -> bool:
    """Return whether penalties and slopes can be had without a look at any value."""
    return clauses.cross is None and (clauses.table is None or examples >= FEWEST)


class Recorded(NamedTuple):
    """Penalties and slopes of the inputs that are good for something if `is_safe`."""

    value: Tensor
    slopes: Sequence[Tensor]
    is_safe: Tensor


def without_a_look(
    clauses: Clauses,
    inputs: Sequence[Tensor],
    lengths: Tensor | None,
    shape: tuple[int, ...],
    upstream: Tensor | None,
    *,
    wants_slopes: bool,
) -> Recorded:
    """Return the penalties of rules × examples in a shape, by operations that can be recorded.

    The slopes are those of what comes from upstream, of a single rule if nothing does.
    """
    examples = math.prod(shape) // len(clauses.segments)
    stacks = clauses.stacks(examples, inputs)
    with without_graph():
        sides = sides_of(stacks, inputs, divides=clauses.meaning == "product", looks=False)
        assert sides is not None
        assert isinstance(sides.is_safe, Tensor)
        outcome = _outcome(
            clauses, sides, examples, lengths, is_large=False, wants_slopes=wants_slopes
        )
        assert outcome is not None  # for there is no cross
        slopes: list[Tensor] = []
        if wants_slopes:
            each = (
                _known_slopes(clauses, sides, outcome)
                if upstream is None
                else sides.slopes(outcome.back(upstream, *outcome.kept))
            )
            found = zip(inputs, by_slots(stacks, each, inputs), strict=True)
            slopes = [torch.zeros_like(one) if slope is None else slope for one, slope in found]
        return Recorded(outcome.value.reshape(shape), slopes, sides.is_safe)


def _outcome(
    clauses: Clauses,
    sides: Sides,
    examples: int,
    lengths: Tensor | None,
    *,
    is_large: bool,
    wants_slopes: bool,
) -> Outcome | None:
    """Return what the groundings of each rule come to; None if a cross of them is not enough."""
    inside = None if lengths is None else _inside(clauses, lengths)
    if clauses.meaning == "minimum":
        return largest(clauses, sides.rows(), examples, inside, looks=sides.is_safe is True)
    over = _Positions(examples, inside) if clauses.inside else None
    return _sums(clauses, sides, over, is_large=is_large, wants_slopes=wants_slopes)


def _sums(
    clauses: Clauses,
    sides: Sides,
    over: _Positions | None,
    *,
    is_large: bool,
    wants_slopes: bool,
) -> Outcome:
    """Return what the groundings of each rule cost together."""
    value, kept = evaluate(clauses, sides, wants_slopes=wants_slopes)
    again = partial(_again, clauses, over)
    if clauses.meaning == "residuum" and (clauses.cross or clauses.table):
        again = partial(_excesses_again, clauses)
    elif clauses.table and is_large:
        again = partial(_once_again, clauses)
    return Outcome(
        value if over is None else over.add_up(value),
        kept,
        partial(_slopes_of_rows, clauses, over),
        again,
    )


def _inside(clauses: Clauses, lengths: Tensor) -> Tensor:
    """Return which positions of each example count."""
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
        counted = apart if self.inside is None else apart.where(self.inside, 0.0)
        return counted.reshape(-1, size)  # `flatten` knows nothing of batches of gradients


def are_ordinary(inputs: Sequence[Tensor]) -> bool:
    """Return whether tensors have values that may be looked at, and slopes are taken backwards."""
    if torch._C._are_functorch_transforms_active() or is_traced(inputs[0]):
        return False
    if forward_ad._current_level >= 0:  # else there are no dual numbers to be looked for
        for given in inputs:
            if forward_ad.unpack_dual(given).tangent is not None:  # type: ignore[no-untyped-call]
                return False
    return True


def can_multiply(inputs: Sequence[Tensor]) -> bool:
    """Return whether tensors are ordinary, and matrices are multiplied exactly here."""
    if not are_ordinary(inputs):
        return False
    if inputs[0].is_cuda and torch.are_deterministic_algorithms_enabled():
        return False
    try:
        return torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # a precision was set for one backend alone
        return False


def _slopes_of_rows(
    clauses: Clauses, over: _Positions | None, upstream: Tensor | None, *kept: Tensor
) -> Tensor:
    """Return the slopes of the columns, to be written to."""
    if clauses.meaning == "product":  # they were those of logarithms
        *slopes, truths = kept
        return _slopes_of_sums(clauses, over, upstream, slopes).div_(truths)
    return _slopes_of_sums(clauses, over, upstream, kept)


def _slopes_of_sums(
    clauses: Clauses, over: _Positions | None, upstream: Tensor | None, slopes: Sequence[Tensor]
) -> Tensor:
    """Return the slopes of what clauses are sums of: columns, or logarithms of them."""
    if upstream is None:
        return back_to_columns(clauses, slopes[0]) if clauses.are_rows_rules else slopes[0]
    size = slopes[0].shape[1]
    upstream = upstream.reshape(len(clauses.segments), -1)
    if over is not None:
        upstream = over.spread(upstream, size)
    if clauses.are_rows_rules:
        return back_to_columns(clauses, slopes[0] * upstream)
    total = slopes[0] * upstream[0]
    for slope, one in zip(slopes[1:], upstream[1:], strict=True):
        total.addcmul_(slope, one)
    return total


def _again(clauses: Clauses, over: _Positions | None, rows: Tensor) -> Tensor:
    """Return the penalties of rules once more, for their slopes to have slopes."""
    slack = _added_up(clauses, rows)
    costs = torch.relu(slack) if clauses.meaning == "residuum" else -log1mexp(TENSORS, slack)
    total = torch.stack([one.sum(0) for one in costs.split(clauses.segments)])
    return total if over is None else over.add_up(total)


def _added_up(clauses: Clauses, rows: Tensor) -> Tensor:
    """Return the sums that clauses are, by operations whose slopes have slopes."""
    if clauses.width:
        return clauses.matrix.to(rows.dtype) @ rows
    # Of a table, in which all clauses are as long.
    first, *others = (rows.index_select(0, place) for place in clauses.literals)
    return sum(others, first)


def _excesses_again(clauses: Clauses, rows: Tensor) -> Tensor:
    """Return the penalties of a table whose slopes do not vary with its rows."""
    with torch.no_grad():
        _, slopes = of_a_table(clauses, rows, None, wants_slopes=True)
    assert slopes is not None
    return (slopes * rows).sum(0)


def _once_again(clauses: Clauses, rows: Tensor) -> Tensor:
    value: Tensor = _Once.apply(rows, clauses)  # type: ignore[no-untyped-call]
    return value


class _Once(torch.autograd.Function):
    """Penalties of a table of products, too large for its slopes to have slopes."""

    @staticmethod
    def forward(ctx: Any, logs: Tensor, clauses: Clauses) -> Tensor:
        value, slopes = of_a_table(clauses, logs.exp(), -torch.expm1(logs), wants_slopes=True)
        ctx.save_for_backward(logs, slopes)
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        logs, slopes = ctx.saved_tensors
        return LastSlopes.apply(slopes * upstream, logs), None  # type: ignore[no-untyped-call]
