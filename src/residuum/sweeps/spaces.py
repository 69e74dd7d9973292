"""What a setting may be: one of a list, or any number of a range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from optuna.trial import Trial


@final
@dataclass(frozen=True)
class Choice:
    """One of some values."""

    values: tuple[Any, ...]

    @property
    def extremes(self) -> Sequence[Any]:
        """The values that must all be possible."""
        return self.values

    @property
    def plain(self) -> Any:
        """As a file has it."""
        return list(self.values)

    def suggest(self, trial: Trial, name: str) -> Any:
        """Let Optuna choose."""
        return trial.suggest_categorical(name, self.values)


@final
@dataclass(frozen=True)
class Range:
    """A number from `low` to `high`, whole if `is_whole`, in steps if there is one.

    With `log` small numbers are as likely as large ones.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None
    is_whole: bool = False

    @property
    def extremes(self) -> Sequence[Any]:
        """The ends, which must both be possible."""
        if self.is_whole:
            return (int(self.low), int(self.high))
        return (self.low, self.high)

    @property
    def plain(self) -> Any:
        """As a file has it."""
        return {"low": self.low, "high": self.high, "log": self.log, "step": self.step}

    def suggest(self, trial: Trial, name: str) -> Any:
        """Let Optuna choose."""
        if self.is_whole:
            step = 1 if self.step is None else int(self.step)
            return trial.suggest_int(name, int(self.low), int(self.high), log=self.log, step=step)
        return trial.suggest_float(name, self.low, self.high, log=self.log, step=self.step)


Dimension = Choice | Range
Space = Mapping[str, Dimension]


def grid_size(space: Space) -> int:
    """Return how many settings a space of lists has.

    >>> grid_size({"rate": Choice((0.1, 0.01)), "batch": Choice((8, 16, 32))})
    6
    """
    return math.prod(len(dimension.extremes) for dimension in space.values())
