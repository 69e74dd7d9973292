"""What the digits study found, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from residuum.results import Record
from residuum.study.digits.findings import Findings, Setting, System, of_presets
from residuum.study.digits.planning import PAPER
from residuum.study.digits.published import published
from residuum.study.digits.settings import STUDY

PLACE: Final = Setting("mnist", "paper", digit_size=1000, pair_size=5000)


def what_studies_found(records: Iterable[Record]) -> str:
    """Return how well sums and products of digits were learnt, by the records or as printed."""
    finished = [record for record in records if record.study == STUDY]
    findings = Findings(of_presets(finished).records)
    run = {}
    for name in PAPER["joint"]:
        summary = findings.summary(PLACE, System("joint", name), "operator_accuracy")
        if summary is not None:
            run[name] = summary.mean
    source = "by the runs recorded here"
    if not run:
        source = "as printed in the paper"
        for name in PAPER["joint"]:
            figure = published(
                "joint", "operator_accuracy", name.removesuffix("-maxsat"),
                digit_size=PLACE.digit_size, pair_size=PLACE.pair_size,
            )  # fmt: skip
            if figure is not None:
                run[name] = figure.mean
    ordered = sorted(run.items(), key=lambda pair: -pair[1])
    figures = ", ".join(f"{name} {mean:.1f}%" for name, mean in ordered)
    return (
        f"In the digits study, with {PLACE.digit_size:,} labels and {PLACE.pair_size:,} unlabelled "
        f"pairs, sums and products were learnt from rules to {figures}, {source}"
    )
