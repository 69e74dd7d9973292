"""Layers of a stack of runs, each run with its own weights: convolution and linear."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from residuum.errors import ResiduumError

MOST_NUMBERS: Final = 2**31
"""Numbers of a run in one tensor must be fewer: the fused kernels count them in 32 bits."""


IMAGES_COMPARED: Final = 16
LARGEST_ERROR: Final = 2**-6
"""The largest relative error of the fused kernels; rounding to bfloat16 makes a quarter of it."""


def conv_relu_pool(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return the 2×2 max-pool of the relu of a 3×3 convolution with padding 1, channels last.

    Shapes, for R runs: x (R, N, H, W, C), weight (R, 3, 3, C, O), bias (R, O), and the result
    (R, N, H/2, W/2, O), in the precision of x. Among equal positions of a window the first gets
    the gradient, and the gradient of relu at 0 is 0. Weights may be float32 if x is bfloat16.

    On a GPU with Triton, an x in bfloat16 goes through fused kernels that sum in float32. They
    need 1 channel or a power of two from 16 on, and such a power of outputs. Before their first
    use for an image size they are compared with float64, because a compiler was seen to make
    wrong code from right kernels. If they disagree, a warning says so and they are not used.

    >>> x = torch.arange(16.0).reshape(1, 1, 4, 4, 1)
    >>> one, zero = torch.ones(1, 3, 3, 1, 1), torch.zeros(1, 1)
    >>> conv_relu_pool(x, one, zero).flatten().tolist()
    [45.0, 54.0, 81.0, 90.0]
    """
    _check(x, weight, bias)
    if _can_fuse(x, weight):
        from residuum.training.fused_convolutions import FusedConvolution

        shared = x if x[0].is_contiguous() else x.contiguous()
        fused: Tensor = FusedConvolution.apply(shared, weight, bias)  # type: ignore[no-untyped-call]
        return fused
    weight, bias = weight.to(x.dtype), bias.to(x.dtype)
    return torch.stack([_plain(*run) for run in zip(x, weight, bias, strict=True)])


def _plain(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return the layer of one run; relu after the pool is the same at a quarter of the work."""
    channels_first, kernel = x.permute(0, 3, 1, 2), weight.permute(3, 2, 0, 1)
    convolved = functional.conv2d(channels_first, kernel, bias, padding=1)
    return functional.max_pool2d(convolved, 2).relu().permute(0, 2, 3, 1)


def _can_fuse(x: Tensor, weight: Tensor) -> bool:
    channels, outputs = weight.shape[-2:]
    return (
        x.is_cuda
        and x.dtype == torch.bfloat16
        and _is_power_from_16(outputs)
        and (_is_power_from_16(channels) or (channels == 1 and not x.requires_grad))
        and x[0].numel() // channels * max(channels, outputs) < MOST_NUMBERS
        and x.numel() > 0
        and _has_triton()
        and _is_right(tuple(x.shape[2:]), outputs, x.device)
    )


@cache
def _is_right(shape: tuple[int, ...], outputs: int, device: torch.device) -> bool:
    """Return whether the fused kernels agree with float64 on this device."""
    from residuum.training.fused_convolutions import FusedConvolution

    drawn = torch.Generator().manual_seed(0)
    x = torch.randn((1, IMAGES_COMPARED, *shape), generator=drawn)
    weight = torch.randn((1, 3, 3, shape[-1], outputs), generator=drawn)
    bias = torch.randn((1, outputs), generator=drawn)
    given = [t.bfloat16().to(device).requires_grad_() for t in (x, weight, bias)]
    given[0].requires_grad_(shape[-1] > 1)
    exact = [t.detach().double().requires_grad_(t.requires_grad) for t in given]
    found = FusedConvolution.apply(*given)  # type: ignore[no-untyped-call]
    wanted = _plain(*(t[0] for t in exact)).unsqueeze(0)
    given_gradient = torch.randn(wanted.shape, generator=drawn).to(found)
    needed = [t for t in given if t.requires_grad], [t for t in exact if t.requires_grad]
    gradients = torch.autograd.grad(found, needed[0], given_gradient)
    wanted_gradients = torch.autograd.grad(wanted, needed[1], given_gradient.double())
    pairs = zip((found.detach(), *gradients), (wanted.detach(), *wanted_gradients), strict=True)
    errors = [float((one.double() - other).norm() / other.norm()) for one, other in pairs]
    if all(error <= LARGEST_ERROR for error in errors):  # NaN fails this too
        return True
    warnings.warn(
        f"fused convolutions are not used for {shape} → {outputs}: on {device} they are off by "
        f"{', '.join(f'{error:.1e}' for error in errors)} (result and gradients), relative to "
        "float64. Training is right, but slower; please report this with your version of Triton",
        stacklevel=2,
    )
    return False


def _is_power_from_16(number: int) -> bool:
    return number >= 16 and number & (number - 1) == 0


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


def _check(x: Tensor, weight: Tensor, bias: Tensor) -> None:
    if x.dim() != 5 or x.shape[2] % 2 or x.shape[3] % 2:
        raise ResiduumError(
            "x: expected the shape (runs, images, height, width, channels) with an even height "
            f"and width, got {tuple(x.shape)}; pad or crop the images"
        )
    runs, channels = x.shape[0], x.shape[-1]
    if weight.dim() != 5 or weight.shape[:4] != (runs, 3, 3, channels):
        raise ResiduumError(
            f"weight: expected the shape {(runs, 3, 3, channels)} and outputs, "
            f"got {tuple(weight.shape)}"
        )
    if bias.shape != (runs, weight.shape[-1]):
        raise ResiduumError(
            f"bias: expected the shape {(runs, weight.shape[-1])}, got {tuple(bias.shape)}"
        )


def linear(x: Tensor, weight: Tensor, bias: Tensor, *, result: torch.dtype | None = None) -> Tensor:
    """Return x · weight + bias for R runs: x (R, N, K), weight (R, K, O), bias (R, O).

    Products are taken in the precision of x, even if weights are float32. The `result` has the
    precision of x too, or is float32 without rounding, which suits logits.

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
    """A product of matrices in half precision, with sums and result in float32."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        """Multiply x by the weight, rounded to the precision of x."""
        rounded = weight.to(x.dtype)
        ctx.save_for_backward(x, rounded)
        ctx.weight_dtype = weight.dtype
        return _product(x, rounded)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor]:
        """Round the gradient to the precision of x; sum the gradient of the weight in float32."""
        x, weight = ctx.saved_tensors
        rounded = gradient.to(x.dtype)
        of_x = rounded @ weight.transpose(1, 2) if ctx.needs_input_grad[0] else None
        return of_x, _product(x.transpose(1, 2), rounded).to(ctx.weight_dtype)


def _product(left: Tensor, right: Tensor) -> Tensor:
    if left.is_cuda:
        return torch.bmm(left, right, out_dtype=torch.float32)
    return left.float() @ right.float()
