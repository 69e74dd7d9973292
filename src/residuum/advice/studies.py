"""What the studies found, a sentence of each."""

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

PLACE: Final = digits.Setting("mnist", "paper", digit_size=1000, pair_size=5000)
CORPUS: Final = "conll2000"
PERCENT: Final = 10


def what_studies_found(records: Iterable[Record]) -> tuple[str, str]:
    """Return how well was learnt from rules, by the records or as printed."""
    listed = list(records)
    of_digits = (
        f"In the digits study, with {PLACE.digit_size:,} labels and {PLACE.pair_size:,} unlabelled "
        f"pairs, sums and products were learnt from rules to {_digits(listed)}"
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
        if (summary := found.summary(PLACE, digits.System("joint", name), "operator_accuracy"))
    }
    printed = {
        name: figure.mean
        for name in PAPER
        if (
            figure := published(
                "joint", "operator_accuracy", name.removesuffix("-maxsat"),
                digit_size=PLACE.digit_size, pair_size=PLACE.pair_size,
            )
        )
    }  # fmt: skip
    return _told(run, printed)


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
        for place in places  # that differ in their word vectors
    ]
    printed = {
        name: f1
        for name in PAPER
        if (f1 := published_f1(name.removesuffix("-maxsat"), PERCENT, constraints=True))
    }
    return _told(max(runs, key=len, default={}), printed)


def _told(run: Mapping[str, float], printed: Mapping[str, float]) -> str:
    """Return figures in words, best first: those that were run, or else those that were printed."""
    ordered = sorted((run or printed).items(), key=lambda pair: -pair[1])
    figures = ", ".join(f"{name} {mean:.1f}%" for name, mean in ordered)
    return f"{figures}, {'by the runs recorded here' if run else 'as printed in the paper'}"
