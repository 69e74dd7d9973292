"""Images as tensors, and which of them each step of each run sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from residuum.study.digits.data.images import Images
from residuum.study.random_draws import Indices
from residuum.training.randomness import permutations, purpose


@final
class ImageTensors:
    """Images on a device, normalised by the mean and deviation of the training images."""

    def __init__(self, images: Images, dtype: torch.dtype, device: torch.device) -> None:
        grey = images.train.astype(np.float32) / images.whitest
        mean, deviation = float(grey.mean()), float(grey.std())

        def normalised(pixels: npt.NDArray[np.uint8]) -> Tensor:
            scaled = torch.as_tensor(pixels.astype(np.float64)) / images.whitest
            return ((scaled - mean) / deviation).to(dtype).to(device)

        self.train = normalised(images.train)
        self.test = normalised(images.test)
        self.train_labels = torch.tensor(images.train_labels, device=device)
        self.test_labels = torch.tensor(images.test_labels, device=device)

    @property
    def shape(self) -> tuple[int, int]:
        """The height and the width of an image."""
        return self.train.shape[1], self.train.shape[2]

    @property
    def device(self) -> torch.device:
        """The device of the images."""
        return self.train.device


def side_by_side(images: Tensor, pairs: Tensor) -> Tensor:
    """Return each pair of images as one image; `pairs` has the shape (…, 2)."""
    found = images[pairs]
    return torch.cat([found[..., 0, :, :], found[..., 1, :, :]], -1)


def stacked(lists: Sequence[Indices], device: torch.device) -> Tensor:
    """Return index lists of the same length as one tensor with a first dimension of runs."""
    return torch.stack([torch.tensor(one) for one in lists]).to(device)


def steps_per_epoch(size: int, batch: int) -> int:
    """Return the number of batches in one pass over `size` examples."""
    return -(-size // batch)


def one_pass(seeds: Tensor, name: str, epoch: int, size: int, batch: int) -> Tensor:
    """Return the indices of all examples in a random order for each run: (runs, steps × batch).

    The last batch is padded with −1.
    """
    order = permutations(size, *_counters(seeds, name), torch.full_like(seeds, epoch))
    missing = steps_per_epoch(size, batch) * batch - size
    return torch.nn.functional.pad(order, (0, missing), value=-1)


def cycled(seeds: Tensor, name: str, start: int, count: int, size: int) -> Tensor:
    """Return `count` indices of an endless sequence of passes, each in a random order.

    The indices begin at position `start` of the sequence and have the shape (runs, count).
    """
    first, last = start // size, (start + count - 1) // size
    cycles = torch.arange(first, last + 1, device=seeds.device)
    passes = permutations(size, *_counters(seeds.unsqueeze(-1), name), cycles)
    skipped = start - first * size
    return passes.flatten(1)[:, skipped : skipped + count]


def _counters(seeds: Tensor, name: str) -> tuple[Tensor, Tensor]:
    return seeds, torch.full_like(seeds, purpose(name))
