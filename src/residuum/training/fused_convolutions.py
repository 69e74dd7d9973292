"""Convolution, relu and pool of a stack of runs, fused into one Triton kernel each way.

Numbers are bfloat16 and sums float32; only Triton's interpreter also takes float32 numbers.
Nothing here waits for the device. The order of every sum is fixed and does not depend on the
number of runs, so that results are the same every time, also from a CUDA graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from residuum.training import convolution_kernels as kernels


@dataclass(frozen=True)
class Launch:
    """How the work of a kernel is divided.

    A program handles `tiles` tiles of `positions` pooled positions with `warps` warps, and takes
    at most `channels` channels and `outputs` outputs at a time.
    """

    positions: int
    tiles: int
    warps: int
    channels: int = 32
    outputs: int = 64


@dataclass(frozen=True)
class Launches:
    """A launch for each kernel. The defaults were the fastest of those tried on an H200.

    The launch of the data gradient is an exception: it is reasoned, not measured. It is that of
    forward, with tiles that divide the positions of 192 images of 7×7 and of 64 images of 7×14,
    and so fill the device evenly.
    """

    forward_of_images: Launch = Launch(64, 4, 4)
    forward: Launch = Launch(64, 4, 4)
    data_gradient: Launch = Launch(64, 7, 4)
    weight_gradient_of_images: Launch = Launch(64, 16, 4)
    weight_gradient: Launch = Launch(32, 32, 8)


DEFAULT: Final = Launches()


def forward(
    x: Tensor, weight: Tensor, bias: Tensor, launches: Launches = DEFAULT
) -> tuple[Tensor, Tensor]:
    """Return the pooled values, in the precision of `x`, and the code of each maximum (int8)."""
    runs, images, height, width, channels = x.shape
    outputs = weight.shape[-1]
    shape = (runs, images, height // 2, width // 2, outputs)
    out = torch.empty(shape, dtype=x.dtype, device=x.device)
    codes = torch.empty(shape, dtype=torch.int8, device=x.device)
    count = images * (height // 2) * (width // 2)
    bias = bias.float().contiguous()
    if channels == 1:
        launch = launches.forward_of_images
        size = min(outputs, launch.outputs)
        kernels.forward_of_images[_grid(launch, count, runs, outputs // size)](
            x, _arrange_for_images(weight, x.dtype), bias, out, codes, x.stride(0), count,
            height, width, outputs, launch.positions, size, **_settings(launch),
        )  # fmt: skip
    else:
        launch = launches.forward
        size = min(outputs, launch.outputs)
        kernels.forward_of_channels[_grid(launch, count, runs, outputs // size)](
            x, _arrange(weight, x.dtype), bias, out, codes, x.stride(0), count,
            height, width, channels, outputs,
            launch.positions, min(channels, launch.channels), size, **_settings(launch),
        )  # fmt: skip
    return out, codes


def data_gradient(
    gradient: Tensor, codes: Tensor, weight: Tensor, launches: Launches = DEFAULT
) -> Tensor:
    """Return the gradient of `x` from the gradient of the pooled values."""
    runs, images, rows, columns, outputs = gradient.shape
    channels, launch = weight.shape[-2], launches.data_gradient
    out = torch.empty(
        (runs, images, 2 * rows, 2 * columns, channels),
        dtype=gradient.dtype,
        device=gradient.device,
    )
    count, size = images * rows * columns, min(channels, launch.channels)
    kernels.data_gradient[_grid(launch, count, runs, channels // size)](
        gradient, codes, _arrange_mirrored(weight, gradient.dtype), out, count,
        2 * rows, 2 * columns, channels, outputs,
        launch.positions, size, min(outputs, launch.outputs), **_settings(launch),
    )  # fmt: skip
    return out


def weight_gradient(
    x: Tensor, gradient: Tensor, codes: Tensor, launches: Launches = DEFAULT
) -> tuple[Tensor, Tensor]:
    """Return the gradients of weight and bias, in float32."""
    runs, images, height, width, channels = x.shape
    outputs = gradient.shape[-1]
    count = images * (height // 2) * (width // 2)
    launch = launches.weight_gradient_of_images if channels == 1 else launches.weight_gradient
    size = min(outputs, launch.outputs)
    shape = (2, 4, 4, outputs, 2) if channels == 1 else (3, 4, channels, outputs, 2)
    parts = _parts(launch, count)
    sums = torch.empty((runs, parts, *shape), device=x.device)
    bias_sums = torch.empty((runs, parts, outputs), device=x.device)
    if channels == 1:
        kernels.weight_gradient_of_images[_grid(launch, count, runs, outputs // size)](
            x, gradient, codes, sums, bias_sums, x.stride(0), count,
            height, width, outputs, launch.positions, size, **_settings(launch),
        )  # fmt: skip
        return _gather_of_images(sums.sum(1)), bias_sums.sum(1)
    deep = min(channels, launch.channels)
    blocks = 3 * (channels // deep) * (outputs // size)
    kernels.weight_gradient_of_channels[_grid(launch, count, runs, blocks)](
        x, gradient, codes, sums, bias_sums, x.stride(0), count,
        height, width, channels, outputs, launch.positions, deep, size, **_settings(launch),
    )  # fmt: skip
    return _gather(sums.sum(1)), bias_sums.sum(1)


class FusedConvolution(torch.autograd.Function):
    """The layer with its gradients. Each run's x must be contiguous; runs may share one x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Compute the layer, and save the codes for the backward pass."""
        out, codes = forward(x, weight, bias)
        ctx.save_for_backward(x, weight, codes)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        """Return the gradients of x (None if not needed), weight and bias."""
        x, weight, codes = ctx.saved_tensors
        gradient = gradient.contiguous()
        of_x = data_gradient(gradient, codes, weight) if ctx.needs_input_grad[0] else None
        of_weight, of_bias = weight_gradient(x, gradient, codes)
        return of_x, of_weight.to(weight.dtype), of_bias.to(weight.dtype)


