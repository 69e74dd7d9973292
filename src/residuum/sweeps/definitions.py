"""What a sweep is: its settings, the space that is searched, and the error of a bad sweep."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, final

from residuum.errors import ResiduumError

if TYPE_CHECKING:
    from optuna.trial import Trial

SamplerName = Literal["grid", "tpe"]
PrunerName = Literal["none", "halving"]

REDUCTION: Final = 3
"""One of this many trials survives a rung."""


class SweepError(ResiduumError):
    """A sweep file that cannot be run; the message begins with the path of the key at fault."""


@final
@dataclass(frozen=True)
class Choice:
    """A setting that has one of some values."""

    values: tuple[Any, ...]

    @property
    def extremes(self) -> Sequence[Any]:
        """The values that are tried out before a sweep runs: all of them."""
        return self.values

    @property
    def plain(self) -> Any:
        """The value as JSON, for the name of the search."""
        return list(self.values)

    def suggest(self, trial: Trial, name: str) -> Any:
        """Let Optuna choose a value."""
        return trial.suggest_categorical(name, self.values)


@final
@dataclass(frozen=True)
class Range:
    """A setting that is a number from `low` to `high`, both included.

    `is_whole` asks for whole numbers, and `step` for multiples of a step above `low`. With `log`
    the logarithm is uniform, so that 0.01 to 0.1 is as likely as 0.1 to 1.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None
    is_whole: bool = False

    @property
    def extremes(self) -> Sequence[Any]:
        """The values that are tried out before a sweep runs: both ends."""
        if self.is_whole:
            return (int(self.low), int(self.high))
        return (self.low, self.high)

    @property
    def plain(self) -> Any:
        """The value as JSON, for the name of the search."""
        return {"low": self.low, "high": self.high, "log": self.log, "step": self.step}

    def suggest(self, trial: Trial, name: str) -> Any:
        """Let Optuna choose a value."""
        if self.is_whole:
            step = 1 if self.step is None else int(self.step)
            return trial.suggest_int(name, int(self.low), int(self.high), log=self.log, step=step)
        return trial.suggest_float(name, self.low, self.high, log=self.log, step=self.step)


Dimension = Choice | Range
Space = Mapping[str, Dimension]


def grid_size(space: Space) -> int:
    """Return the number of settings in a space of lists.

    >>> grid_size({"rate": Choice((0.1, 0.01)), "batch": Choice((8, 16, 32))})
    6
    """
    return math.prod(len(dimension.extremes) for dimension in space.values())


@dataclass(frozen=True)
class Sweep:
    """The content of a sweep file.

    Each of the `configurations` is searched separately; its settings are added to the fixed
    `settings`. `final` are settings of the winners' runs alone, such as more epochs. With halving,
    trials first train for `least_epochs`. Optuna is asked for `together` trials at once.
    """

    study: str
    settings: Mapping[str, Any]
    configurations: tuple[Mapping[str, Any], ...]
    space: Space
    sampler: SamplerName
    pruner: PrunerName
    trials: int
    together: int
    measure: str
    seeds: tuple[int, ...]
    final_seeds: tuple[int, ...]
    final: Mapping[str, Any]
    least_epochs: int = 0
    storage: str | None = field(default=None, repr=False)  # it may hold a password

    def name(self, configuration: Mapping[str, Any]) -> str:
        """Return the name of the search of a configuration: a digest of all that decides it.

        The budget `trials` is left out, so that a search with a larger budget continues.
        """
        decisive = {
            "settings": {**self.settings, **configuration},
            "space": {name: dimension.plain for name, dimension in self.space.items()},
            "how": [self.sampler, self.pruner, self.least_epochs, self.together, self.measure],
            "seeds": self.seeds,
        }
        text = json.dumps(decisive, sort_keys=True)
        return f"{self.study}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @property
    def rungs(self) -> tuple[int | None, ...]:
        """The epochs after which the worst trials are given up; None stands for all epochs."""
        if self.pruner == "none":
            return (None,)
        count = math.ceil(math.log(self.settings["epochs"] / self.least_epochs, REDUCTION) - 1e-9)
        return (*(self.least_epochs * REDUCTION**rung for rung in range(count)), None)
