"""What both libraries share of each problem: the network, the epochs, the batches, the measures.

This file is read in both environments, so that it needs no more than PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Any

import torch
from torch import Tensor, nn

Tensors = Sequence[Tensor]
Measures = dict[str, float]


@dataclass(frozen=True)
class Problem:
    """A network, and how it is trained and measured.

    A run has failed if its first measure is below `least`, or, for an error, above `most`.
    """

    title: str
    network: Callable[[], nn.Module]
    epochs: int
    measure: Callable[[nn.Module, Tensors], Measures]
    batch: int | None = None
    least: float = 0.0
    most: float = float("inf")

    @property
    def fails(self) -> str:
        """Where the first measure is if a run has failed, in words."""
        return f"below {self.least:.0%}" if self.least else f"above {self.most:g}"

    def has_failed(self, run: Mapping[str, Any]) -> bool:
        """Say whether a run raised an error or is far from what the problem asks for."""
        if "measures" not in run:
            return True
        return not self.least <= next(iter(run["measures"].values())) <= self.most

    @torch.no_grad()
    def measured(self, network: nn.Module, held_out: Tensors) -> Measures:
        """Return the measures of a trained network."""
        return self.measure(network.eval(), held_out)

    def batches(self, tensors: Tensors, seed: int) -> Iterator[tuple[int, Tensors]]:
        """Yield the epoch and the tensors of each step. Without a batch size, all are one batch."""
        random = torch.Generator().manual_seed(seed)
        for epoch in range(self.epochs):
            if self.batch is None:
                yield epoch, tensors
                continue
            for chosen in torch.randperm(len(tensors[0]), generator=random).split(self.batch):
                yield epoch, [one[chosen] for one in tensors]


def layers(*sizes: int, dropout: float = 0.0) -> nn.Sequential:
    """Return linear layers with ELU between them."""
    found: list[nn.Module] = []
    for before, after in pairwise(sizes):
        found += [nn.Linear(before, after), nn.ELU()]
        found += [nn.Dropout(dropout)] if dropout else []
    return nn.Sequential(*found[: -2 if dropout else -1])


def digit_network() -> nn.Module:
    """Return the convolutions of LTN's tutorial: ten logits for an image of a digit."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(256, 100), nn.BatchNorm1d(100), nn.Tanh(),
        nn.Linear(100, 84), nn.BatchNorm1d(84), nn.Tanh(), nn.Linear(84, 10),
    )  # fmt: skip


class People(nn.Module):
    """A vector for each of fourteen people, and three networks that return logits for vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors = nn.Parameter(torch.rand(14, 5))
        self.smokes = layers(5, 16, 16, 1)
        self.cancer = layers(5, 16, 16, 1)
        self.friends = layers(10, 16, 16, 1)

    def pairs(self) -> Tensor:
        """Return the vectors of each pair of people, one after the other: (14, 14, 10)."""
        one = self.vectors.expand(14, 14, 5)
        return torch.cat([one.transpose(0, 1), one], 2)


def accuracy(network: nn.Module, held_out: Tensors) -> Measures:
    """Return the share of examples whose likeliest class is right."""
    inputs, labels = held_out
    return {"accuracy": _share(network(inputs).argmax(1) == labels)}


def label_accuracy(network: nn.Module, held_out: Tensors) -> Measures:
    """Return the share of labels, each by itself, that are right."""
    inputs, labels = held_out
    return {"accuracy": _share((network(inputs).reshape(labels.shape) > 0) == labels)}


def sum_accuracy(network: nn.Module, held_out: Tensors) -> Measures:
    """Return the share of pairs whose likeliest digits have the right sum."""
    left, right, total = held_out
    return {"accuracy": _share(network(left).argmax(1) + network(right).argmax(1) == total)}


def error(network: nn.Module, held_out: Tensors) -> Measures:
    """Return the root of the mean squared error."""
    inputs, numbers = held_out
    return {"RMSE": float((network(inputs)[:, 0] - numbers).square().mean().sqrt())}


def clusters(network: nn.Module, points: Tensors) -> Measures:
    """Return the share of close and distant pairs of points that are as the rules say.

    Also the share of points in the right cluster, by the best names for the clusters: rules leave
    it open whether two clusters are one whose centres are less than 1 apart.
    """
    inputs, distances, belongs = points
    chosen = network(inputs).argmax(1)
    named = (_share(torch.tensor(names)[chosen] == belongs) for names in permutations(range(4)))
    together = chosen[:, None] == chosen
    close, distant = distances < 0.2, distances > 1.0
    return {
        "pairs that obey": _share(torch.cat([together[close], ~together[distant]])),
        "points in the right cluster": max(named),
    }


def beliefs(people: nn.Module, known: Tensors) -> Measures:
    """Return the share of facts that are believed, and the mean share of groundings that hold."""
    assert isinstance(people, People)
    smokes = people.smokes(people.vectors)[:, 0] > 0
    cancer = people.cancer(people.vectors)[:, 0] > 0
    friends = people.friends(people.pairs())[:, :, 0] > 0
    kept = [
        (said == (label > 0))[label >= 0]
        for said, label in zip((smokes, cancer, friends), known, strict=True)
    ]
    rules = [
        ~friends.diagonal(),
        ~friends | friends.T,
        friends.any(1),
        ~(friends & smokes[:, None]) | smokes,
        ~smokes | cancer,
        smokes | ~cancer,
    ]
    return {
        "facts that are kept": _share(torch.cat(kept)),
        "groundings that hold": sum(map(_share, rules)) / len(rules),
    }


def _share(right: Tensor) -> float:
    return float(right.float().mean())


PROBLEMS = {
    "binary": Problem(
        "binary classification",
        network=lambda: layers(2, 16, 16, 1),
        epochs=1000,
        measure=label_accuracy,
        least=0.8,
    ),
    "multi_class": Problem(
        "multi-class, irises",
        network=lambda: layers(4, 16, 16, 8, 3, dropout=0.2),
        epochs=500,
        batch=64,
        measure=accuracy,
        least=0.8,
    ),
    "multi_label": Problem(
        "multi-label, made-up crabs",
        network=lambda: layers(5, 16, 16, 8, 4, dropout=0.2),
        epochs=500,
        batch=64,
        measure=label_accuracy,
        least=0.8,
    ),
    "regression": Problem(
        "regression, diabetes",
        network=lambda: layers(10, 8, 8, 1),
        epochs=500,
        batch=64,
        measure=error,
        most=15.4,  # that of the mean of all patients
    ),
    "addition": Problem(
        "addition of two MNIST images",
        network=digit_network,
        epochs=8,
        batch=32,
        measure=sum_accuracy,
        least=0.5,
    ),
    "clustering": Problem(
        "clustering",
        network=lambda: layers(2, 16, 16, 16, 4),
        epochs=1000,
        measure=clusters,
        least=0.95,
    ),
    "smokers": Problem(
        "smokers and friends", network=People, epochs=1000, measure=beliefs, least=0.8
    ),
}
