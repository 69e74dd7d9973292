"""Everything that decides a run of the chunking study."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from residuum.errors import ResiduumError
from residuum.relaxations.catalogue import find_meaning
from residuum.study.choices import check_choice, check_fraction, check_seed, check_weight
from residuum.study.chunking.knowledge import RulesName
from residuum.training.rates import OptimiserName, Rate, Schedule

Cell = Literal["lstm", "gru"]

STUDY: Final = "chunking"
TUNING: Final = "chunking-tuning"
"""What runs are kept as whose taggers never saw TEST."""

SCHEME: Final = 1
"""Raised when the same settings begin to mean something else: older records do not count then."""

_CHOICES: Final = {"rules": RulesName, "cell": Cell, "optimiser": OptimiserName}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one run; equal settings are the same run.

    `corpus` and `embeddings` are the names that the corpus and the vectors give themselves. With
    `constraints` the `rules` are learnt beside the labels, with a `weight` (λ), if `unlabelled`
    also from as many of the sentences that are not in use; without them rules are still what
    decoding obeys. `hidden` counts the units of both directions of one of the `layers`. For the
    first `warm_up` epochs another relaxation is learnt, with a rate and a weight of its own.
    """

    corpus: str
    embeddings: str | None = None
    relaxation: str
    fraction: float = 1.0
    constraints: bool
    rules: RulesName = "paper"
    unlabelled: bool = False
    seed: int
    cell: Cell = "lstm"
    hidden: int = 256
    layers: int = 1
    epochs: int
    batch: int = 32
    optimiser: OptimiserName = "adam"
    learning_rate: float = 0.001
    schedule: Schedule = "constant"
    period: float | None = None
    clip: float = 5.0
    weight: float = 1.0
    warm_up: int = 0
    warm_up_relaxation: str = "r-product"
    warm_up_rate: float = 0.001
    warm_up_weight: float = 1.0
    judge_every: int = 1

    def __post_init__(self) -> None:
        for name in ("relaxation", "warm_up_relaxation"):  # `s-yager(2.0)` is `s-yager(2)`
            object.__setattr__(self, name, find_meaning(getattr(self, name)).name)
        for name, options in _CHOICES.items():
            check_choice(name, getattr(self, name), options)
        check_seed(self.seed)
        check_fraction(self.fraction)
        for rate in (self.learning_rate, self.warm_up_rate):
            Rate(rate, self.schedule, self.period)
        for name in ("layers", "epochs", "batch", "judge_every"):
            if getattr(self, name) < 1:
                raise ResiduumError(f"{name}: expected at least 1, got {getattr(self, name)}")
        if self.hidden < 2 or self.hidden % 2:
            raise ResiduumError(
                f"hidden: expected an even number, half for each direction, got {self.hidden}"
            )
        if not 0 <= self.warm_up <= self.epochs:
            raise ResiduumError(
                f"warm_up: expected at most the {self.epochs} epochs, got {self.warm_up}"
            )
        if self.unlabelled and not (self.constraints and self.fraction < 1):
            raise ResiduumError(
                "unlabelled: expected constraints, which need no labels, and a fraction below 1, "
                f"got constraints={self.constraints} and fraction={self.fraction:g}"
            )
        for name in ("weight", "warm_up_weight"):
            check_weight(name, getattr(self, name))
            if not self.constraints:  # runs that differ in what they do not use are the same
                object.__setattr__(self, name, 0.0)

    @property
    def configuration(self) -> dict[str, Any]:
        """The settings as plain data."""
        return asdict(self)

    @property
    def stack(self) -> tuple[Any, ...]:
        """What runs must have in common to be trained together."""
        return (
            self.corpus, self.embeddings, self.fraction, self.unlabelled, self.cell, self.hidden,
            self.layers, self.epochs, self.batch, self.optimiser, self.clip, self.judge_every,
        )  # fmt: skip

    def relaxation_at(self, epoch: int) -> str:
        """Return what is learnt in an epoch."""
        return self.warm_up_relaxation if epoch < self.warm_up else self.relaxation

    def weight_at(self, epoch: int) -> float:
        """Return the weight of the rules in an epoch."""
        return self.warm_up_weight if epoch < self.warm_up else self.weight
