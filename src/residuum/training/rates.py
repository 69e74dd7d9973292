"""Learning rates over time; names of optimisers too, for settings to be read without PyTorch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from residuum.errors import ResiduumError

OptimiserName = Literal["sgd", "adam"]
Schedule = Literal["constant", "cosine", "restarts"]
SCHEDULES: Final[tuple[Schedule, ...]] = ("constant", "cosine", "restarts")


@dataclass(frozen=True)
class Rate:
    """A learning rate as a function of epochs, whole or in part.

    `cosine` falls from the rate to 0 over the whole training; `restarts` does so over each
    `period` of epochs and starts anew (Loshchilov and Hutter's SGDR, with equal periods).
    """

    rate: float
    schedule: Schedule = "constant"
    period: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.rate < math.inf:
            raise ResiduumError(f"a learning rate is a number from 0 on, got {self.rate!r}")
        if self.schedule not in SCHEDULES:
            raise ResiduumError(
                f"schedule: expected one of {', '.join(SCHEDULES)}, got {self.schedule!r}"
            )
        if self.schedule == "restarts" and not (self.period and self.period > 0):
            raise ResiduumError(f"restarts need a period in epochs, got {self.period!r}")

    def at(self, epoch: float, epochs: float) -> float:
        """Return the rate at a moment of a training of so many epochs."""
        if self.schedule == "constant":
            return self.rate
        period = epochs if self.schedule == "cosine" else self.period
        assert period is not None
        share = epoch % period / period if self.schedule == "restarts" else epoch / period
        return self.rate * (1 + math.cos(math.pi * share)) / 2
