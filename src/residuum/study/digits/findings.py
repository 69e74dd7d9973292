"""Records of the digits study put in order: those that are compared, and by what examples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, final

import numpy as np
import numpy.typing as npt

from residuum.results import Record
from residuum.results.records import canonical
from residuum.study import findings
from residuum.study.digits.planning import of_length
from residuum.study.digits.presets import WarmUps, preset
from residuum.study.digits.sets import draw_pair_test
from residuum.study.digits.settings import SCHEME
from residuum.study.findings import Chosen

OUTCOMES: Final = {
    "digit_accuracy": ("digit",),
    "operator_accuracy": ("sum_accuracy", "product_accuracy"),
    "coherence": ("sum_coherence", "product_coherence"),
}
"""Measures that are means of outcomes of test examples; others are known by seed only."""


class Setting(NamedTuple):
    """Where systems are compared: the images, and the sets drawn of them."""

    images: str
    pair_pool: str
    digit_size: int
    pair_size: int


class System(NamedTuple):
    """What is compared there."""

    protocol: str
    relaxation: str


def of_presets(
    records: Iterable[Record], epochs: int | None = None, warm_ups: WarmUps = "paper"
) -> Chosen:
    """Choose the runs with the settings that were chosen on DEV, or those for so many epochs.

    Where a system was trained in several precisions, that with most seeds counts.
    """
    found: defaultdict[object, defaultdict[str, list[Record]]] = defaultdict(
        lambda: defaultdict(list)
    )
    count = 0
    for record in records:
        count += 1
        if _has_preset(record, epochs, warm_ups):
            by_precision = found[_place(record)]
            by_precision[str(record.configuration["precision"])].append(record)
    chosen = [record for group in found.values() for record in max(group.values(), key=len)]
    return Chosen(chosen, count - len(chosen))


def _has_preset(record: Record, epochs: int | None, warm_ups: WarmUps) -> bool:
    if record.scheme != SCHEME:
        return False
    known: Any = record.configuration
    names = (*Setting._fields, *System._fields, "seed", "precision")
    expected = of_length(preset(**{name: known[name] for name in names}, warm_ups=warm_ups), epochs)
    return bool(known == canonical(expected.configuration, "settings"))


def _place(record: Record) -> tuple[Setting, System]:
    known: Any = record.configuration
    setting = Setting(*(known[name] for name in Setting._fields))
    return setting, System(*(known[name] for name in System._fields))


@final
class Findings(findings.Findings[Setting, System]):
    """Runs of the digits study; pairs of test images are made of two units each."""

    def place(self, record: Record) -> tuple[Setting, System]:
        """Return the setting and the system of a run."""
        return _place(record)

    def name(self, system: System) -> str:
        """Return the relaxation: systems of different protocols are not ranked."""
        return system.relaxation

    def kind(self, measure: str) -> str | None:
        """Return what a measure is a mean over."""
        if measure not in OUTCOMES:
            return None
        return "image" if measure == "digit_accuracy" else "pair"

    def outcomes(self, kind: str, runs: Sequence[Record]) -> findings.Outcomes:
        """Return in percent how each example came out."""
        return {
            measure: np.array([_percent(run, names) for run in runs])
            for measure, names in OUTCOMES.items()
            if self.kind(measure) == kind
        }

    def units(self, kind: str, run: Record) -> npt.NDArray[np.int64] | None:
        """Return the images of each pair."""
        return _pairs(len(run.outcomes["digit"])) if kind == "pair" else None


@cache
def _pairs(images: int) -> npt.NDArray[np.int64]:
    return draw_pair_test(images)


def _percent(record: Record, names: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the mean of several outcomes of each example, in percent."""
    outcomes = np.asarray([record.outcomes[name] for name in names], np.float64)
    percent: npt.NDArray[np.float64] = 100 * outcomes.mean(axis=0)
    return percent
