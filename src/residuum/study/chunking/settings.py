"""The settings of a run of the chunking study, the values chosen on DEV, and plans of runs.

`Settings` decides a run completely. `preset` returns the chosen values, which are kept in
`residuum/data/chunking_settings.json`. `plan` returns the runs that a command asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, Literal

from residuum.errors import ResiduumError
from residuum.relaxations.catalogue import find_meaning
from residuum.study.chunking.knowledge import RulesName
from residuum.study.common_settings import (
    PAPER,
    check_choice,
    check_fraction,
    check_seed,
    check_weight,
    configuration_of,
    nearest,
    of_length,
    read_data,
)
from residuum.training.rates import OptimiserName, Rate, Schedule

Cell = Literal["lstm", "gru"]

STUDY: Final = "chunking"
TUNING: Final = "chunking-tuning"
"""The name of the study in records of runs that are not measured on TEST."""

SCHEME: Final = 1
"""Increased when equal settings begin to mean something else; older records then do not count."""

_CHOICES: Final = {"rules": RulesName, "cell": Cell, "optimiser": OptimiserName}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one run; equal settings mean the same run.

    `corpus` and `embeddings` are `Corpus.name` and `WordVectors.name`. `fraction` is the share of
    the sentences that is used with labels. With `constraints` the `rules` are learnt beside the
    labels, with a `weight` (λ). With `unlabelled` they are also learnt from other sentences, as
    many as there are with labels. Decoding obeys the `rules` in any case. `hidden` counts the
    units of both directions of each of the `layers`. The first `warm_up` epochs use
    `warm_up_relaxation`, `warm_up_rate` and `warm_up_weight`.
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
            if not self.constraints:  # a weight that is not used must not tell runs apart
                object.__setattr__(self, name, 0.0)

    @property
    def configuration(self) -> dict[str, Any]:
        """The settings as plain data."""
        return configuration_of(self)

    @property
    def stack(self) -> tuple[Any, ...]:
        """The settings that runs must have in common to be trained together."""
        return (
            self.corpus, self.embeddings, self.fraction, self.unlabelled, self.cell, self.hidden,
            self.layers, self.epochs, self.batch, self.optimiser, self.clip, self.judge_every,
        )  # fmt: skip

    @property
    def lengths(self) -> tuple[str, ...]:
        """Other settings that count epochs: none."""
        return ()

    def relaxation_at(self, epoch: int) -> str:
        """Return the relaxation of an epoch, counted from 0."""
        return self.warm_up_relaxation if epoch < self.warm_up else self.relaxation

    def weight_at(self, epoch: int) -> float:
        """Return the weight of the rules in an epoch, counted from 0."""
        return self.warm_up_weight if epoch < self.warm_up else self.weight


def preset(
    corpus: str, relaxation: str, *, fraction: float, constraints: bool, seed: int, **others: Any
) -> Settings:
    """Return the settings that were chosen on DEV for a run; `others` override them.

    A fraction without chosen settings gets those of the nearest fraction, and a relaxation
    without them gets those of `r-product`. A user's text in the place of CoNLL-2000 gets the
    settings of CoNLL-2000. Runs with `unlabelled` may have their own settings.
    """
    table = _table().get(corpus.partition("-")[0])
    if table is None:
        raise ResiduumError(
            f"no settings were chosen for the corpus {corpus!r}, only for "
            f"{', '.join(_table())}; give all settings to `Settings`"
        )
    check_fraction(fraction)
    chosen = dict(nearest(table.get(relaxation, table["r-product"]), fraction))
    of_unlabelled = chosen.pop("unlabelled", {})
    if others.get("unlabelled"):
        chosen |= of_unlabelled
    return Settings(
        corpus=corpus,
        relaxation=relaxation,
        fraction=fraction,
        constraints=constraints,
        seed=seed,
        **{**table["all"], **chosen, **others},
    )


def plan(
    corpus: str,
    relaxations: Sequence[str],
    fractions: Sequence[float],
    constraints: Sequence[bool],
    seeds: Sequence[int],
    *,
    unlabelled: bool = False,
    epochs: int | None = None,
    **others: Any,
) -> list[Settings]:
    """Return the settings of all combinations, no run twice.

    Without `relaxations` the paper's are planned. Settings are those of `preset`, which `epochs`
    and `others` override. `unlabelled` applies to runs that learn rules and leave some sentences
    without labels.
    """
    runs = [
        of_length(
            preset(
                corpus, relaxation, fraction=fraction, constraints=is_constrained, seed=seed,
                unlabelled=unlabelled and is_constrained and fraction < 1, **others,
            ),
            epochs,
        )
        for fraction, is_constrained in product(fractions, constraints)
        for relaxation in relaxations or PAPER
        for seed in seeds
    ]  # fmt: skip
    return list(dict.fromkeys(runs))


def _table() -> dict[str, Any]:
    return read_data("chunking_settings.json")
