"""Evaluating many groundings block by block, with memory for one block at a time.

One penalty per example means that its gradient with respect to that example's inputs can be had
in the forward pass: each block is evaluated and differentiated while it is in the cache, only the
gradients, as large as the inputs, are kept, and the backward pass is one multiplication.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Block = Callable[[Sequence[Tensor], slice, Any], Tensor]


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
        slopes = [torch.zeros_like(inputs[i]) for i in wanted]
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
            if totals is None:
                totals = penalty.new_zeros(examples)
            with torch.no_grad():
                if takes_largest:
                    _keep_larger(totals, slopes, rows, penalty, found)
                else:
                    totals[rows] += penalty
                    for slope, part in zip(slopes, found, strict=True):
                        if part is not None:
                            slope[rows] += part
        assert totals is not None
        ctx.save_for_backward(*slopes)
        ctx.wanted = wanted
        ctx.count = len(inputs)
        return totals

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        gradients: list[Tensor | None] = [None] * ctx.count
        for i, slope in zip(ctx.wanted, ctx.saved_tensors, strict=True):
            shape = upstream.shape + (1,) * (slope.dim() - 1)
            gradients[i] = (slope * upstream.reshape(shape)).to(slope.dtype)
        return None, None, None, None, *gradients


def _keep_larger(
    totals: Tensor,
    slopes: Sequence[Tensor],
    rows: slice,
    penalty: Tensor,
    found: Sequence[Tensor | None],
) -> None:
    """Take over what is larger than so far; blocks that tie share the slope evenly."""
    larger, equal = penalty > totals[rows], penalty == totals[rows]
    for slope, part in zip(slopes, found, strict=True):
        given = torch.zeros_like(slope[rows]) if part is None else part
        shape = penalty.shape + (1,) * (given.dim() - 1)
        mean = (slope[rows] + given) / 2
        kept = torch.where(equal.reshape(shape), mean, slope[rows])
        slope[rows] = torch.where(larger.reshape(shape), given, kept)
    totals[rows] = torch.maximum(totals[rows], penalty)


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
