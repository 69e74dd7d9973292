"""Draws the data of each problem, once for both libraries.

A problem has the tensors of its training examples and of its held-out ones. Where LTN's tutorials
generate data, so do these functions. Its files of crabs and of house prices are not here: the crabs
are generated, and diabetes of scikit-learn stands in for the houses.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_diabetes, load_iris
from torch import Tensor

Split = dict[str, tuple[Tensor, ...]]
NO_LABEL = -100


def binary(seed: int) -> Split:
    """Return points of the unit square, and whether they lie in a disc in its middle."""
    random = torch.Generator().manual_seed(seed)
    points = torch.rand(1050, 2, generator=random)
    return _split(50, points, (points - 0.5).square().sum(1) < 0.09)


def multi_class(seed: int) -> Split:
    """Return irises and their species."""
    flowers, species = load_iris(return_X_y=True)
    order = torch.randperm(150, generator=torch.Generator().manual_seed(seed))
    return _split(120, torch.from_numpy(flowers).float()[order], torch.from_numpy(species)[order])


def multi_label(seed: int) -> Split:
    """Return made-up crabs: five lengths, and whether one is blue, orange, male and female."""
    random = torch.Generator().manual_seed(seed)
    crabs = 600
    is_orange, is_female = torch.randint(2, (2, crabs), generator=random).bool()
    size = 0.6 + 0.8 * torch.rand(crabs, 1, generator=random)
    usual = torch.tensor([15.0, 12.5, 32.0, 36.5, 14.0])
    shape = is_orange[:, None] * torch.tensor([0.10, 0.06, 0.02, -0.03, 0.10])
    shape = shape + is_female[:, None] * torch.tensor([0.0, 0.12, -0.04, -0.03, -0.02])
    lengths = usual * size * (1 + shape + 0.02 * torch.randn(crabs, 5, generator=random))
    return _split(160, lengths, torch.stack([~is_orange, is_orange, ~is_female, is_female], 1))


def regression(seed: int) -> Split:
    """Return measurements of patients and the progress of their diabetes, in units of 5.

    So the numbers have about the mean and the spread of the house prices of LTN's tutorial.
    """
    features, progress = load_diabetes(return_X_y=True)
    order = torch.randperm(442, generator=torch.Generator().manual_seed(seed))
    spread = torch.from_numpy(features / features.std(0)).float()
    return _split(330, spread[order], torch.from_numpy(progress).float()[order] / 5)


def addition(seed: int) -> Split:
    """Return pairs of MNIST images and the sum of what they show; no digit has a label."""
    random = torch.Generator().manual_seed(seed)
    parts: Split = {}
    for part, file, pairs in (("train", "train", 3000), ("test", "t10k", 2500)):
        images, labels = _mnist(file)
        chosen = torch.randperm(len(labels), generator=random)[: 2 * pairs].reshape(2, pairs)
        left, right = chosen
        parts[part] = images[left], images[right], labels[left] + labels[right]
    return parts


def clustering(seed: int) -> Split:
    """Return 200 points around four centres, which of two points are how far apart, the centres.

    There is nothing to hold out: which centre a point belongs to is shown to neither library.
    """
    random = torch.Generator().manual_seed(seed)
    corners = torch.tensor([[-0.8, -0.8], [0.2, -0.8], [-0.8, 0.2], [0.2, 0.2]])
    centres = corners + 0.6 * torch.rand(4, 2, generator=random)
    belongs = torch.arange(4).repeat_interleave(50)
    points = centres[belongs] + 0.1 * torch.randn(200, 2, generator=random)
    distances = torch.cdist(points, points)
    return {"train": (points, distances), "test": (points, distances, belongs)}


def smokers(seed: int) -> Split:  # noqa: ARG001 - the facts are LTN's, whatever the seed
    """Return what is known of fourteen people: labels of 0 and 1, and -100 where nothing is known.

    Smokes is known of everybody, Cancer of the first group, Friends of pairs in alphabetical order
    within each of the two groups.
    """
    people = "abcdefghijklmn"
    smokes = torch.tensor([float(one in "aefgjn") for one in people])
    cancer = torch.tensor([float(one in "ae") if one < "i" else NO_LABEL for one in people])
    friends = torch.full((14, 14), float(NO_LABEL))
    for group in (range(8), range(8, 14)):
        for x in group:
            friends[x, x + 1 : group.stop] = 0.0
    for first, second in ("ab", "ae", "af", "ag", "bc", "cd", "ef", "gh", "ij", "jm", "kl", "mn"):
        friends[people.index(first), people.index(second)] = 1.0
    return {"train": (smokes, cancer, friends), "test": (smokes, cancer, friends)}


def _split(training: int, *tensors: Tensor) -> Split:
    """Return the first rows for training, and the others."""
    return {
        "train": tuple(one[:training] for one in tensors),
        "test": tuple(one[training:] for one in tensors),
    }


def has_mnist() -> bool:
    """Say whether the images of digits are there."""
    return _file("train-images-idx3").exists()


def _file(start: str) -> Path:
    return Path(os.environ.get("RESIDUUM_DATA", "")) / "mnist" / f"{start}-ubyte.gz"


@cache
def _mnist(part: str) -> tuple[Tensor, Tensor]:
    """Return the images, of one channel, and the labels of a part of MNIST."""
    images, labels = (
        np.frombuffer(gzip.decompress(_file(f"{part}-{kind}").read_bytes()), np.uint8, offset=skip)
        for kind, skip in (("images-idx3", 16), ("labels-idx1", 8))
    )
    pixels = torch.from_numpy(images.reshape(-1, 1, 28, 28).copy()).float() / 255
    return pixels, torch.from_numpy(labels.astype(np.int64))


DRAWN: dict[str, Callable[[int], Split]] = {
    one.__name__: one
    for one in (binary, multi_class, multi_label, regression, addition, clustering, smokers)
}
