"""The tasks of the digits study: joint learning, and the two stages of a pipeline.

Joint learning trains Digit by labels, and Sum and Product by rules that tie them to Digit. A
pipeline trains Digit alone, then labels the pairs with it and trains Sum and Product on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, Self, final

import torch
from torch import Tensor

from residuum.study.digits.data.batches import (
    ImageTensors,
    cycled,
    one_pass,
    side_by_side,
    stacked,
    steps_per_epoch,
)
from residuum.study.digits.data.sets import Sets
from residuum.study.digits.knowledge import Labelled, Pairs, digit_knowledge, stacked_penalties
from residuum.study.digits.measures import operations, percent
from residuum.study.digits.networks import Classifiers, predict_images, predict_pairs
from residuum.study.digits.settings import Settings
from residuum.training.cuda_graphs import concurrently
from residuum.training.rates import Rates, ramp, rates_of

LEAST_ACCURACY: Final = 80.0
"""Percent. A state counts only if Digit is more accurate: a useless Digit obeys rules too."""


@final
class JointTask:
    """Joint learning of Digit, Sum and Product by a stack of runs.

    One epoch is one pass over PAIR, while DIGIT is cycled through. The score of a state is the
    mean of Digit's accuracy on DEV and of the two coherences on PairDEV.
    """

    def __init__(
        self, runs: Sequence[Settings], sets: Sequence[Sets], images: ImageTensors
    ) -> None:
        first, device = runs[0], images.device
        self._runs = list(runs)
        self._images = images
        self._batch = first.batch
        self.steps = steps_per_epoch(first.pair_size, first.batch)
        self._seeds = torch.tensor([run.seed for run in runs], device=device)
        self._digit = {
            size: _SameSize.of(size, self._seeds, sets)
            for size in sorted({len(one.digit) for one in sets})
        }
        self._pairs = stacked([one.pairs for one in sets], device)
        self._dev = torch.tensor(sets[0].dev, device=device)
        self._pair_dev = torch.tensor(sets[0].pair_dev[: first.judge_pairs], device=device)
        height, width = images.shape
        seeds = [run.seed for run in runs]
        self.networks = {
            name: Classifiers(
                name, seeds, height, count * width, precision=first.precision, device=device
            )
            for name, count in (("Digit", 1), ("Sum", 2), ("Product", 2))
        }
        # The examples of an epoch. A recorded CUDA graph reads them from the same memory each time.
        examples = (len(runs), self.steps * self._batch)
        self._digits_now = torch.zeros(examples, dtype=torch.int64, device=device)
        self._pairs_now = torch.zeros((*examples, 2), dtype=torch.int64, device=device)
        self._counts_now = torch.zeros(examples, dtype=torch.bool, device=device)
        self._weights_now = torch.zeros((self.steps, len(runs)), dtype=torch.float64, device=device)
        self._epoch = torch.zeros((), dtype=torch.int64, device=device)
        self._relaxations: tuple[str, ...] = ()

    def begin(self, epoch: int) -> tuple[str, ...]:
        """Order the examples of an epoch; return the relaxations, which decide the losses."""
        order = one_pass(self._seeds, "PAIR", epoch, self._pairs.shape[1], self._batch)
        self._counts_now.copy_(order >= 0)
        places = order.clamp(min=0).unsqueeze(-1).expand(-1, -1, 2)
        self._pairs_now.copy_(self._pairs.gather(1, places))
        count = self.steps * self._batch
        for size, (runs, seeds, digit) in self._digit.items():
            order = cycled(seeds, "DIGIT", epoch * count, count, size)
            self._digits_now[runs] = digit.gather(1, order)
        moments = [epoch + step / self.steps for step in range(self.steps)]
        weights = [[run.weight_at(moment) for run in self._runs] for moment in moments]
        self._weights_now.copy_(torch.tensor(weights, dtype=torch.float64))
        self._epoch.fill_(epoch)
        self._relaxations = tuple(run.relaxation_at(epoch) for run in self._runs)
        return self._relaxations

    def losses(self, step: Tensor) -> Mapping[str, Tensor]:
        """Return the parts of the loss of a step, one number per run each."""
        places = step * self._batch + torch.arange(self._batch, device=step.device)
        moment = self._epoch * self.steps + step
        digits = self._digits_now.index_select(1, places)
        pairs = self._pairs_now.index_select(1, places)
        counts = self._counts_now.index_select(1, places)
        images = self._images.train
        singles = torch.cat([digits, pairs[..., 0], pairs[..., 1]], 1)
        joined = side_by_side(images, pairs)
        seen = {"Digit": images[singles], "Sum": joined, "Product": joined}
        digit, total, product = concurrently(
            [partial(self.networks[name], shown, moment) for name, shown in seen.items()]
        )
        labelled, left, right = digit.chunk(3, 1)
        outputs = {
            "Digit(left(p))": left, "Digit(right(p))": right, "Sum": total, "Product": product,
        }  # fmt: skip
        everything = torch.ones_like(counts)
        labels = self._images.train_labels[digits]
        weights = self._weights_now.index_select(0, step.reshape(1))[0]
        return stacked_penalties(
            self._relaxations,
            Labelled(labelled, labels, everything),
            Pairs(outputs, counts, weights.to(labelled.dtype)),
        )

    def parts(self, _run: int) -> Sequence[str]:
        """Return the names of the parts of a run's loss, which are the same for all runs."""
        return ("labels", *digit_knowledge().rules, "total")

    def rates(self, epoch: int) -> Mapping[str, Rates]:
        """Return the learning rates of an epoch; a frozen Digit has a rate of 0."""
        rates = _ramped_rates(self._runs, epoch, self.steps)
        learns = [not run.freeze or epoch < run.warm_up for run in self._runs]
        of_digit = [[rate * it for rate, it in zip(row, learns, strict=True)] for row in rates]
        return {"Digit": of_digit, "Sum": rates, "Product": rates}

    def judge(self) -> Mapping[str, Tensor]:
        """Return Digit's accuracy on DEV and the coherences on a part of PairDEV, in percent."""
        images, labels = self._images.train, self._images.train_labels
        digits = torch.full((len(self._runs), len(images)), -1, device=images.device)
        digits[:, self._dev] = predict_images(self.networks["Digit"], images, self._dev[None])
        pairs = self._pair_dev
        expected = operations(digits[:, pairs[:, 0]], digits[:, pairs[:, 1]])
        found = {"digit_accuracy": percent(digits[:, self._dev] == labels[self._dev])}
        for name, result in expected.items():
            predicted = predict_pairs(self.networks[name], images, pairs[None])
            found[f"{name.lower()}_coherence"] = percent(predicted == result)
        score = torch.stack(list(found.values())).mean(0)
        is_useless = found["digit_accuracy"] <= LEAST_ACCURACY
        return {**found, "score": score.masked_fill(is_useless, -torch.inf)}


