"""Records of the digits study: which ones count, and how their runs are grouped and compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, final

import numpy as np
import numpy.typing as npt

from residuum.errors import ResiduumError
from residuum.results import Record
from residuum.results.records import canonical
from residuum.study import skipped_records as sifting
from residuum.study.broken_runs import value_of
from residuum.study.common_settings import of_length
from residuum.study.digits.data.sets import DRAWS_PER_IMAGE, draw_pair_test
from residuum.study.digits.settings import SCHEME, STUDY, Settings, WarmUps, preset
from residuum.study.grouped_runs import Chosen, GroupedRuns
from residuum.study.grouped_runs import Outcomes as GroupedOutcomes
from residuum.study.skipped_records import MeasuredOn, Sifted

OUTCOMES: Final = {
    "digit_accuracy": ("digit",),
    "operator_accuracy": ("sum_accuracy", "product_accuracy"),
    "coherence": ("sum_coherence", "product_coherence"),
}
"""Measures that are means over test examples, and the outcomes in records they are made of.

Other measures, the laws, are known only by seed.
"""

LAWS: Final = ("commutativity", "associativity", "distributivity")

_COHERENCES: Final = ("joint: dev/sum_coherence", "joint: dev/product_coherence")
_SCORES: Final = ("joint: dev/score", "joint: dev/digit_accuracy", *_COHERENCES)


class Setting(NamedTuple):
    """A setting in which systems are compared: the images, and the sets drawn from them."""

    images: str
    pair_pool: str
    digit_size: int
    pair_size: int


class System(NamedTuple):
    """A system that is compared with others: a protocol with a relaxation."""

    protocol: str
    relaxation: str


def sift(records: Iterable[Record]) -> Sifted:
    """Separate the records that tables and claims can use from the others."""
    return sifting.separate_usable(records, fault_of, _tested_on)


def fault_of(record: Record) -> str:
    """Say what keeps a record from being a run of the study; empty if nothing does."""
    fault = sifting.fault_of_settings(record, Settings, SCHEME)
    if record.diverged:
        return fault
    if not fault and record.configuration["protocol"] == "joint":
        fault = sifting.fault_of_scores(record, _SCORES) or _fault_of_curves(record)
    if not fault and record.study == STUDY:
        fault = sifting.fault_of_measures(record, (*OUTCOMES, *LAWS)) or _fault_of_outcomes(record)
    return fault


def _fault_of_curves(record: Record) -> str:
    one, other = (record.curves[name] for name in _COHERENCES)
    warm_up: Any = record.configuration["warm_up"]
    if one.epochs != other.epochs or one.epochs[-1] < warm_up:
        return "has curves of coherence that belong to different epochs, or end in the warm-up"
    selected = record.curves.get("joint: selected")
    if selected is None or len(selected.values) != 1 or not np.isfinite(selected.values[0]):
        return "lacks the curve `joint: selected` of one epoch"
    return ""


def _fault_of_outcomes(record: Record) -> str:
    names = [name for names in OUTCOMES.values() for name in names]
    if fault := sifting.fault_of_outcomes(record, names):
        return fault
    images, *pairs = (len(record.outcomes[name]) for name in names)
    if images <= DRAWS_PER_IMAGE or {*pairs} != {DRAWS_PER_IMAGE * images}:
        found = ", ".join(f"{size:,}" for size in sorted({*pairs}))
        return f"has outcomes of {found} pairs, which are not those of {images:,} images"
    if any(record.outcomes[name].dtype != np.bool_ for name in names):
        return "has outcomes that are counts, where right and wrong belong"
    return ""


def _tested_on(record: Record) -> MeasuredOn | None:
    if record.study != STUDY or record.diverged:
        return None
    return MeasuredOn(str(record.configuration["images"]), len(record.outcomes["digit"]))


def of_presets(
    records: Iterable[Record],
    epochs: int | None = None,
    warm_ups: WarmUps = "paper",
    **others: Any,
) -> Chosen:
    """Choose the runs whose settings are those of `preset`, for this many epochs if given.

    `others` are settings that override those of `preset`. If a system was trained in several
    precisions, the precision with the most seeds counts.
    """
    found: defaultdict[object, defaultdict[str, list[Record]]] = defaultdict(
        lambda: defaultdict(list)
    )
    count = 0
    for record in records:
        count += 1
        if _has_preset(record, epochs, {"warm_ups": warm_ups, **others}):
            by_precision = found[_place(record)]
            by_precision[str(record.configuration["precision"])].append(record)
    chosen = [record for group in found.values() for record in max(group.values(), key=len)]
    return Chosen(chosen, count - len(chosen))


def _has_preset(record: Record, epochs: int | None, others: Mapping[str, Any]) -> bool:
    if fault_of(record):
        return False
    known: Any = record.configuration
    names = (*Setting._fields, *System._fields, "seed", "precision")
    chosen = {name: known[name] for name in names}
    try:
        expected = of_length(preset(**chosen, **others), epochs)
    except ResiduumError:  # no settings were chosen for these sizes or this protocol
        return False
    return bool(known == canonical(expected.configuration, "settings"))


def _place(record: Record) -> tuple[Setting, System]:
    known: Any = record.configuration
    setting = Setting(*(known[name] for name in Setting._fields))
    return setting, System(*(known[name] for name in System._fields))


@final
class Findings(GroupedRuns[Setting, System]):
    """Runs of the digits study. A pair of test images consists of two units for the bootstrap."""

    def place(self, record: Record) -> tuple[Setting, System]:
        """Return the setting and the system of a run."""
        return _place(record)

    def name(self, system: System) -> str:
        """Return the relaxation; systems of different protocols are never ranked together."""
        return system.relaxation

    def kind(self, measure: str) -> str | None:
        """Return whether a measure is a mean over images or pairs; None for the laws."""
        if measure not in OUTCOMES:
            return None
        return "image" if measure == "digit_accuracy" else "pair"

    @property
    def main_measure(self) -> str:
        """The accuracy of Sum and Product."""
        return "operator_accuracy"

    def outcomes(self, kind: str, runs: Sequence[Record], like: Record) -> GroupedOutcomes:
        """Return the outcome of each example in percent: 50 if one of both operators is right."""
        return {
            measure: np.array(
                [
                    _percent(run, names)
                    if run.diverged is None
                    else np.full(len(like.outcomes[names[0]]), value_of(run, measure))
                    for run in runs
                ]
            )
            for measure, names in OUTCOMES.items()
            if self.kind(measure) == kind
        }

    def units(self, kind: str, run: Record) -> npt.NDArray[np.int64] | None:
        """Return the two images of each pair."""
        return _pairs(len(run.outcomes["digit"])) if kind == "pair" else None


@cache
def _pairs(images: int) -> npt.NDArray[np.int64]:
    return draw_pair_test(images)


def _percent(record: Record, names: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the mean of several outcomes of each example, in percent."""
    outcomes = np.asarray([record.outcomes[name] for name in names], np.float64)
    percent: npt.NDArray[np.float64] = 100 * outcomes.mean(axis=0)
    return percent
