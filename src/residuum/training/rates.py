"""Learning rates over time, and names of optimisers. Settings use both without PyTorch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from residuum.errors import ResiduumError

OptimiserName = Literal["sgd", "adam"]
Schedule = Literal["constant", "cosine", "restarts"]
SCHEDULES: Final[tuple[Schedule, ...]] = ("constant", "cosine", "restarts")


@dataclass(frozen=True)
class Rate:
    """A learning rate as a function of the epoch, which may be fractional.

    `cosine` falls from the rate to 0 over the whole training. `restarts` falls to 0 over each
    `period` of epochs and then starts again (SGDR of Loshchilov and Hutter, with equal periods).
    """

    rate: float
    schedule: Schedule = "constant"
    period: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.rate < math.inf:
            raise ResiduumError(f"learning rate: expected a number from 0 on, got {self.rate!r}")
        if self.schedule not in SCHEDULES:
            raise ResiduumError(
                f"schedule: expected one of {', '.join(SCHEDULES)}, got {self.schedule!r}"
            )
        if self.schedule == "restarts" and not (self.period and self.period > 0):
            raise ResiduumError(
                f"restarts: expected a period in epochs above 0, got {self.period!r}"
            )

    def at(self, epoch: float, epochs: float) -> float:
        """Return the rate at a possibly fractional epoch of a training of `epochs` epochs."""
        if self.schedule == "constant":
            return self.rate
        period = epochs if self.schedule == "cosine" else self.period
        assert period is not None
        share = epoch % period / period if self.schedule == "restarts" else epoch / period
        return self.rate * (1 + math.cos(math.pi * share)) / 2


Rates = list[list[float]]
"""The learning rates of an epoch: a row for each step, with one number for each run."""


class Rated(Protocol):
    """The settings of a run that its learning rate depends on."""

    @property
    def epochs(self) -> int:
        """Epochs of the training."""

    @property
    def learning_rate(self) -> float:
        """The learning rate at the start of the schedule."""

    @property
    def schedule(self) -> Schedule:
        """The schedule of the learning rate."""

    @property
    def period(self) -> float | None:
        """Epochs between restarts."""

    @property
    def warm_up(self) -> int:
        """Epochs of the warm-up, which has a constant rate."""

    @property
    def warm_up_rate(self) -> float:
        """The learning rate of the warm-up."""


def ramp(moment: float, epochs: int) -> float:
    """Return the share of its value that something has which grows linearly from 0 over epochs.

    >>> [ramp(moment, 4) for moment in (0, 1, 3.5, 4, 9)]
    [0.0, 0.25, 0.875, 1.0, 1.0]
    >>> ramp(0, 0)
    1.0
    """
    return min(1.0, moment / epochs) if epochs else 1.0


def rates_of(runs: Sequence[Rated], epoch: int, steps: int) -> Rates:
    """Return the learning rates of an epoch.

    The rate is constant during a warm-up. The schedule begins after the warm-up.
    """
    moments = [epoch + step / steps for step in range(steps)]
    columns = []
    for run in runs:
        if epoch < run.warm_up:
            columns.append([run.warm_up_rate] * steps)
            continue
        rate = Rate(run.learning_rate, run.schedule, run.period)
        length = run.epochs - run.warm_up
        columns.append([rate.at(moment - run.warm_up, length) for moment in moments])
    return [list(row) for row in zip(*columns, strict=True)]