class _SameSize(NamedTuple):
    """The runs of a stack whose DIGIT has the same size: their places, seeds and labelled images.

    They are ordered together: one by one would take as long as a quarter of a short epoch.
    """

    runs: Tensor
    seeds: Tensor
    digit: Tensor

    @classmethod
    def of(cls, size: int, seeds: Tensor, sets: Sequence[Sets]) -> Self:
        runs = [run for run, one in enumerate(sets) if len(one.digit) == size]
        places = torch.tensor(runs, device=seeds.device)
        return cls(places, seeds[places], stacked([sets[run].digit for run in runs], seeds.device))


def _ramped_rates(runs: Sequence[Settings], epoch: int, steps: int) -> Rates:
    """Return the learning rates of an epoch; they grow from 0 over `rate_ramp` epochs."""
    return [
        [
            rate * ramp(epoch + step / steps, run.rate_ramp)
            for rate, run in zip(row, runs, strict=True)
        ]
        for step, row in enumerate(rates_of(runs, epoch, steps))
    ]


class _LabelledTask:
    """Networks that learn from the same examples, each from its own labels."""

    def __init__(
        self,
        runs: Sequence[Settings],
        images: ImageTensors,
        examples: Tensor,
        labels: Mapping[str, Tensor],
    ) -> None:
        first, device = runs[0], images.device
        self._runs = list(runs)
        self._images = images
        self._examples = examples
        self._labels = labels
        self._batch = first.batch
        self.steps = steps_per_epoch(examples.shape[1], first.batch)
        self._seeds = torch.tensor([run.seed for run in runs], device=device)
        height, width = images.shape
        self.networks = {
            name: Classifiers(
                name,
                [run.seed for run in runs],
                height,
                width * (2 if examples.dim() == 3 else 1),
                precision=first.precision,
                device=device,
            )
            for name in labels
        }
        size = (len(runs), self.steps * self._batch)
        self._order_now = torch.zeros(size, dtype=torch.int64, device=device)
        self._epoch = torch.zeros((), dtype=torch.int64, device=device)
        self._relaxations: tuple[str, ...] = ()

    def begin(self, epoch: int) -> tuple[str, ...]:
        """Order the examples of an epoch; return the relaxations, which decide the losses."""
        size = self._examples.shape[1]
        self._order_now.copy_(one_pass(self._seeds, "labelled", epoch, size, self._batch))
        self._epoch.fill_(epoch)
        self._relaxations = tuple(run.relaxation_at(epoch) for run in self._runs)
        return self._relaxations

    def losses(self, step: Tensor) -> Mapping[str, Tensor]:
        """Return the loss of each network and their sum, one number per run."""
        places = step * self._batch + torch.arange(self._batch, device=step.device)
        moment = self._epoch * self.steps + step
        order = self._order_now.index_select(1, places)
        counts, order = order >= 0, order.clamp(min=0)
        images = self._read(order)
        found = {}
        for name, network in self.networks.items():
            logits, labels = network(images, moment), self._labels[name].gather(1, order)
            parts = stacked_penalties(self._relaxations, Labelled(logits, labels, counts))
            found[name] = parts["total"]
        return {**found, "total": torch.stack(list(found.values())).sum(0)}

    def parts(self, _run: int) -> Sequence[str]:
        """Return the names of the parts of a run's loss: one for each network, and the total."""
        return (*self.networks, "total")

    def _read(self, order: Tensor) -> Tensor:
        images = self._images.train
        if self._examples.dim() == 2:
            return images[self._examples.gather(1, order)]
        places = order.unsqueeze(-1).expand(-1, -1, 2)
        return side_by_side(images, self._examples.gather(1, places))

    def rates(self, epoch: int) -> Mapping[str, Rates]:
        """Return the learning rates of an epoch."""
        return dict.fromkeys(self.networks, _ramped_rates(self._runs, epoch, self.steps))


