"""What a sweep is."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from residuum.sweeps.spaces import Space
from residuum.sweeps.studies import StudyName

SamplerName = Literal["grid", "tpe"]
PrunerName = Literal["none", "halving"]

REDUCTION: Final = 3
"""Of so many trials one survives a rung."""


@dataclass(frozen=True)
class Sweep:
    """What a sweep file says.

    Each of the `configurations` is a search of its own, with settings beside the fixed ones.
    `final` are settings that only the winners' runs have, such as more epochs. With halving,
    trials are first trained for `least_epochs`.
    """

    study: StudyName
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
        """Return what the search of a configuration is called: a digest of all that decides it.

        The budget does not: a search with a larger one goes on.
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
