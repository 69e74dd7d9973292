"""The total penalty of the clauses of rules, and its gradients.

A clause is a sum of literals, computed by a row of the matrix; its gradient goes back the same way.
Literals of products are read by their places, since their truths are multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional

from residuum.losses.degrees.fused_logits import Sides
from residuum.losses.routes import thresholds
from residuum.losses.routes.listing import Clauses

_ALL: Final = slice(None)


def evaluate(
    clauses: Clauses, sides: Sides, *, wants_gradients: bool
) -> tuple[Tensor, list[Tensor]]:
    """Return the penalties of rules and their gradients, a few rows at a time.

    Few rows stay in the CPU's cache. Penalties are rules × columns, or one row for a single rule.
    The list holds one gradient of the columns for each rule; if every row is a rule of its own, it
    holds one tensor of gradients of the rows. The last tensor holds the truths by which gradients
    must be divided, if any. The list is empty unless `wants_gradients`.
    """
    rows = sides.rows()
    divisors = [rows] if clauses.cost == "complement" else []
    read = _read(clauses, sides, rows)
    are_rows_rules = clauses.are_rows_rules
    count, columns = clauses.count, rows.shape[1]
    segments = (count,) if are_rows_rules else clauses.segments
    step = longest = max(segments)
    if longest * columns > thresholds.CHUNK and not rows.is_cuda:
        # Parts of equal size, with no small rest.
        step = math.ceil(longest / round(longest * columns / thresholds.CHUNK))
    if step == count and len(segments) == 1:
        cost, weight = _costs(clauses, _ALL, read, ())
        if not wants_gradients:
            return (cost if are_rows_rules else cost.sum(0)), []
        if are_rows_rules:
            return cost, [weight, *divisors]
        return cost.sum(0), [back_to_columns(clauses, weight), *divisors]
    # All parts reuse the same memory.
    buffers = [rows.new_empty(count if are_rows_rules else step, columns) for _ in range(3)]
    values: list[Tensor] = []
    gradients: list[Tensor] = []
    stop = 0
    for size in segments:
        start, stop = stop, stop + size
        value = gradient = None
        for first in range(start, stop, step):
            own = slice(first, min(first + step, stop))
            to = own if are_rows_rules else slice(own.stop - own.start)
            cost, weight = _costs(clauses, own, read, [buffer[to] for buffer in buffers])
            if are_rows_rules:
                continue
            value = cost.sum(0) if value is None else value.add_(cost.sum(0))
            if wants_gradients:
                gradient = back_to_columns(clauses, weight, own, gradient)
        values += [] if value is None else [value]
        gradients += [] if gradient is None else [gradient]
    if are_rows_rules:
        costs, weights, _ = buffers
        return costs, [weights, *divisors] if wants_gradients else []
    gradients += divisors if wants_gradients else []
    return values[0] if len(values) == 1 else torch.stack(values), gradients


def back_to_columns(
    clauses: Clauses, gradient: Tensor, own: slice = _ALL, total: Tensor | None = None
) -> Tensor:
    """Return the gradients of the columns from those of the rows `own`, added to `total` if given.

    For products they are gradients of the logarithms of the columns. For the column of a falsity,
    the result is the gradient with respect to the truth.
    """
    back = clauses.transposed if own == _ALL else clauses.transposed[:, own]
    back = back if gradient.dtype == torch.float32 else back.to(gradient.dtype)
    return torch.mm(back, gradient) if total is None else total.addmm_(back, gradient)


def _matrix(clauses: Clauses, like: Tensor, own: slice) -> Tensor:
    matrix = clauses.matrix if like.dtype == torch.float32 else clauses.matrix.to(like.dtype)
    return matrix if own == _ALL else matrix[own]


def _places(clauses: Clauses, own: slice) -> Sequence[Tensor]:
    every = clauses.literals
    return every if own == _ALL else [place[own] for place in every]


def _read(clauses: Clauses, sides: Sides, rows: Tensor) -> tuple[Tensor, ...]:
    """Return the tensors that literals read, with neutral rows that fill up short clauses.

    For products these are truths and falsities.
    """
    if clauses.cost == "complement":
        return _filled_up(clauses, rows, 1.0), _filled_up(clauses, sides.falsities(), 0.0)
    return (rows,)


def _filled_up(clauses: Clauses, rows: Tensor, value: float) -> Tensor:
    return functional.pad(rows, (0, 0, 0, 1), value=value) if clauses.is_ragged else rows


def _costs(
    clauses: Clauses, own: slice, read: Sequence[Tensor], to: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Return the penalties of the rows `own` and their gradients, written to buffers if given."""
    if clauses.cost == "complement":
        return _complement(_places(clauses, own), read[0], read[1], to)
    cost, weight, _ = to or (None, None, None)
    cost = torch.mm(_matrix(clauses, read[0], own), read[0], out=cost)
    cost.clamp_(min=0)  # the amount by which antecedents exceed consequents
    return cost, torch.sign(cost, out=weight)


def _complement(
    places: Sequence[Tensor], truths: Tensor, falsities: Tensor, to: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Return −log(1 − x) and its derivative by log x, x / (1 − x), for products x of truths.

    1 − x is computed without cancellation: the sum of each falsity times the truths before it.
    """
    rest, x, part = to or (None, None, None)
    rest = torch.index_select(falsities, 0, places[0], out=rest)
    x = torch.index_select(truths, 0, places[0], out=x)
    for place in places[1:]:
        part = torch.index_select(falsities, 0, place, out=part)
        rest.addcmul_(x, part)
        x.mul_(torch.index_select(truths, 0, place, out=part))
    weight = x.div_(rest)
    return torch.log1p(weight, out=rest), weight  # 1 + x / (1 − x) is 1 / (1 − x)