@final
class DigitTask(_LabelledTask):
    """The first stage of a pipeline: Digit learns from DIGIT, judged by its accuracy on DEV."""

    def __init__(
        self, runs: Sequence[Settings], sets: Sequence[Sets], images: ImageTensors
    ) -> None:
        examples = stacked([one.digit for one in sets], images.device)
        super().__init__(runs, images, examples, {"Digit": images.train_labels[examples]})
        self._dev = torch.tensor(sets[0].dev, device=images.device)

    def judge(self) -> Mapping[str, Tensor]:
        """Return the accuracy on DEV, in percent."""
        images, labels = self._images.train, self._images.train_labels
        predicted = predict_images(self.networks["Digit"], images, self._dev[None])
        accuracy = percent(predicted == labels[self._dev])
        return {"digit_accuracy": accuracy, "score": accuracy}


@final
class OperatorTask(_LabelledTask):
    """The second stage of a pipeline: Sum or Product learns the results that Digit gives to PAIR.

    A state is judged by coherence with Digit on PairDEV, or by gold labels if `selection` says so.
    """

    def __init__(
        self,
        runs: Sequence[Settings],
        sets: Sequence[Sets],
        images: ImageTensors,
        digit: Classifiers,
        operator: str,
    ) -> None:
        pairs = stacked([one.pairs for one in sets], images.device)
        results = _results(digit, images.train, pairs)[operator]
        super().__init__(runs, images, pairs, {operator: results})
        self._operator = operator
        self._pair_dev = torch.tensor(
            sets[0].pair_dev[: runs[0].judge_pairs], device=images.device
        )[None]
        if runs[0].selection == "gold":
            gold = images.train_labels[self._pair_dev]
            self._expected = operations(gold[..., 0], gold[..., 1])[operator]
        else:
            self._expected = _results(digit, images.train, self._pair_dev)[operator]

    def judge(self) -> Mapping[str, Tensor]:
        """Return the percentage of pairs with the expected result."""
        images = self._images.train
        predicted = predict_pairs(self.networks[self._operator], images, self._pair_dev)
        found = percent(predicted == self._expected)
        return {self._runs[0].selection: found, "score": found}


def _results(digit: Classifiers, images: Tensor, pairs: Tensor) -> dict[str, Tensor]:
    """Return the sums and products of the digits that a network predicts for pairs."""
    left, right = (predict_images(digit, images, pairs[..., side]) for side in (0, 1))
    return operations(left, right)
