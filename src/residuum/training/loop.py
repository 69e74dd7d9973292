"""The training loop for a stack of runs, and the best state of each run.

Every tensor of a stack has a first dimension of runs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol, final

import torch
from torch import Tensor, nn

from residuum.results.records import Curve, Divergence
from residuum.training.cuda_graphs import Stepper
from residuum.training.optimisers import OPTIMISERS, clipping_factors
from residuum.training.rates import OptimiserName, Rates


class Task(Protocol):
    """What a stack of runs learns: its networks, its losses, and how states are judged."""

    @property
    def networks(self) -> Mapping[str, nn.Module]:
        """The networks by name; every parameter has a first dimension of runs."""

    @property
    def steps(self) -> int:
        """The number of steps in an epoch."""

    def begin(self, epoch: int) -> Hashable:
        """Prepare the data of an epoch; return a key of what its steps compute.

        A step is recorded as a CUDA graph once for each key. None means that steps differ in
        shape and must not be recorded.
        """

    def losses(self, step: Tensor) -> Mapping[str, Tensor]:
        """Return the parts of the loss of a step, one number per run; `total` is minimised.

        If a run does not have a part, its number is ignored. A run diverges when its `total` is
        infinite or NaN; another part may be NaN while it has no weight.
        """

    def parts(self, run: int) -> Sequence[str]:
        """Return the names of the parts of a run's loss, independent of the other runs."""

    def rates(self, epoch: int) -> Mapping[str, Rates]:
        """Return the learning rates of an epoch by network."""

    def judge(self) -> Mapping[str, Tensor]:
        """Return measures on development data, one number per run; `score` selects the best state.

        The numbers of a diverged run are ignored.
        """


@dataclass
class Curves:
    """The curves of one run: losses of every epoch, and measures of the epochs that were judged.

    The curves of a run that `diverged` end in that epoch, in which it was not judged.
    """

    losses: dict[str, list[float]] = field(default_factory=dict)
    judged: list[int] = field(default_factory=list)
    measures: dict[str, list[float]] = field(default_factory=dict)
    diverged: Divergence | None = None

    def by_name(self) -> dict[str, Curve]:
        """Return the curves for a record: all judged measures, and losses of some of these epochs.

        Losses are pictures of a training, for which a few points do; a diverged run also has those
        of its last epoch.
        """
        epochs = thinned(self.judged)
        if self.diverged:
            epochs = [*epochs, self.diverged.epoch]
        losses = {
            f"{LOSS}{name}": Curve(epochs, [_short(values[epoch - 1]) for epoch in epochs])
            for name, values in self.losses.items()
        }
        measures = {
            f"dev/{name}": Curve(self.judged, [_short(value) for value in values])
            for name, values in self.measures.items()
        }
        return {**losses, **measures}


MOST_LOSSES: Final = 12
"""The most epochs whose losses a record has, that of the end of a diverged run aside."""


