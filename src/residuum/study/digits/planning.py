"""Which runs a study consists of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final

from residuum.study import planning
from residuum.study.digits.images import ImagesName
from residuum.study.digits.presets import preset
from residuum.study.digits.settings import Protocol, Settings

PAPER: Final[dict[Protocol, tuple[str, ...]]] = {
    "joint": planning.PAPER,
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
        for relaxation in relaxations or PAPER[protocol]
        for seed in seeds
    ]  # fmt: skip
    return list(dict.fromkeys(runs))


def of_length(settings: Settings, epochs: int | None) -> Settings:
    """Return settings for so many epochs, a warm-up and a first stage in proportion."""
    if epochs is None:
        return settings
    digit_epochs = math.ceil(settings.digit_epochs * (epochs / settings.epochs))
    return replace(planning.of_length(settings, epochs), digit_epochs=digit_epochs)
