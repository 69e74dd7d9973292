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
    """Images normalised by the mean and deviation of the training images, on a device."""

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
        """Height and width."""
        return self.train.shape[1], self.train.shape[2]

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self.train.device


def side_by_side(images: Tensor, pairs: Tensor) -> Tensor:
    """Return two images as one, the first on the left; the last dimension of `pairs` is 2."""
    found = images[pairs]
    return torch.cat([found[..., 0, :, :], found[..., 1, :, :]], -1)


def stacked(lists: Sequence[Indices], device: torch.device) -> Tensor:
    """Return index lists of the same length with a first dimension of runs."""
    return torch.stack([torch.tensor(one) for one in lists]).to(device)


def steps_per_epoch(size: int, batch: int) -> int:
    """Return how many batches one pass over so many examples takes."""
    return -(-size // batch)


def one_pass(seeds: Tensor, name: str, epoch: int, size: int, batch: int) -> Tensor:
    """Return the places of all examples in a new order for each run: (runs, steps × batch).

    The last batch is filled up with −1.
    """
    order = permutations(size, *_counters(seeds, name), torch.full_like(seeds, epoch))
    missing = steps_per_epoch(size, batch) * batch - size
    return torch.nn.functional.pad(order, (0, missing), value=-1)


def cycled(seeds: Tensor, name: str, start: int, count: int, size: int) -> Tensor:
    """Return part of an endless sequence of passes, each in a new order: (runs, count).

    It begins at a place in the sequence and goes on for so many examples.
    """
    first, last = start // size, (start + count - 1) // size
    cycles = torch.arange(first, last + 1, device=seeds.device)
    passes = permutations(size, *_counters(seeds.unsqueeze(-1), name), cycles)
    skipped = start - first * size
    return passes.flatten(1)[:, skipped : skipped + count]


def _counters(seeds: Tensor, name: str) -> tuple[Tensor, Tensor]:
    return seeds, torch.full_like(seeds, purpose(name))
