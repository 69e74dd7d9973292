"""Settings that were chosen on development data, for each relaxation and size of the study."""

from __future__ import annotations

from typing import Any, Literal

from residuum.errors import ResiduumError
from residuum.study.choices import check_choice
from residuum.study.digits.images import ImagesName
from residuum.study.digits.settings import Protocol, Settings
from residuum.study.presets import nearest, read_data

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
