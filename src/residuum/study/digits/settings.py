"""Everything that decides a run of the digits study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, Final, Literal

from residuum.errors import ResiduumError
from residuum.relaxations import relaxation as find_relaxation
from residuum.study.common_settings import (
    PAPER,
    check_choice,
    check_seed,
    check_weight,
    nearest,
    of_length,
    read_data,
)
from residuum.study.digits.data.images import ImagesName
from residuum.study.digits.data.sets import PairPool
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

    @property
    def earlier_stages(self) -> tuple[str, ...]:
        """The settings that count epochs of stages before the main training."""
        return ("digit_epochs",)

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


WarmUps = Literal["paper", "original"]
"""Which relaxations begin with a warm-up: those of the paper's text, or of the authors' code."""


def preset(
    images: ImagesName,
    protocol: Protocol,
    relaxation: str,
    *,
    digit_size: int,
    pair_size: int,
    seed: int,
    warm_ups: WarmUps = "paper",
    **others: Any,
) -> Settings:
    """Return the settings chosen for a run; `others` override them.

    For other sizes they are those of the nearest one, and for other relaxations those of
    `r-product`. A pool of pairs may have settings of its own for some sizes of DIGIT. With
    `warm_ups="original"` a pipeline of `lukasiewicz-maxsat` begins with a warm-up.
    """
    check_choice("warm_ups", warm_ups, WarmUps)
    table = _table().get(images, {}).get(protocol)
    if table is None:
        raise ResiduumError(
            f"no settings have been chosen for the protocol {protocol!r} on the images {images!r}; "
            "give all of them to `Settings`"
        )
    known = relaxation if relaxation in table else "r-product"
    of_pool = table.get("pools", {}).get(others.get("pair_pool"), {})
    by_digit_size = {**table[known], **of_pool.get(known, {})}
    of_warm_up = table.get("warm_ups", {}).get(warm_ups, {}).get(relaxation, {})
    chosen = {**table["all"], **nearest(by_digit_size, digit_size), **of_warm_up}
    chosen = {
        name: nearest(value, pair_size) if isinstance(value, dict) else value
        for name, value in chosen.items()
    }
    return Settings(
        images=images,
        protocol=protocol,
        relaxation=relaxation,
        digit_size=digit_size,
        pair_size=pair_size,
        seed=seed,
        **{**chosen, **others},
    )


def _table() -> dict[str, Any]:
    return read_data("digits_settings.json")


PAPER_BY_PROTOCOL: Final[dict[Protocol, tuple[str, ...]]] = {
    "joint": PAPER,
    # A pipeline only conjoins, so that S- and R-Product are the same.
    "pipeline": ("s-godel", "r-product", "lukasiewicz-maxsat"),
}
"""The relaxations that the paper compares, in the order of its tables."""


def plan(
    images: ImagesName,
    protocols: Sequence[Protocol],
    relaxations: Sequence[str],
    digit_sizes: Sequence[int],
    pair_sizes: Sequence[int],
    seeds: Sequence[int],
    *,
    epochs: int | None = None,
    **others: Any,
) -> list[Settings]:
    """Return the settings of all runs, none twice; without relaxations, of the paper's.

    They are those chosen for each relaxation and size, which `epochs` and `others` override.
    """
    runs = [
        of_length(
            preset(
                images, protocol, relaxation,
                digit_size=digit_size, pair_size=pair_size, seed=seed, **others,
            ),
            epochs,
        )
        for protocol in protocols
        for pair_size, digit_size in product(pair_sizes, digit_sizes)
        for relaxation in relaxations or PAPER_BY_PROTOCOL[protocol]
        for seed in seeds
    ]  # fmt: skip
    return list(dict.fromkeys(runs))
