"""Everything that decides a run of the digits study."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from residuum.errors import ResiduumError
from residuum.relaxations import relaxation as find_relaxation
from residuum.study.choices import check_choice, check_seed, check_weight
from residuum.study.digits.images import ImagesName
from residuum.study.digits.sets import PairPool
from residuum.training.rates import OptimiserName, Rate, Schedule

Protocol = Literal["joint", "pipeline"]
Selection = Literal["coherence", "gold"]
Precision = Literal["float32", "bfloat16", "float64"]

STUDY: Final = "digits"
TUNING: Final = "digits-tuning"
"""What runs are kept as whose networks never saw TEST."""

SCHEME: Final = 1
"""Raised when the same settings begin to mean something else: older records do not count then."""

_CHOICES: Final = {
    "images": ImagesName,
    "protocol": Protocol,
    "pair_pool": PairPool,
    "optimiser": OptimiserName,
    "selection": Selection,
    "precision": Precision,
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one run; equal settings are the same run.

    `weight` is that of the two rules beside the labels (λ). For the first `warm_up` epochs
    another relaxation is learnt, with a rate and a weight of its own; `freeze` keeps Digit as it
    is from then on. A pipeline learns Digit first, for epochs and with a rate of its own.
    `selection` is how states of the pipeline's operators are chosen on DEV: by
    coherence, which needs no labels, or by gold labels of the operators, as the authors did.
    """

    images: ImagesName
    relaxation: str
    digit_size: int
    pair_size: int
    seed: int
    protocol: Protocol = "joint"
    pair_pool: PairPool = "paper"
    epochs: int
    batch: int = 64
    optimiser: OptimiserName = "sgd"
    learning_rate: float
    schedule: Schedule = "cosine"
    period: float | None = None
    weight: float = 1.0
    warm_up: int = 0
    warm_up_relaxation: str = "r-product"
    warm_up_rate: float = 0.0
    warm_up_weight: float = 1.0
    freeze: bool = False
    digit_epochs: int = 0
    digit_rate: float = 0.0
    judge_every: int = 10
    judge_pairs: int = 10_000
    selection: Selection = "coherence"
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        for name in ("relaxation", "warm_up_relaxation"):  # `s-yager(2.0)` is `s-yager(2)`
            object.__setattr__(self, name, find_relaxation(getattr(self, name)).name)
        for name, options in _CHOICES.items():
            check_choice(name, getattr(self, name), options)
        check_seed(self.seed)
        for name in ("digit_size", "pair_size", "epochs", "batch", "judge_every", "judge_pairs"):
            if getattr(self, name) < 1:
                raise ResiduumError(f"{name}: expected at least 1, got {getattr(self, name)}")
        for rate in (self.learning_rate, self.warm_up_rate, self.digit_rate):
            Rate(rate, self.schedule, self.period)
        for name in ("weight", "warm_up_weight"):
            check_weight(name, getattr(self, name))
        if self.protocol == "pipeline" and not (self.digit_epochs >= 1 and self.digit_rate > 0):
            raise ResiduumError(
                "a pipeline needs `digit_epochs`, at least 1, to learn Digit in, and a "
                f"`digit_rate` above 0, got {self.digit_epochs} and {self.digit_rate:g}"
            )
        if not 0 <= self.warm_up <= self.epochs:
            raise ResiduumError(
                f"warm_up: expected at most the {self.epochs} epochs, got {self.warm_up}"
            )
        if self.warm_up and not self.warm_up_rate:
            raise ResiduumError(
                f"warm_up_rate: expected a rate above 0 for a warm-up of {self.warm_up} epochs, "
                "got 0: nothing would be learnt in it"
            )

    @property
    def configuration(self) -> dict[str, Any]:
        """The settings as plain data."""
        return asdict(self)

    @property
    def stack(self) -> tuple[Any, ...]:
        """What runs must have in common to be trained together."""
        # A pipeline's first stage passes over DIGIT; joint learning has it beside the pairs.
        digit_size = self.digit_size if self.protocol == "pipeline" else None
        return (
            self.images, self.protocol, digit_size, self.pair_size, self.epochs, self.digit_epochs,
            self.batch, self.optimiser, self.judge_every, self.judge_pairs,
            self.selection, self.precision,
        )  # fmt: skip

    def relaxation_at(self, epoch: int) -> str:
        """Return what is learnt in an epoch."""
        return self.warm_up_relaxation if epoch < self.warm_up else self.relaxation

    @property
    def digit_stage(self) -> Settings:
        """The first stage of a pipeline."""
        return replace(
            self,
            epochs=self.digit_epochs,
            learning_rate=self.digit_rate,
            warm_up=min(self.warm_up, self.digit_epochs),
        )
