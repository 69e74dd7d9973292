"""Evaluating many groundings block by block, with memory for one block at a time.

One penalty per example means that its gradient with respect to that example's inputs can be had
in the forward pass: each block is evaluated and differentiated while it is in the cache, only the
gradients, as large as the inputs, are kept, and the backward pass is one multiplication.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding import Layout, Plan
from residuum.grounding.plans import Axis, Quantify
from residuum.logic import Forall
from residuum.losses.inspection import groundings_of
from residuum.losses.reading import Window

Block = Callable[[Sequence[Tensor], slice, Any], Tensor]


CPU_BLOCK: Final = 1 << 18
"""Groundings evaluated at a time on a CPU: what its cache holds."""

CPU_ROWS: Final = 140_000
"""Groundings of clauses evaluated at a time on a CPU if a batch has more than a block."""

GPU_BLOCK: Final = 1 << 26
"""Groundings evaluated at a time on a GPU, which is fast when it has much to do."""

LARGEST_BLOCK: Final = 1 << 28
"""More groundings than these are never evaluated at once: a gibibyte for each number kept."""


def bytes_for(plan: Plan, groundings: int) -> int:
    """Return about how much memory a block takes: each step keeps a number and its slope."""
    return 2 * 4 * len(plan.steps) * groundings


def split(
    plan: Plan, layout: Layout, examples: int, block: int
) -> list[tuple[slice, Window | None]]:
    """Return blocks of examples and, if one example is too large, of its first variable."""
    each = max(1, groundings_of(plan).largest(layout))
    parts = max(1, math.ceil(examples / max(1, block // each)))
    rows = max(1, math.ceil(examples / parts))  # alike in size: none is a few left over
    windows: list[Window | None] = [None]
    last = len(plan.steps) - 1
    root = plan.steps[last]
    smallest = each
    if each > block and isinstance(root, Quantify) and root.kind is Forall:
        axis, length = root.axes[0], layout.selections[last].lengths[0]
        if length and _is_alone(axis, plan):
            assert axis.dimension is not None
            smallest = each // length
            step = max(1, length * block // each)
            windows = [
                Window(axis.dimension, start, min(start + step, length))
                for start in range(0, length, step)
            ]
    if smallest > LARGEST_BLOCK:
        raise GroundingError(
            f"the rule has {smallest:,} groundings that must be evaluated at once, about "
            f"{bytes_for(plan, smallest) / 2**30:,.0f} GiB; put the variable with the most members "
            "first in an outermost `forall`, so that it can be taken in blocks"
        )
    return [
        (slice(first, min(first + rows, examples)), window)
        for first in range(0, examples, rows)
        for window in windows
    ]


def _is_alone(axis: Axis, plan: Plan) -> bool:
    """Return whether one quantifier alone ranges over the dimension of an axis.

    A variable that shadows another of its domain is an equal axis of another quantifier.
    """
    dimensions = [
        other.dimension for step in plan.steps if isinstance(step, Quantify) for other in step.axes
    ]
    return dimensions.count(axis.dimension) == 1


class LastSlopes(torch.autograd.Function):
    """Slopes that vary with what is given beside them, though what would say how is gone.

    They are refused slopes of their own, lest these should count as 0 beside those of other losses.
    """

    @staticmethod
    def forward(_ctx: Any, slopes: Tensor, *_given: Tensor) -> Tensor:
        return slopes.clone()

    @staticmethod
    def backward(_ctx: Any, *_upstream: Tensor) -> Any:
        raise GroundingError(
            "second derivatives are to be had of rules in one block, and this batch has more "
            "groundings; pass fewer examples, or compile the rule with a larger block="
        )


class _Blocked(torch.autograd.Function):
    """Sum (or largest) of the blocks, with the gradient computed on the way."""

    @staticmethod
    def forward(
        ctx: Any,
        evaluate: Block,
        parts: Sequence[tuple[slice, Any]],
        takes_largest: bool,
        examples: int,
        *inputs: Tensor,
    ) -> Tensor:
        wanted = [i for i, given in enumerate(inputs) if given.requires_grad]
        # Half precision is too coarse to add blocks up in.
        slopes = [
            torch.zeros_like(inputs[i], dtype=torch.promote_types(inputs[i].dtype, torch.float32))
            for i in wanted
        ]
        ties = torch.ones(examples, device=inputs[0].device)
        totals: Tensor | None = None
        for rows, window in parts:
            leaves = [given[rows].detach().requires_grad_(i in wanted)
                      for i, given in enumerate(inputs)]  # fmt: skip
            with torch.enable_grad():
                penalty = evaluate(leaves, rows, window)
                together = penalty.sum()
            penalty = penalty.detach()
            found: Sequence[Tensor | None] = [None] * len(wanted)
            if together.requires_grad:
                found = torch.autograd.grad(
                    together, [leaves[i] for i in wanted], allow_unused=True
                )
            if totals is None:  # no penalty is below 0
                totals = penalty.new_full((examples,), -1.0 if takes_largest else 0.0)
            with torch.no_grad():
                if takes_largest:
                    _keep_larger(
                        totals[rows], [s[rows] for s in slopes], ties[rows], penalty, found
                    )
                else:
                    totals[rows] += penalty
                    for slope, part in zip(slopes, found, strict=True):
                        if part is not None:
                            slope[rows] += part
        assert totals is not None
        ctx.save_for_backward(*inputs, *slopes)
        ctx.wanted = wanted
        return totals

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        given = len(ctx.saved_tensors) - len(ctx.wanted)
        inputs, slopes = ctx.saved_tensors[:given], ctx.saved_tensors[given:]
        gradients: list[Tensor | None] = [None] * given
        for i, slope in zip(ctx.wanted, slopes, strict=True):
            shape = upstream.shape + (1,) * (slope.dim() - 1)
            found = (slope * upstream.reshape(shape)).to(inputs[i].dtype)
            if torch.is_grad_enabled():
                found = LastSlopes.apply(found, *inputs)  # type: ignore[no-untyped-call]
            gradients[i] = found
        return None, None, None, None, *gradients


def _keep_larger(
    totals: Tensor,
    slopes: Sequence[Tensor],
    ties: Tensor,
    penalty: Tensor,
    found: Sequence[Tensor | None],
) -> None:
    """Take over, in place, what is larger than so far; blocks that tie share the slope evenly."""
    larger, equal = penalty > totals, penalty == totals
    ties[larger] = 1
    ties[equal] += 1
    for slope, part in zip(slopes, found, strict=True):
        given = torch.zeros_like(slope) if part is None else part.to(slope.dtype)
        shape = penalty.shape + (1,) * (given.dim() - 1)
        mean = slope + (given - slope) / ties.reshape(shape)
        slope.copy_(torch.where((larger | equal).reshape(shape), mean, slope))
    totals.copy_(torch.maximum(totals, penalty))


def evaluate_in_blocks(
    evaluate: Block,
    parts: Sequence[tuple[slice, Any]],
    inputs: Sequence[Tensor],
    *,
    examples: int,
    takes_largest: bool,
) -> Tensor:
    """Return one penalty per example from `evaluate(inputs of the rows, rows, window)`."""
    if any(given.requires_grad for given in inputs) and torch.is_grad_enabled():
        result: Tensor = _Blocked.apply(  # type: ignore[no-untyped-call]
            evaluate, parts, takes_largest, examples, *inputs
        )
        return result
    totals: Tensor | None = None
    for rows, window in parts:
        penalty = evaluate([given[rows] for given in inputs], rows, window)
        if totals is None:
            totals = penalty.new_zeros(examples)
        if takes_largest:
            totals[rows] = torch.maximum(totals[rows], penalty)
        else:
            totals[rows] += penalty
    assert totals is not None
    return totals
