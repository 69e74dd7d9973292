"""Training of many runs at once: each has its own data, seed, networks and weight of the rules.

Runs share no parameter, and Adam treats each parameter alone, so that a run learns as it would by
itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

import residuum as rs
from advice_contest.task import Examples, Task
from residuum.losses.knowledge import CompiledKnowledge

HIDDEN: Final = 24
STEPS: Final = 200
RATE: Final = 0.02
TESTED: Final = 200
"""The examples of DEV, and those of TEST."""


class Splits(NamedTuple):
    """The examples of several runs; tensors have the runs as their first dimension."""

    train: Examples
    dev: Examples
    test: Examples


def splits(task: Task, seeds: Sequence[int]) -> Splits:
    """Return the data of each seed, stacked."""
    drawn = [task.draw(torch.Generator().manual_seed(seed), task.examples + 2 * TESTED)
             for seed in seeds]  # fmt: skip
    ends = (0, task.examples, task.examples + TESTED, task.examples + 2 * TESTED)
    return Splits(*(_stacked(drawn, start, end) for start, end in pairwise(ends)))


def _stacked(drawn: Sequence[Examples], start: int, end: int) -> Examples:
    return Examples(*(
        {name: torch.stack([one[field][name][start:end] for one in drawn]) for name in first}
        for field, first in enumerate(drawn[0])
    ))  # fmt: skip


class Networks:
    """The networks of several runs: perceptrons with one hidden layer."""

    def __init__(self, task: Task, seeds: Sequence[int]) -> None:
        self._task = task
        self._layers: dict[str, list[Tensor]] = {}
        for name, sizes in task.networks.items():
            drawn = [list(_layers(seed, *sizes)) for seed in seeds]
            self._layers[name] = [
                torch.stack(one).requires_grad_() for one in zip(*drawn, strict=True)
            ]

    def parameters(self) -> list[Tensor]:
        return [one for layers in self._layers.values() for one in layers]

    def __call__(self, examples: Examples) -> dict[str, Tensor]:
        """Return logits, or numbers, by the names of tensors; data is passed on."""
        given = {
            name: examples.truth[name]
            for name in examples.truth
            if name not in self._task.outputs and name not in self._task.observed
        }
        return given | {
            name: _applied(self._layers[network], examples.inputs[name])
            for name, network in self._task.outputs.items()
        }


def _layers(seed: int, inputs: int, outputs: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(seed + 1_000)
    for size, width in ((inputs, HIDDEN), (HIDDEN, outputs)):
        yield torch.randn(size, width, generator=generator) / math.sqrt(size)
        yield torch.zeros(1, width)


def _applied(layers: Sequence[Tensor], inputs: Tensor) -> Tensor:
    first, first_bias, second, second_bias = layers
    rows = inputs.flatten(1, -2)
    hidden = torch.tanh(torch.baddbmm(first_bias, rows, first))
    out = torch.baddbmm(second_bias, hidden, second).reshape(*inputs.shape[:-1], -1)
    return out.squeeze(-1) if out.shape[-1] == 1 else out


def is_exclusive(outputs: Tensor, truth: Tensor) -> bool:
    """Return whether the last dimension of some outputs is one softmax."""
    return outputs.dim() > truth.dim()


def labelled_loss(outputs: Mapping[str, Tensor], examples: Examples) -> Tensor:
    """Return the sum of the runs' losses on labelled data."""
    total = torch.zeros(())
    for name, known in examples.known.items():
        if name not in outputs or not bool(known.any()):
            continue
        found, truth = outputs[name], examples.truth[name]
        if is_exclusive(found, truth):
            losses = functional.cross_entropy(
                found.flatten(0, -2), truth.flatten(), reduction="none"
            ).reshape(truth.shape)
        elif truth.is_floating_point():
            losses = functional.smooth_l1_loss(found, truth, reduction="none")
        else:
            losses = functional.binary_cross_entropy_with_logits(
                found, truth.float(), reduction="none"
            )
        counts = known.flatten(1).sum(1)
        total = total + ((losses * known).flatten(1).sum(1) / counts).sum()
    return total


def evidence(task: Task, examples: Examples) -> dict[str, Tensor] | None:
    """Return the observed labels of a task, or None."""
    return {name: examples.truth[name] for name in task.observed} or None


def train(
    task: Task, data: Splits, seeds: Sequence[int], relaxation: str | None, weights: Tensor
) -> Networks:
    """Train one run for each seed, with a weight of the rules for each run."""
    networks = Networks(task, seeds)
    rules = compiled(task, relaxation) if relaxation else None
    observed = evidence(task, data.train)
    optimizer = torch.optim.Adam(networks.parameters(), lr=RATE)
    for _ in range(STEPS):
        outputs = networks(data.train)
        loss = labelled_loss(outputs, data.train)
        if rules is not None:
            penalties = rules.total(outputs, observed=observed)
            loss = loss + (weights * penalties.mean(1)).sum()
        optimizer.zero_grad()
        if loss.requires_grad:
            loss.backward()
            optimizer.step()
    return networks


def compiled(task: Task, relaxation: str) -> CompiledKnowledge:
    """Return the rules of a task under a relaxation, with one penalty per example."""
    return rs.compile(rs.loads(task.rules), relaxation, reduction="none")


@torch.no_grad()
def points(task: Task, networks: Networks, examples: Examples) -> list[float]:
    """Return the score of each run, from 0 to 100."""
    outputs = networks(examples)
    scores = [_score(task, outputs[name], examples.truth[name]) for name in task.scored]
    return (100 * torch.stack(scores).mean(0)).tolist()


def _score(task: Task, outputs: Tensor, truth: Tensor) -> Tensor:
    if task.measure == "r2":
        error, spread = (outputs - truth).flatten(1), truth.flatten(1)
        spread = spread - spread.mean(1, keepdim=True)
        return (1 - error.square().sum(1) / spread.square().sum(1)).clamp(min=0)
    predicted = outputs.argmax(-1) if is_exclusive(outputs, truth) else (outputs > 0).long()
    predicted, truth = predicted.flatten(1), truth.flatten(1)
    if task.measure == "accuracy":
        return (predicted == truth).double().mean(1)
    both = (predicted * truth).sum(1).double()
    return 2 * both / (predicted.sum(1) + truth.sum(1)).clamp(min=1)
