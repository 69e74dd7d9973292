"""The shape of a task: data from a seed, rules, networks, and a score in points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

Measure = Literal["accuracy", "f1", "r2"]


class Examples(NamedTuple):
    """Examples of a task. All tensors have the examples as their first dimension.

    `inputs` are features, (examples, *domains, features) without the domain of a softmax or of
    labels that one network computes together. `truth` is the label of each output, in the shape of
    `observed=`, or the number of a quantity. `known` tells which labels may be trained on.
    """

    inputs: Mapping[str, Tensor]
    truth: Mapping[str, Tensor]
    known: Mapping[str, Tensor]


@dataclass(frozen=True)
class Task:
    """A small problem that rules help with.

    `networks` maps a network to its numbers of inputs and outputs, and `outputs` a tensor that the
    rules take to the network that computes it. A tensor that is in neither `outputs` nor
    `observed` is data: the rules read its truth as it is. The truth of `observed` tensors is given
    to the rules as evidence. `draw` takes a generator of a seed and a number of examples; the
    classes of a seed are the same in all of them.
    """

    name: str
    kind: str
    rules: str
    networks: Mapping[str, tuple[int, int]]
    outputs: Mapping[str, str]
    draw: Callable[[torch.Generator, int], Examples]
    scored: tuple[str, ...]
    observed: tuple[str, ...] = ()
    measure: Measure = "accuracy"
    examples: int = 100
    is_held_out: bool = False


def clouds(
    generator: torch.Generator, labels: Tensor, classes: int, features: int, noise: float
) -> Tensor:
    """Return features of classes: a random centre for each, and noise around it."""
    centres = torch.randn(classes, features, generator=generator)
    points = centres[labels]
    return points + noise * torch.randn(points.shape, generator=generator)


def blends(generator: torch.Generator, labels: Tensor, features: int, noise: float) -> Tensor:
    """Return features of independent labels (…, labels): the sum of a random vector for each."""
    vectors = torch.randn(labels.shape[-1], features, generator=generator)
    points = labels.float() @ vectors
    return points + noise * torch.randn(points.shape, generator=generator)


def draw_labels(generator: torch.Generator, classes: int, *shape: int) -> Tensor:
    """Return uniform labels."""
    return torch.randint(classes, shape, generator=generator)


def first(count: int, like: Tensor) -> Tensor:
    """Return a mask of the first examples."""
    mask = torch.zeros(like.shape, dtype=torch.bool)
    mask[:count] = True
    return mask


def nothing(like: Tensor) -> Tensor:
    """Return a mask of no label."""
    return first(0, like)