def thinned(epochs: Sequence[int]) -> Sequence[int]:
    """Return at most MOST_LOSSES epochs, as evenly as their number allows, the last one included.

    >>> thinned(range(5, 105, 5))
    [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    """
    step = -(-len(epochs) // MOST_LOSSES) or 1
    return [*epochs[::-1][::step]][::-1]


LOSS: Final = "loss/"
"""What names of losses begin with in records."""


def _short(value: float) -> float:
    """Return a number rounded to six digits; a loss summed in single precision has fewer."""
    return float(f"{value:.6g}")


Watcher = Callable[[int, Sequence[Curves]], None]
"""Called after every epoch with the number of epochs done, and the curves of each run."""


@final
class Training:
    """The training of a stack of runs, which can stop between epochs and continue later.

    A run whose loss or parameters are not finite after an epoch has diverged: it is not judged any
    more, and its curves end. The other runs go on. The runs in `left_out` are treated likewise.

    `clip` has a number or None for each run: its gradient is scaled down to at most this norm.

    With `average`, an exponential moving average of the parameters is kept with this decay per
    step, beginning with the initial parameters. The average is judged, and is the best state. It
    has no influence on training.
    """

    def __init__(
        self,
        task: Task,
        optimiser: OptimiserName,
        *,
        epochs: int,
        judge_every: int,
        clip: Sequence[float | None] = (),
        average: float | None = None,
    ) -> None:
        self.task = task
        self.epochs = epochs
        self.epoch = 0
        self.is_between_epochs = True
        self._judge_every = judge_every
        self._owners = [
            name for name, network in task.networks.items() for _ in network.parameters()
        ]
        self._parameters: list[Tensor] = [
            p for network in task.networks.values() for p in network.parameters()
        ]
        self._optimiser = OPTIMISERS[optimiser](self._parameters)
        self._decay = average
        self._averages = [] if average is None else [p.detach().clone() for p in self._parameters]
        self.best = Best(self._averages or self._parameters)
        device = self._parameters[0].device
        runs = len(self._parameters[0])
        self.curves = [Curves() for _ in range(runs)]
        self.left_out: frozenset[int] = frozenset()
        self._most: Tensor | None = None
        if any(most is not None for most in clip):
            norms = [math.inf if most is None else most for most in clip]
            self._most = torch.tensor(norms, dtype=self._parameters[0].dtype, device=device)
        self._rates = {
            name: torch.zeros((task.steps, runs), dtype=torch.float64, device=device)
            for name in task.networks
        }
        self._sums: dict[str, Tensor] = {}
        self._stepper = Stepper(self._step, device)

    def run(self, watch: Watcher | None = None, until: float = float("inf")) -> bool:
        """Train to the end, or to the first epoch that ends after the time `until`.

        Return whether the training is over.
        """
        while not self.is_over:
            self._run_epoch()
            if watch is not None:
                watch(self.epoch, self.curves)
            if time.monotonic() >= until:
                break
        return self.is_over

    @property
    def is_over(self) -> bool:
        """Whether all epochs are done, or no run is left to train."""
        return self.epoch >= self.epochs or self._have_all_diverged

    @property
    def _have_all_diverged(self) -> bool:
        return not any(map(self.is_learning, range(len(self.curves))))

    def is_learning(self, run: int) -> bool:
        """Return whether a run is still trained: it has not diverged, and is not left out."""
        return self.curves[run].diverged is None and run not in self.left_out

    @property
    def state(self) -> list[Tensor]:
        """All tensors that training changes, for checkpoints."""
        return [*self._parameters, *self._optimiser.state, *self._averages, *self.best.state]

    @torch.no_grad()
    def restore_best(self) -> None:
        """Put the best state of each run into the networks; with averages that is an average."""
        self.best.restore()
        for parameter, average in zip(self._parameters, self._averages, strict=False):
            parameter.copy_(average)

    def is_judged(self, epoch: int) -> bool:
        """Return whether runs are judged after an epoch."""
        return epoch % self._judge_every == 0 or epoch == self.epochs

    def _run_epoch(self) -> None:
        self.is_between_epochs = False
        for network in self.task.networks.values():
            network.train()
        key = self.task.begin(self.epoch)
        for name, rates in self.task.rates(self.epoch).items():
            self._rates[name].copy_(torch.tensor(rates, dtype=torch.float64))
        for total in self._sums.values():
            total.zero_()
        for step in range(self.task.steps):
            self._stepper.take(step, key)
        self.epoch += 1
        found = [*self._sums.values(), are_finite(self._parameters).double()]
        *sums, are_sound = torch.stack(found).tolist()  # one transfer from the device
        for run, curves in enumerate(self.curves):
            if self.is_learning(run):
                losses = dict(zip(self._sums, (row[run] for row in sums), strict=True))
                mine = {name: losses[name] for name in self.task.parts(run)}
                curves.diverged = _divergence(self.epoch, mine, curves, bool(are_sound[run]))
                for name, loss in mine.items():
                    curves.losses.setdefault(name, []).append(loss)
        if self.is_judged(self.epoch) and not self._have_all_diverged:
            self._judge()
        self.is_between_epochs = True

    def _step(self, step: Tensor) -> None:
        losses = self.task.losses(step)
        gradients: Sequence[Tensor] = torch.autograd.grad(losses["total"].sum(), self._parameters)
        factors = None if self._most is None else clipping_factors(gradients, self._most)
        rates = {
            name: table.index_select(0, step.reshape(1))[0] for name, table in self._rates.items()
        }
        self._optimiser.step(gradients, [rates[name] for name in self._owners], factors)
        if self._decay is not None:
            with torch.no_grad():
                torch._foreach_lerp_(self._averages, self._parameters, 1 - self._decay)
        for name, loss in losses.items():
            if name not in self._sums:
                self._sums[name] = torch.zeros_like(loss, dtype=torch.float64)
            self._sums[name] += loss.detach()

    @torch.no_grad()
    def _judge(self) -> None:
        for network in self.task.networks.values():
            network.eval()
        with self._averages_in_place():
            measures = {name: value.double().cpu() for name, value in self.task.judge().items()}
        learning = [self.is_learning(run) for run in range(len(self.curves))]
        scores = measures["score"].masked_fill(~torch.tensor(learning), -torch.inf)
        self.best.consider(scores, self.epoch)
        values = {name: value.tolist() for name, value in measures.items()}
        for run, curves in enumerate(self.curves):
            if learning[run]:
                curves.judged.append(self.epoch)
                for name, row in values.items():
                    curves.measures.setdefault(name, []).append(row[run])

    @contextmanager
    def _averages_in_place(self) -> Iterator[None]:
        """Give the networks their averages, if there are any, and then their parameters back.

        Values are copied, because a recorded CUDA graph reads the parameters where they are.
        """
        before = [parameter.clone() for parameter in self._parameters[: len(self._averages)]]
        for parameter, average in zip(self._parameters, self._averages, strict=False):
            parameter.copy_(average)
        try:
            yield
        finally:
            for parameter, value in zip(self._parameters, before, strict=False):
                parameter.copy_(value)


def _divergence(
    epoch: int, losses: Mapping[str, float], before: Curves, has_finite_parameters: bool
) -> Divergence | None:
    """Return what is not finite after an epoch; None if the run may go on.

    `losses` are those of the epoch, and `before` are the curves up to the epoch before. A part
    that was NaN before is not named: it has no weight yet.
    """
    if math.isfinite(losses["total"]) and has_finite_parameters:
        return None
    found = [
        f"{LOSS}{name}"
        for name, loss in losses.items()
        if not math.isfinite(loss) and math.isfinite(before.losses.get(name, [0.0])[-1])
    ]
    return Divergence(epoch, found if has_finite_parameters else [*found, "parameters"])


def are_finite(parameters: Iterable[Tensor]) -> Tensor:
    """Return which runs of a stack have no parameter that is infinite or NaN."""
    return torch.stack(
        [one.detach().isfinite().reshape(len(one), -1).all(1) for one in parameters]
    ).all(0)


@final
class Best:
    """Copies of the parameters of each run from the epoch with its highest score.

    Among equal scores the first counts. A score of −inf or NaN is never chosen. A run with no
    other score keeps its last parameters, and its entry in `epochs` is −1.
    """

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._parameters = list(parameters)
        first = self._parameters[0]
        self._copies = [parameter.detach().clone() for parameter in self._parameters]
        self.scores = torch.full((len(first),), -torch.inf, dtype=torch.float64)
        self.epochs = torch.full((len(first),), -1, dtype=torch.int64)

    @torch.no_grad()
    def consider(self, scores: Tensor, epoch: int) -> None:
        """Copy the parameters of the runs whose score is higher than before."""
        scores = scores.double().cpu()
        is_better = scores > self.scores
        self.scores = torch.where(is_better, scores, self.scores)
        self.epochs = torch.where(is_better, epoch, self.epochs)
        for run in is_better.nonzero().flatten().tolist():
            for copy, parameter in zip(self._copies, self._parameters, strict=True):
                copy[run].copy_(parameter[run])

    @torch.no_grad()
    def restore(self) -> None:
        """Put the best parameters of each run back into the networks."""
        for run in (self.epochs >= 0).nonzero().flatten().tolist():
            for copy, parameter in zip(self._copies, self._parameters, strict=True):
                parameter[run].copy_(copy[run])

    @property
    def state(self) -> list[Tensor]:
        """The tensors to keep in a checkpoint, each with a first dimension of runs."""
        return [*self._copies, self.scores, self.epochs]
