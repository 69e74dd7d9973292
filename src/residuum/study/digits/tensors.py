"""The images of the study on a device, and predictions for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from residuum.study.digits.images import Images
from residuum.study.digits.networks import Classifiers

CHUNK: Final = 16_384
"""Images evaluated at once, all runs together."""


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


def predict_images(networks: Classifiers, images: Tensor, places: Tensor) -> Tensor:
    """Return the likeliest digit (runs, places) of images at (runs or 1, places)."""
    return _predict(networks, places, lambda part: images[part])


def predict_pairs(networks: Classifiers, images: Tensor, pairs: Tensor) -> Tensor:
    """Return the likeliest result (runs, pairs) for pairs of images at (runs or 1, pairs, 2)."""
    return _predict(networks, pairs, lambda part: side_by_side(images, part))


@torch.no_grad()
def _predict(networks: Classifiers, places: Tensor, read: Callable[[Tensor], Tensor]) -> Tensor:
    runs = networks.runs
    size = max(CHUNK // runs, 1)
    parts = [places[:, start : start + size] for start in range(0, places.shape[1], size)]
    found = [networks(read(part).expand(runs, -1, -1, -1)).argmax(-1) for part in parts]
    return torch.cat(found, 1)
