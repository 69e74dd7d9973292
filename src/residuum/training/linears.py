"""Linear layers of many runs at once, each with its own weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from residuum.errors import ResiduumError


def linear(x: Tensor, weight: Tensor, bias: Tensor, *, result: torch.dtype | None = None) -> Tensor:
    """Return x · weight + bias for R runs: x (R, N, K), weight (R, K, O), bias (R, O).

    Products are taken in the precision of x, beside which weights may be kept in float32. The
    `result` has that precision too, or is float32 without having been rounded, as logits should be.

    >>> linear(torch.ones(1, 1, 2), torch.ones(1, 2, 3), torch.zeros(1, 3)).tolist()
    [[[2.0, 2.0, 2.0]]]
    """
    runs, outputs = weight.shape[0], weight.shape[-1]
    if (
        x.dim() != 3
        or weight.shape != (x.shape[0], x.shape[2], outputs)
        or bias.shape != (runs, outputs)
    ):
        raise ResiduumError(
            "expected x (runs, examples, inputs), weight (runs, inputs, outputs) and bias (runs, "
            f"outputs), got {tuple(x.shape)}, {tuple(weight.shape)} and {tuple(bias.shape)}"
        )
    if result in (None, x.dtype):
        return torch.baddbmm(bias.to(x.dtype).unsqueeze(1), x, weight.to(x.dtype))
    if result != torch.float32 or x.dtype not in (torch.bfloat16, torch.float16):
        raise ResiduumError(
            f"result: expected {x.dtype}, that of x, or float32 for an x of half precision, "
            f"got {result}"
        )
    product: Tensor = _WideProduct.apply(x, weight)  # type: ignore[no-untyped-call]
    return product + bias.unsqueeze(1)


class _WideProduct(torch.autograd.Function):
    """A product of matrices of half precision, summed and returned in float32."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        """Round the weight as x is."""
        rounded = weight.to(x.dtype)
        ctx.save_for_backward(x, rounded)
        ctx.weight_dtype = weight.dtype
        return _product(x, rounded)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor]:
        """Round the gradient as x is; that of the weight is returned as it was summed."""
        x, weight = ctx.saved_tensors
        rounded = gradient.to(x.dtype)
        of_x = rounded @ weight.transpose(1, 2) if ctx.needs_input_grad[0] else None
        return of_x, _product(x.transpose(1, 2), rounded).to(ctx.weight_dtype)


def _product(left: Tensor, right: Tensor) -> Tensor:
    if left.is_cuda:
        return torch.bmm(left, right, out_dtype=torch.float32)
    return left.float() @ right.float()