def _parts(launch: Launch, count: int) -> int:
    return -(-count // (launch.positions * launch.tiles))


def _grid(launch: Launch, count: int, runs: int, blocks: int) -> tuple[int, int]:
    return _parts(launch, count) * blocks, runs


def _settings(launch: Launch) -> dict[str, int]:
    """Return the keyword arguments of a launch. More pipeline stages were slower in all trials."""
    return {"tiles": launch.tiles, "num_warps": launch.warps, "num_stages": 1}


def _arrange(weight: Tensor, dtype: torch.dtype) -> Tensor:
    """Return (R, 3, 3, C, O) as (R, ky, j, C, O, b), with the weight (ky, j − b)."""
    runs, _, _, channels, outputs = weight.shape
    arranged = weight.new_zeros((runs, 3, 4, channels, outputs, 2), dtype=dtype)
    arranged[:, :, :3, ..., 0] = weight
    arranged[:, :, 1:, ..., 1] = weight
    return arranged


def _gather(sums: Tensor) -> Tensor:
    """Return the gradient of the weight from that of the arrangement by `_arrange`."""
    return sums[:, :, :3, ..., 0] + sums[:, :, 1:, ..., 1]


def _arrange_mirrored(weight: Tensor, dtype: torch.dtype) -> Tensor:
    """Return (R, 3, 3, C, O) as (R, ky, j, C, b, O), with the weight (2 − ky, 2 − (j − b))."""
    runs, _, _, channels, outputs = weight.shape
    mirrored = weight.flip(1, 2)
    arranged = weight.new_zeros((runs, 3, 4, channels, 2, outputs), dtype=dtype)
    arranged[:, :, :3, :, 0] = mirrored
    arranged[:, :, 1:, :, 1] = mirrored
    return arranged


def _arrange_for_images(weight: Tensor, dtype: torch.dtype) -> Tensor:
    """Return (R, 3, 3, 1, O) as (R, a, r, j, O, b), with the weight (r − a, j − b)."""
    runs, outputs = weight.shape[0], weight.shape[-1]
    arranged = weight.new_zeros((runs, 2, 4, 4, outputs, 2), dtype=dtype)
    for a in range(2):
        for b in range(2):
            arranged[:, a, a : a + 3, b : b + 3, :, b] = weight.squeeze(3)
    return arranged


def _gather_of_images(sums: Tensor) -> Tensor:
    """Return the gradient of the weight from that of the arrangement by `_arrange_for_images`."""
    upper = sums[:, 0, :3, :3, :, 0] + sums[:, 0, :3, 1:, :, 1]
    lower = sums[:, 1, 1:, :3, :, 0] + sums[:, 1, 1:, 1:, :, 1]
    return (upper + lower).unsqueeze(3)
