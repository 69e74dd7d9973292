"""Records put in order: what was measured where, and which differences are more than chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, final

import numpy as np
import numpy.typing as npt

from residuum.errors import ComparisonError
from residuum.results import (
    Best,
    Comparison,
    Record,
    Resampled,
    Summary,
    find_best,
    mean_and_deviation,
    paired_t_test,
    resample,
)
from residuum.results.records import canonical
from residuum.study.digits.planning import of_length
from residuum.study.digits.presets import preset
from residuum.study.digits.sets import draw_pair_test
from residuum.study.digits.settings import SCHEME

OUTCOMES: Final = {
    "digit_accuracy": ("digit",),
    "operator_accuracy": ("sum_accuracy", "product_accuracy"),
    "coherence": ("sum_coherence", "product_coherence"),
}
"""Measures that are means of outcomes of test examples; others are known by seed only."""

RESAMPLES: Final = 1000

Values = dict[int, float]
"""A measure by seed."""


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


class Chosen(NamedTuple):
    """Records that are compared, and how many others there were."""

    records: list[Record]
    left_out: int


def of_presets(records: Iterable[Record], epochs: int | None = None) -> Chosen:
    """Choose the runs with the settings that were chosen on DEV, or those for so many epochs.

    Where a system was trained in several precisions, that with most seeds counts.
    """
    found: defaultdict[object, defaultdict[str, list[Record]]] = defaultdict(
        lambda: defaultdict(list)
    )
    count = 0
    for record in records:
        count += 1
        if _has_preset(record, epochs):
            by_precision = found[_place(record)]
            by_precision[str(record.configuration["precision"])].append(record)
    chosen = [record for group in found.values() for record in max(group.values(), key=len)]
    return Chosen(chosen, count - len(chosen))


def _has_preset(record: Record, epochs: int | None) -> bool:
    if record.scheme != SCHEME:
        return False
    known: Any = record.configuration
    names = (*Setting._fields, *System._fields, "seed", "precision")
    expected = of_length(preset(**{name: known[name] for name in names}), epochs)
    return bool(known == canonical(expected.configuration, "settings"))


def _place(record: Record) -> tuple[Setting, System]:
    known: Any = record.configuration
    setting = Setting(*(known[name] for name in Setting._fields))
    return setting, System(*(known[name] for name in System._fields))


@final
class Findings:
    """Runs by setting, system and seed, one of each.

    Systems are compared on the seeds that both have: by the bootstrap over seeds and test images
    where outcomes of single examples are known, and by t-tests over seeds where they are not.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._runs: dict[Setting, dict[System, dict[int, Record]]] = {}
        for record in records:
            setting, system = _place(record)
            runs = self._runs.setdefault(setting, {}).setdefault(system, {})
            other = next(iter(runs.values()), record)
            seed: Any = record.configuration["seed"]
            if seed in runs or _but_seed(other) != _but_seed(record):
                raise ComparisonError(
                    f"expected all runs of {system.relaxation} with the same settings, got "
                    f"different ones in {other.id} and {record.id}: choose one kind of them"
                )
            runs[seed] = record
        self._kept: dict[object, Resampled] = {}

    @property
    def settings(self) -> list[Setting]:
        """Those with any run, in order."""
        return sorted(self._runs)

    def systems(self, setting: Setting) -> list[System]:
        """Return what was run there."""
        return list(self._runs.get(setting, ()))

    def values(self, setting: Setting, system: System, measure: str) -> Values:
        """Return a measure of each run, by seed."""
        runs = self._runs.get(setting, {}).get(system, {})
        return {seed: runs[seed].measures[measure] for seed in sorted(runs)}

    def summary(self, setting: Setting, system: System, measure: str) -> Summary | None:
        """Return mean and deviation over seeds, or None if there is no run."""
        values = self.values(setting, system, measure)
        return mean_and_deviation(list(values.values())) if values else None

    def compare(
        self, setting: Setting, first: System, second: System, measure: str
    ) -> Comparison | None:
        """Compare two systems in percent; None if no seed was run of both."""
        seeds = self._common(setting, first, second)
        if not seeds:
            return None
        if measure not in OUTCOMES:
            return self.compare_by_seeds(setting, first, second, measure)
        resampled = self._resampled(setting, seeds, is_of_pairs=measure != "digit_accuracy")
        return resampled.compare(_label(first, measure), _label(second, measure))

    def compare_by_seeds(
        self, setting: Setting, first: System, second: System, measure: str
    ) -> Comparison | None:
        """Compare two systems by a t-test over seeds, which knows nothing of the test images."""
        seeds = self._common(setting, first, second)
        if not seeds:
            return None
        one, other = (self.values(setting, system, measure) for system in (first, second))
        return paired_t_test([one[seed] for seed in seeds], [other[seed] for seed in seeds])

    def best(
        self, setting: Setting, systems: Sequence[System], measure: str, *, by_seeds: bool = False
    ) -> Best | None:
        """Find the best of several systems by relaxation; None where some have no common seed."""
        compare = self.compare_by_seeds if by_seeds else self.compare
        named = {system.relaxation: system for system in systems}
        compared = {
            (first, second): compare(setting, named[first], named[second], measure)
            for first in named
            for second in named
            if first != second
        }
        means = {
            name: summary.mean
            for name, system in named.items()
            if (summary := self.summary(setting, system, measure))
        }
        if len(means) < len(named) or not named or None in compared.values():
            return None
        known = {pair: found for pair, found in compared.items() if found is not None}
        return find_best(means, lambda *pair: known[pair])

    def _common(self, setting: Setting, *systems: System) -> tuple[int, ...]:
        runs = self._runs.get(setting, {})
        seeds = [set(runs.get(system, {})) for system in systems]
        return tuple(sorted(set.intersection(*seeds)))

    def _resampled(
        self, setting: Setting, seeds: tuple[int, ...], *, is_of_pairs: bool
    ) -> Resampled:
        """Resample at once all systems that have these seeds, and keep that."""
        key = setting, seeds, is_of_pairs
        if key not in self._kept:
            systems = {}
            images = 0
            for system, runs in self._runs[setting].items():
                if runs.keys() < set(seeds):
                    continue
                images = len(runs[seeds[0]].outcomes["digit"])
                for measure, names in OUTCOMES.items():
                    if (measure != "digit_accuracy") == is_of_pairs:
                        systems[_label(system, measure)] = np.array(
                            [_percent(runs[seed], names) for seed in seeds]
                        )
            units = _pairs(images) if is_of_pairs else None
            self._kept[key] = resample(systems, units, resamples=RESAMPLES)
        return self._kept[key]


@cache
def _pairs(images: int) -> npt.NDArray[np.int64]:
    return draw_pair_test(images)


def _percent(record: Record, names: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the mean of several outcomes of each example, in percent."""
    outcomes = np.asarray([record.outcomes[name] for name in names], np.float64)
    percent: npt.NDArray[np.float64] = 100 * outcomes.mean(axis=0)
    return percent


def _label(system: System, measure: str) -> str:
    return f"{measure} of {system.relaxation}, {system.protocol}"


def _but_seed(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record.configuration.items() if name != "seed"}
