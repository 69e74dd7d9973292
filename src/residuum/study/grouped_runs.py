"""Runs grouped by setting, system and seed, and comparisons between systems."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from residuum.errors import ComparisonError
from residuum.results import (
    Best,
    Comparison,
    Ratio,
    Record,
    Resampled,
    Summary,
    find_best,
    mean_and_deviation,
    paired_t_test,
    resample,
    welch_t_test,
)
from residuum.study.broken_runs import (
    LEAST_RUNS,
    MARGIN,
    Broken,
    count_broken,
    value_of,
)

RESAMPLES: Final = 1000

Values = dict[int, float]
"""The values of a measure, by seed."""

Outcomes = Mapping[str, npt.NDArray[np.float64] | Ratio]
"""For each measure the input of the bootstrap: arrays of the shape (seeds, examples)."""

Seeds = tuple[int, ...]

SettingT = TypeVar("SettingT", bound=tuple[Any, ...])
SystemT = TypeVar("SystemT", bound=tuple[Any, ...])


class Chosen(NamedTuple):
    """Records that are compared, and the number of records that were left out."""

    records: list[Record]
    left_out: int


class GroupedRuns(ABC, Generic[SettingT, SystemT]):
    """Runs by setting, system and seed, at most one run for each combination.

    Two systems are compared in pairs of runs on the seeds that both have, if these are two or more
    (`pairs_of_seeds`). Otherwise they are compared without pairing, each with all its seeds. The
    test is a bootstrap over seeds and test examples if records hold the outcome of each example,
    and a t-test over seeds otherwise.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._runs: dict[SettingT, dict[SystemT, dict[int, Record]]] = {}
        for record in records:
            setting, system = self.place(record)
            runs = self._runs.setdefault(setting, {}).setdefault(system, {})
            other = next(iter(runs.values()), record)
            seed: Any = record.configuration["seed"]
            if seed in runs or _but_seed(other) != _but_seed(record):
                raise ComparisonError(
                    f"expected all runs of {self.name(system)} with the same settings, got "
                    f"different ones in {other.id} and {record.id}: choose one kind of them"
                )
            runs[seed] = record
        self._kept: dict[object, Resampled] = {}

    @abstractmethod
    def place(self, record: Record) -> tuple[SettingT, SystemT]:
        """Return the setting and the system of a run."""

    @abstractmethod
    def name(self, system: SystemT) -> str:
        """Return a name for a system that is unique within a setting."""

    @abstractmethod
    def kind(self, measure: str) -> str | None:
        """Return the kind of examples that a measure averages; None if outcomes are unknown."""

    @property
    @abstractmethod
    def main_measure(self) -> str:
        """The measure that shows whether a run is broken."""

    @abstractmethod
    def outcomes(self, kind: str, runs: Sequence[Record], like: Record) -> Outcomes:
        """Return the outcomes of the runs of one system, for all measures of a kind.

        A run that diverged has outcomes at chance level, for the same examples as the run `like`.
        """

    def units(self, kind: str, run: Record) -> npt.NDArray[np.int64] | None:  # noqa: ARG002
        """Return the units that each example consists of; None if each example is one unit."""
        return None

    @property
    def settings(self) -> list[SettingT]:
        """The settings that have a run, sorted."""
        return sorted(self._runs)

    def systems(self, setting: SettingT) -> list[SystemT]:
        """Return the systems that have a run in a setting."""
        return list(self._runs.get(setting, ()))

    def values(self, setting: SettingT, system: SystemT, measure: str) -> Values:
        """Return the values of a measure by seed; empty if there is no run.

        A run that diverged counts at chance level.
        """
        runs = self._runs.get(setting, {}).get(system, {})
        return {seed: value_of(runs[seed], measure) for seed in sorted(runs)}

    def summary(self, setting: SettingT, system: SystemT, measure: str) -> Summary | None:
        """Return the mean and the deviation over seeds; None if there is no run."""
        values = self.values(setting, system, measure)
        return mean_and_deviation(list(values.values())) if values else None

    def median(self, setting: SettingT, system: SystemT, measure: str) -> float | None:
        """Return the median over seeds; None if there is no run."""
        values = self.values(setting, system, measure)
        return median(values.values()) if values else None

    def tell_broken(self) -> str:
        """Say how many runs are broken, and what that means; empty if none is."""
        cells = [
            self.broken(setting, system)
            for setting in self.settings
            for system in self.systems(setting)
        ]
        total = Broken(*(sum(column) for column in zip(*cells, strict=True))) if cells else None
        if total is None or not total.broken:
            return ""
        return (
            f"{total.broken} of {total.runs} runs are broken: they diverged, or end more than "
            f"{MARGIN:g} points below the median of at least {LEAST_RUNS} runs with the same "
            "settings. A run that diverged was not measured, and counts at chance level."
        )

    def broken(self, setting: SettingT, system: SystemT) -> Broken:
        """Return how many runs of a system are broken, and how many runs there are."""
        runs = self._runs.get(setting, {}).get(system, {})
        return count_broken(runs.values(), self.main_measure)

    def compare(
        self, setting: SettingT, first: SystemT, second: SystemT, measure: str
    ) -> Comparison | None:
        """Compare two systems in percent; None if one of them has no run."""
        kind = self.kind(measure)
        seeds = self._seeds_compared(setting, first, second)
        if seeds is None:
            return None
        resampled = None if kind is None else self._resampled(setting, seeds, kind)
        if resampled is None:
            return self.compare_by_seeds(setting, first, second, measure)
        return resampled.compare(_label(first, measure), _label(second, measure))

    def compare_measures(
        self, setting: SettingT, system: SystemT, first: str, second: str
    ) -> Comparison | None:
        """Compare two measures of one system that average the same examples."""
        kind = self.kind(first)
        seeds = self._seeds_compared(setting, system, system)
        if seeds is None or kind is None:
            return None
        resampled = self._resampled(setting, seeds, kind)
        if resampled is None:
            return None
        return resampled.compare(_label(system, first), _label(system, second))

    def compare_by_seeds(
        self, setting: SettingT, first: SystemT, second: SystemT, measure: str
    ) -> Comparison | None:
        """Compare two systems by a t-test over seeds, whatever is known of test examples.

        The test is paired, or Welch's if the systems have different seeds.
        """
        one, other = (self.values(setting, system, measure) for system in (first, second))
        if not one or not other:
            return None
        seeds = pairs_of_seeds(one, other)
        if seeds:
            return paired_t_test([one[seed] for seed in seeds], [other[seed] for seed in seeds])
        return welch_t_test(list(one.values()), list(other.values()))

    def best(
        self,
        setting: SettingT,
        systems: Sequence[SystemT],
        measure: str,
        *,
        by_seeds: bool = False,
    ) -> Best | None:
        """Find the best of several systems, by name; None if one of them has no run."""
        compare = self.compare_by_seeds if by_seeds else self.compare
        named = {self.name(system): system for system in systems}
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

    def _seeds_compared(
        self, setting: SettingT, first: SystemT, second: SystemT
    ) -> tuple[Seeds, Seeds] | None:
        """Return the seeds of both systems that are compared; None if one has no run."""
        runs = self._runs.get(setting, {})
        one, other = (runs.get(system, {}) for system in (first, second))
        if not one or not other:
            return None
        seeds = pairs_of_seeds(one, other)
        return (seeds, seeds) if seeds else (tuple(sorted(one)), tuple(sorted(other)))

    def _resampled(
        self, setting: SettingT, seeds: tuple[Seeds, Seeds], kind: str
    ) -> Resampled | None:
        """Resample all systems that have these seeds together, and cache the result.

        Return None if all runs of the setting diverged: then no run has outcomes.
        """
        wanted = sorted({*seeds}, key=lambda some: (-len(some), some))
        key = setting, tuple(wanted), kind
        runs_here = [run for runs in self._runs[setting].values() for run in runs.values()]
        like = next((run for run in runs_here if run.diverged is None), None)
        if like is None:
            return None
        if key not in self._kept:
            systems: dict[str, npt.NDArray[np.float64] | Ratio] = {}
            seeds_of: dict[str, Seeds] = {}
            for system, runs in self._runs[setting].items():
                theirs = next((some for some in wanted if {*some} <= runs.keys()), ())
                if theirs:
                    found = self.outcomes(kind, [runs[seed] for seed in theirs], like)
                    labelled = {_label(system, measure): one for measure, one in found.items()}
                    systems |= labelled
                    seeds_of |= dict.fromkeys(labelled, theirs)
            units = self.units(kind, like)
            self._kept[key] = resample(systems, units, seeds=seeds_of, resamples=RESAMPLES)
        return self._kept[key]


def pairs_of_seeds(first: Iterable[int], second: Iterable[int]) -> Seeds:
    """Return the seeds on which two systems are compared in pairs of runs.

    These are their common seeds, if there are two or more, or if neither has another. Otherwise
    there are none, and the systems are compared without pairing.

    >>> pairs_of_seeds([0, 20, 50], [0, 20]), pairs_of_seeds([0, 20, 50], [50, 60])
    ((0, 20), ())
    """
    one, other = {*first}, {*second}
    common = tuple(sorted(one & other))
    return common if len(common) > 1 or one == other else ()


def _label(system: tuple[Any, ...], measure: str) -> str:
    return f"{measure} of {system}"


def _but_seed(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record.configuration.items() if name != "seed"}
