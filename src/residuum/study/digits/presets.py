"""Settings that were chosen on development data, for each relaxation and size of the study."""

from __future__ import annotations

from typing import Any

from residuum.errors import ResiduumError
from residuum.study.digits.images import ImagesName
from residuum.study.digits.settings import Protocol, Settings
from residuum.study.presets import nearest, read_data


def preset(
    images: ImagesName,
    protocol: Protocol,
    relaxation: str,
    *,
    digit_size: int,
    pair_size: int,
    seed: int,
    **others: Any,
) -> Settings:
    """Return the settings chosen for a run; `others` override them.

    For other sizes they are those of the nearest one, and for other relaxations those of
    `r-product`. A pool of pairs may have settings of its own.
    """
    table = _table().get(images, {}).get(protocol)
    if table is None:
        raise ResiduumError(
            f"no settings have been chosen for the protocol {protocol!r} on the images {images!r}; "
            "give all of them to `Settings`"
        )
    of_pool = table.get(others.get("pair_pool", "paper"), {})
    by_digit_size = {**table.get(relaxation, table["r-product"]), **of_pool.get(relaxation, {})}
    chosen = {**table["all"], **nearest(by_digit_size, digit_size)}
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
