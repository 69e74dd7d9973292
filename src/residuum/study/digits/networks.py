"""The convolutional networks of the digits study, for a stack of runs, and their predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

import torch
from torch import Tensor, nn

from residuum.study.digits.data.batches import side_by_side
from residuum.study.digits.settings import Precision
from residuum.training.layers import conv_relu_pool, linear
from residuum.training.randomness import dropped_out, purpose, starting_values

CHANNELS: Final = (32, 64)
HIDDEN: Final = 128
CLASSES: Final = 10
DROPOUT: Final = 0.5

CHUNK: Final = 16_384
"""Images that are evaluated at once, over all runs."""


@final
class Classifiers(nn.Module):
    """One classifier of images into ten digits for each run, with stacked parameters.

    A classifier has two 3 × 3 convolutions with ReLU and 2 × 2 max-pooling, a layer of 128 units
    with ReLU and dropout, and ten logits. Its sizes follow from the images. Parameters start
    uniformly within one over the root of the fan-in, as in PyTorch. Initial values and dropout
    depend only on the seed of the run and on the name of the network.
    """

    seeds: Tensor
    first_weight: Tensor
    first_bias: Tensor
    second_weight: Tensor
    second_bias: Tensor
    hidden_weight: Tensor
    hidden_bias: Tensor
    output_weight: Tensor
    output_bias: Tensor

    def __init__(
        self,
        name: str,
        seeds: Sequence[int],
        height: int,
        width: int,
        *,
        precision: Precision = "float32",
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__()
        self._purpose = purpose(f"{name}: dropout")
        # With bfloat16, parameters, sums and logits stay in single precision.
        self._compute = getattr(torch, precision)
        dtype = torch.float64 if precision == "float64" else torch.float32
        self.register_buffer("seeds", torch.tensor(list(seeds), device=device), persistent=False)
        first, second = CHANNELS
        flat = (height // 4) * (width // 4) * second
        shapes = {
            "first": (9, (3, 3, 1, first)),
            "second": (9 * first, (3, 3, first, second)),
            "hidden": (flat, (flat, HIDDEN)),
            "output": (HIDDEN, (HIDDEN, CLASSES)),
        }
        for layer, (fan_in, shape) in shapes.items():
            for part, size in (("weight", shape), ("bias", shape[-1:])):
                start = starting_values(self.seeds, f"{name}: {layer} {part}", size, fan_in**-0.5)
                self.register_parameter(f"{layer}_{part}", nn.Parameter(start.to(dtype)))

    @property
    def runs(self) -> int:
        """The number of stacked runs."""
        return len(self.first_weight)

    def forward(self, images: Tensor, moment: Tensor | None = None) -> Tensor:
        """Return logits (runs, examples, 10) of images (runs, examples, height, width).

        `moment` is the number of the training step, on which dropout depends; without it there is
        no dropout.
        """
        runs, examples = images.shape[:2]
        x = images.to(self._compute).unsqueeze(-1)
        x = conv_relu_pool(x, self.first_weight, self.first_bias)
        x = conv_relu_pool(x, self.second_weight, self.second_bias)
        x = linear(x.reshape(runs, examples, -1), self.hidden_weight, self.hidden_bias).relu()
        if moment is not None:
            x = dropped_out(x, DROPOUT, self.seeds, self._purpose, moment)
        return linear(x, self.output_weight, self.output_bias, result=self.output_weight.dtype)


def predict_images(networks: Classifiers, images: Tensor, places: Tensor) -> Tensor:
    """Return the likeliest digit (runs, count) of the images at indices (runs or 1, count)."""
    return _predict(networks, places, lambda part: images[part])


def predict_pairs(networks: Classifiers, images: Tensor, pairs: Tensor) -> Tensor:
    """Return the likeliest result (runs, count) of pairs of images (runs or 1, count, 2)."""
    return _predict(networks, pairs, lambda part: side_by_side(images, part))


@torch.no_grad()
def _predict(networks: Classifiers, places: Tensor, read: Callable[[Tensor], Tensor]) -> Tensor:
    runs = networks.runs
    size = max(CHUNK // runs, 1)
    parts = [places[:, start : start + size] for start in range(0, places.shape[1], size)]
    found = [networks(read(part).expand(runs, -1, -1, -1)).argmax(-1) for part in parts]
    return torch.cat(found, 1)
