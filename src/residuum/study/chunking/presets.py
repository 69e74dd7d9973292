"""Settings for each corpus, relaxation and share of the sentences, and the runs of a study."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from residuum.errors import ResiduumError
from residuum.study.choices import check_fraction
from residuum.study.chunking.settings import Settings
from residuum.study.planning import PAPER, of_length
from residuum.study.presets import nearest, read_data


def preset(
    corpus: str, relaxation: str, *, fraction: float, constraints: bool, seed: int, **others: Any
) -> Settings:
    """Return the settings chosen for a run; `others` override them.

    For other fractions they are those of the nearest one, and for other relaxations those of
    `r-product`. Other texts in the place of CoNLL-2000 have its settings. Runs that see text
    without labels, too, may have settings of their own.
    """
    table = _table().get(corpus.partition("-")[0])
    if table is None:
        raise ResiduumError(
            f"no settings have been chosen for the corpus {corpus!r}, only for "
            f"{', '.join(_table())}; give all of them to `Settings`"
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
    """Return the settings of all runs, none twice; without relaxations, of the paper's.

    With `unlabelled` the runs that learn rules ground them on sentences without labels, too,
    where there are any.
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
