"""The settings of a run of the digits study, the values chosen on DEV, and plans of runs.

`Settings` decides a run completely. `preset` returns the chosen values, which are kept in
`residuum/data/digits_settings.json`. `plan` returns the runs that a command asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Final, Literal

from residuum.errors import ResiduumError
from residuum.relaxations import relaxation as find_relaxation
from residuum.study.common_settings import (
    ADDED,
    PAPER,
    check_choice,
    check_clip,
    check_seed,
    check_weight,
    configuration_of,
    nearest,
    of_length,
    read_data,
)
from residuum.study.digits.data.images import ImagesName
from residuum.study.digits.data.sets import PairPool
from residuum.training.rates import OptimiserName, Rate, Schedule, ramp

Protocol = Literal["joint", "pipeline"]
Selection = Literal["coherence", "gold"]
Precision = Literal["float32", "bfloat16", "float64"]

STUDY: Final = "digits"
TUNING: Final = "digits-tuning"
"""The name of the study in records of runs that are not measured on TEST."""

SCHEME: Final = 1
"""Increased when equal settings begin to mean something else; older records then do not count."""

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
    """The settings of one run; equal settings mean the same run.

    `weight` (λ) is the weight of each of the two rules, where the labels have 1. The first
    `warm_up` epochs use `warm_up_relaxation`, `warm_up_rate` and `warm_up_weight`; with `freeze`,
    Digit does not change after them. A pipeline first trains Digit for `digit_epochs` with
    `digit_rate`. `selection` says how the best state of a pipeline's Sum and Product is chosen on
    DEV: by coherence, which needs no labels, or by gold labels, as the authors did. With `clip`
    the gradient of the loss by all parameters of the run is scaled down to at most this norm.
    Weights of rules grow linearly from 0 over the first `weight_ramp` epochs, and learning rates
    over the first `rate_ramp` epochs of each stage, those of a warm-up included. With `average`
    an exponential moving average of the parameters with this decay per step is judged and measured
    instead of the parameters.
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
    clip: float | None = field(default=None, metadata=ADDED)
    weight_ramp: int = field(default=0, metadata=ADDED)
    rate_ramp: int = field(default=0, metadata=ADDED)
    average: float | None = field(default=None, metadata=ADDED)

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
        check_clip(self.clip)
        if self.average is not None and not 0 <= self.average < 1:
            raise ResiduumError(
                f"average: expected a decay from 0 to below 1, such as 0.999, got {self.average}"
            )
        if self.protocol == "pipeline" and not (self.digit_epochs >= 1 and self.digit_rate > 0):
            raise ResiduumError(
                "a pipeline trains Digit first: expected `digit_epochs` of at least 1 and a "
                f"`digit_rate` above 0, got {self.digit_epochs} and {self.digit_rate:g}"
            )
        if not 0 <= self.warm_up <= self.epochs:
            raise ResiduumError(
                f"warm_up: expected at most the {self.epochs} epochs, got {self.warm_up}"
            )
        for name in ("weight_ramp", "rate_ramp"):
            if not 0 <= getattr(self, name) <= self.epochs:
                raise ResiduumError(
                    f"{name}: expected from 0 to the {self.epochs} epochs, got "
                    f"{getattr(self, name)}"
                )
        if self.warm_up and not self.warm_up_rate:
            raise ResiduumError(
                f"warm_up_rate: expected a rate above 0 for a warm-up of {self.warm_up} epochs, "
                "got 0; with a rate of 0 nothing is learnt"
            )

    @property
    def configuration(self) -> dict[str, Any]:
        """The settings as plain data."""
        return configuration_of(self)

    @property
    def stack(self) -> tuple[Any, ...]:
        """The settings that runs must have in common to be trained together."""
        # The first stage of a pipeline passes over DIGIT; joint learning cycles through it.
        digit_size = self.digit_size if self.protocol == "pipeline" else None
        return (
            self.images, self.protocol, digit_size, self.pair_size, self.epochs, self.digit_epochs,
            self.batch, self.optimiser, self.judge_every, self.judge_pairs,
            self.selection, self.precision, self.average,
        )  # fmt: skip

    @property
    def lengths(self) -> tuple[str, ...]:
        """Other settings that count epochs: of the first stage of a pipeline, and of ramps."""
        return ("digit_epochs", "weight_ramp", "rate_ramp")

    def weight_at(self, moment: float) -> float:
        """Return the weight of each rule at a possibly fractional epoch, counted from 0."""
        weight = self.warm_up_weight if moment < self.warm_up else self.weight
        return weight * ramp(moment, self.weight_ramp)

    def relaxation_at(self, epoch: int) -> str:
        """Return the relaxation of an epoch, counted from 0."""
        return self.warm_up_relaxation if epoch < self.warm_up else self.relaxation

    @property
    def digit_stage(self) -> Settings:
        """The settings of the first stage of a pipeline, which trains Digit."""
        return replace(
            self,
            epochs=self.digit_epochs,
            learning_rate=self.digit_rate,
            warm_up=min(self.warm_up, self.digit_epochs),
            weight_ramp=min(self.weight_ramp, self.digit_epochs),
            rate_ramp=min(self.rate_ramp, self.digit_epochs),
        )


WarmUps = Literal["paper", "original"]
"""Which relaxations have a warm-up: those in the paper's text, or those in the authors' code."""


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
    """Return the settings that were chosen on DEV for a run; `others` override them.

    A size without chosen settings gets those of the nearest size, and a relaxation without them
    gets those of `r-product`. A pool of pairs may have its own settings for some sizes of DIGIT.
    With `warm_ups="original"` a pipeline of `lukasiewicz-maxsat` has a warm-up.
    """
    check_choice("warm_ups", warm_ups, WarmUps)
    table = _table().get(images, {}).get(protocol)
    if table is None:
        raise ResiduumError(
            f"no settings were chosen for the protocol {protocol!r} on the images {images!r}; "
            "give all settings to `Settings`"
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
    # A pipeline has only conjunctions, for which S-Product and R-Product are the same.
    "pipeline": ("s-godel", "r-product", "lukasiewicz-maxsat"),
}
"""The relaxations that the paper compares under each protocol, in the order of its tables."""


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
    """Return the settings of all combinations, no run twice.

    Without `relaxations` the paper's are planned. Settings are those of `preset`, which `epochs`
    and `others` override.
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
