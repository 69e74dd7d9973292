"""What the two studies found, in a sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from residuum.results import Record
from residuum.study.chunking import findings as chunking
from residuum.study.chunking.published import published_f1
from residuum.study.chunking.settings import STUDY as CHUNKING
from residuum.study.common_settings import PAPER
from residuum.study.digits import findings as digits
from residuum.study.digits.published import published
from residuum.study.digits.settings import STUDY as DIGITS

QUOTED: Final = digits.Setting("mnist", "paper", digit_size=1000, pair_size=5000)
"""The setting of the digits study that is quoted."""

CORPUS: Final = "conll2000"
PERCENT: Final = 10
"""The corpus of the chunking study that is quoted, and the percentage of its sentences."""


def what_studies_found(records: Iterable[Record]) -> tuple[str, str]:
    """Return how well systems learnt from rules: by the records, or else as the paper printed."""
    listed = list(records)
    of_digits = (
        f"In the digits study, with {QUOTED.digit_size:,} labels and {QUOTED.pair_size:,} "
        f"unlabelled pairs, sums and products were learnt from rules to {_digits(listed)}"
    )
    of_chunking = (
        f"In the chunking study, with {PERCENT}% of the sentences and rules between neighbours, F1 "
        f"was {_chunking(listed)}"
    )
    return of_digits, of_chunking


def _digits(records: list[Record]) -> str:
    finished = [record for record in records if record.study == DIGITS]
    found = digits.Findings(digits.of_presets(finished).records)
    run = {
        name: summary.mean
        for name in PAPER
        if (summary := found.summary(QUOTED, digits.System("joint", name), "operator_accuracy"))
    }
    printed = {
        name: figure.mean
        for name in PAPER
        if (
            figure := published(
                "joint", "operator_accuracy", name.removesuffix("-maxsat"),
                digit_size=QUOTED.digit_size, pair_size=QUOTED.pair_size,
            )
        )
    }  # fmt: skip
    return _figures_in_words(run, printed)


def _chunking(records: list[Record]) -> str:
    finished = [record for record in records if record.study == CHUNKING]
    found = chunking.Findings(chunking.of_presets(finished).records)
    places = [
        place
        for place in found.settings
        if place.corpus == CORPUS and place.fraction == PERCENT / 100
    ]
    systems = {name: chunking.System(name, constraints=True) for name in PAPER}
    runs = [
        {
            name: summary.mean
            for name, system in systems.items()
            if (summary := found.summary(place, system, "f1"))
        }
        for place in places  # settings that differ in their word vectors
    ]
    printed = {
        name: f1
        for name in PAPER
        if (f1 := published_f1(name.removesuffix("-maxsat"), PERCENT, constraints=True))
    }
    return _figures_in_words(max(runs, key=len, default={}), printed)


def _figures_in_words(run: Mapping[str, float], printed: Mapping[str, float]) -> str:
    """Return figures, best first: those of the runs, or else those that the paper printed."""
    ordered = sorted((run or printed).items(), key=lambda pair: -pair[1])
    figures = ", ".join(f"{name} {mean:.1f}%" for name, mean in ordered)
    return f"{figures}, {'by the runs recorded here' if run else 'as printed in the paper'}"
