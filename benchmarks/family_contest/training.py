"""Training of many runs at once: sums and products of embedded digits, learnt from rules alone.

One perceptron learns digits from labels, by cross-entropy under every relaxation. Two others learn
sums and products from the rules of the digits study. Only the penalty of the rules differs, as
it does for someone who chooses a relaxation for `rs.compile`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

import residuum as rs
from residuum.study.digits.data.batches import (
    ImageTensors,
    cycled,
    one_pass,
    side_by_side,
    steps_per_epoch,
)
from residuum.study.digits.data.images import load_images
from residuum.study.digits.data.sets import Sets, make_sets
from residuum.study.digits.knowledge import digit_knowledge
from residuum.study.digits.measures import operations, percent
from residuum.training.loop import Training
from residuum.training.optimisers import OPTIMISERS, Adam
from residuum.training.randomness import starting_values
from residuum.training.rates import Rate, Rates

HIDDEN: Final = 64
BATCH: Final = 64
CLIP: Final = 10.0
"""The largest norm of a gradient; larger ones are scaled down to it."""


class Size(NamedTuple):
    """How much there is to learn from: labelled images, pairs of others, and passes over these."""

    name: str
    digit_size: int
    pair_size: int
    epochs: int


class Run(NamedTuple):
    """What a run differs in from its neighbours in a stack."""

    seed: int
    rate: float
    weight: float


class Reached(NamedTuple):
    """Accuracies in percent after the last epoch."""

    digit: float
    operators: float


class FineAdam(Adam):
    """Adam with an ε that no step feels, for this benchmark alone."""

    SMALL = 1e-14


OPTIMISERS["fine-adam"] = FineAdam


class Perceptrons(nn.Module):
    """One perceptron with a hidden layer for each run, with stacked parameters."""

    def __init__(self, name: str, seeds: Tensor, inputs: int) -> None:
        super().__init__()
        for layer, fan_in, width in (("hidden", inputs, HIDDEN), ("output", HIDDEN, 10)):
            for part, shape in (("weight", (fan_in, width)), ("bias", (1, width))):
                start = starting_values(seeds, f"{name}: {layer} {part}", shape, fan_in**-0.5)
                self.register_parameter(f"{layer}_{part}", nn.Parameter(start.float()))

    def forward(self, images: Tensor) -> Tensor:
        """Return logits (runs, examples, 10) of images (runs, examples, height, width)."""
        known = dict(self.named_parameters())
        x = torch.baddbmm(known["hidden_bias"], images.flatten(2), known["hidden_weight"]).relu()
        return torch.baddbmm(known["output_bias"], x, known["output_weight"])


class RulesTask:
    """What a stack of runs with one relaxation learns; see `residuum.training.loop.Task`."""

    def __init__(
        self, relaxation: str, runs: Sequence[Run], size: Size, *, is_tuning: bool
    ) -> None:
        self._runs, self._epochs, self._is_tuning = list(runs), size.epochs, is_tuning
        self._images, self._sets = embedded(), sets_of(size.digit_size, size.pair_size)
        self._rules = compiled(relaxation)
        self._seeds = torch.tensor([run.seed for run in runs])
        self._weights = torch.tensor([run.weight for run in runs])
        self._digit = torch.tensor(self._sets.digit)
        self._pairs = torch.tensor(self._sets.pairs)
        self.steps = steps_per_epoch(size.pair_size, BATCH)
        sizes = {"Digit": 64, "Sum": 128, "Product": 128}
        self.networks = {name: Perceptrons(name, self._seeds, size) for name, size in sizes.items()}

    def begin(self, epoch: int) -> None:
        """Order the examples of an epoch."""
        count = self.steps * BATCH
        order = one_pass(self._seeds, "PAIR", epoch, len(self._pairs), BATCH)
        self._counts_now = (order >= 0).float()
        self._pairs_now = self._pairs[order.clamp(min=0)]
        self._digits_now = self._digit[
            cycled(self._seeds, "DIGIT", epoch * count, count, len(self._digit))
        ]

    def losses(self, step: Tensor) -> Mapping[str, Tensor]:
        """Return the parts of the loss of a step, one number per run each."""
        now = slice(int(step) * BATCH, (int(step) + 1) * BATCH)
        digits, pairs = self._digits_now[:, now], self._pairs_now[:, now]
        images = self._images.train
        singles = torch.cat([digits, pairs[..., 0], pairs[..., 1]], 1)
        labelled, left, right = self.networks["Digit"](images[singles]).chunk(3, 1)
        labels = functional.cross_entropy(
            labelled.flatten(0, 1), self._images.train_labels[digits].flatten(), reduction="none"
        )
        labels = labels.reshape(digits.shape).mean(1)
        joined = side_by_side(images, pairs)
        outputs = {"Digit(left(p))": left, "Digit(right(p))": right}
        outputs |= {name: self.networks[name](joined) for name in ("Sum", "Product")}
        counts = self._counts_now[:, now]
        rules = (self._rules.total(outputs) * counts).sum(1) / counts.sum(1)
        return {"labels": labels, "rules": rules, "total": labels + self._weights * rules}

    def parts(self, _run: int) -> Sequence[str]:
        """Return the names of the parts of a run's loss."""
        return ("labels", "rules", "total")

    def rates(self, epoch: int) -> Mapping[str, Rates]:
        """Return the learning rates of an epoch, which fall to 0 along a cosine."""
        rates = [
            [Rate(run.rate, "cosine").at(epoch + step / self.steps, self._epochs)
             for run in self._runs]
            for step in range(self.steps)
        ]  # fmt: skip
        return dict.fromkeys(self.networks, rates)

    def judge(self) -> Mapping[str, Tensor]:
        """Return accuracies in percent: on DEV in tuning, on TEST otherwise."""
        images, sets = self._images, self._sets
        if self._is_tuning:
            dev = torch.tensor(sets.dev)
            digits = images.train[dev], images.train_labels[dev]
            pairs = images.train, images.train_labels, torch.tensor(sets.pair_dev)
        else:
            digits = images.test, images.test_labels
            pairs = images.test, images.test_labels, torch.tensor(sets.pair_test)
        operators = self._operator_accuracy(*pairs)
        return {
            "digit": self._digit_accuracy(*digits),
            "operators": operators,
            "score": operators,
        }

    def _digit_accuracy(self, images: Tensor, labels: Tensor) -> Tensor:
        shown = images.expand(len(self._runs), *images.shape)
        return percent(self.networks["Digit"](shown).argmax(-1) == labels)

    def _operator_accuracy(self, images: Tensor, labels: Tensor, pairs: Tensor) -> Tensor:
        shown = side_by_side(images, pairs).expand(len(self._runs), -1, -1, -1)
        wanted = operations(*labels[pairs].T)
        return torch.stack([
            percent(self.networks[name](shown).argmax(-1) == gold) for name, gold in wanted.items()
        ]).mean(0)  # fmt: skip


@cache
def embedded() -> ImageTensors:
    """Return the images of scikit-learn."""
    return ImageTensors(load_images("embedded"), torch.float32, torch.device("cpu"))


@cache
def sets_of(digit_size: int, pair_size: int) -> Sets:
    """Return the sets of the digits study with these sizes."""
    return make_sets(load_images("embedded"), digit_size, pair_size)


@cache
def compiled(relaxation: str) -> Any:
    """Return the rules of the digits study under a relaxation, with a penalty for each pair."""
    return rs.compile(digit_knowledge(), relaxation, reduction="none")


def train(
    relaxation: str, runs: Sequence[Run], size: Size, *, is_tuning: bool, optimiser: str = "adam"
) -> list[Reached | None]:
    """Train runs with one relaxation together; a run that diverges has reached nothing."""
    task = RulesTask(relaxation, runs, size, is_tuning=is_tuning)
    training = Training(
        task, optimiser, epochs=size.epochs, judge_every=size.epochs, clip=[CLIP] * len(runs)
    )
    training.run()
    return [
        None if one.diverged else Reached(one.measures["digit"][-1], one.measures["operators"][-1])
        for one in training.curves
    ]
