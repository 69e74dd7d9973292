"""Records put in order: what was measured where, and which differences are more than chance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
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
)

RESAMPLES: Final = 1000

Values = dict[int, float]
"""A measure by seed."""

Outcomes = Mapping[str, npt.NDArray[np.float64] | Ratio]
"""Of each measure what the bootstrap takes: arrays (seeds, examples)."""

SettingT = TypeVar("SettingT", bound=tuple[Any, ...])
SystemT = TypeVar("SystemT", bound=tuple[Any, ...])


class Chosen(NamedTuple):
    """Records that are compared, and how many others there were."""

    records: list[Record]
    left_out: int


class GroupedRuns(ABC, Generic[SettingT, SystemT]):
    """Runs by setting, system and seed, one of each.

    Systems are compared on the seeds that both have: by the bootstrap over seeds and test examples
    where outcomes of single examples are known, and by t-tests over seeds where they are not.
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
        """Return where a run belongs."""

    @abstractmethod
    def name(self, system: SystemT) -> str:
        """Return what a system is called among others of its setting."""

    @abstractmethod
    def kind(self, measure: str) -> str | None:
        """Return the kind of test examples a measure is made of; None if outcomes are unknown."""

    @abstractmethod
    def outcomes(self, kind: str, runs: Sequence[Record]) -> Outcomes:
        """Return the outcomes of the runs of a system, for all measures of a kind."""

    def units(self, kind: str, run: Record) -> npt.NDArray[np.int64] | None:  # noqa: ARG002
        """Return what the examples are made of; None if each is a unit of its own."""
        return None

    @property
    def settings(self) -> list[SettingT]:
        """Those with any run, in order."""
        return sorted(self._runs)

    def systems(self, setting: SettingT) -> list[SystemT]:
        """Return what was run there."""
        return list(self._runs.get(setting, ()))

    def values(self, setting: SettingT, system: SystemT, measure: str) -> Values:
        """Return a measure of each run, by seed."""
        runs = self._runs.get(setting, {}).get(system, {})
        return {seed: runs[seed].measures[measure] for seed in sorted(runs)}

    def summary(self, setting: SettingT, system: SystemT, measure: str) -> Summary | None:
        """Return mean and deviation over seeds, or None if there is no run."""
        values = self.values(setting, system, measure)
        return mean_and_deviation(list(values.values())) if values else None

    def compare(
        self, setting: SettingT, first: SystemT, second: SystemT, measure: str
    ) -> Comparison | None:
        """Compare two systems in percent; None if no seed was run of both."""
        kind = self.kind(measure)
        seeds = self._common(setting, first, second)
        if not seeds or kind is None:
            return self.compare_by_seeds(setting, first, second, measure)
        resampled = self._resampled(setting, seeds, kind)
        return resampled.compare(_label(first, measure), _label(second, measure))

    def compare_measures(
        self, setting: SettingT, system: SystemT, first: str, second: str
    ) -> Comparison | None:
        """Compare two measures of one system that are made of the same examples."""
        kind = self.kind(first)
        seeds = self._common(setting, system)
        if not seeds or kind is None:
            return None
        resampled = self._resampled(setting, seeds, kind)
        return resampled.compare(_label(system, first), _label(system, second))

    def compare_by_seeds(
        self, setting: SettingT, first: SystemT, second: SystemT, measure: str
    ) -> Comparison | None:
        """Compare two systems by a t-test over seeds, which knows nothing of test examples."""
        seeds = self._common(setting, first, second)
        if not seeds:
            return None
        one, other = (self.values(setting, system, measure) for system in (first, second))
        return paired_t_test([one[seed] for seed in seeds], [other[seed] for seed in seeds])

    def best(
        self,
        setting: SettingT,
        systems: Sequence[SystemT],
        measure: str,
        *,
        by_seeds: bool = False,
    ) -> Best | None:
        """Find the best of several systems by name; None where some have no common seed."""
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

    def _common(self, setting: SettingT, *systems: SystemT) -> tuple[int, ...]:
        runs = self._runs.get(setting, {})
        seeds = [set(runs.get(system, {})) for system in systems]
        return tuple(sorted(set.intersection(*seeds)))

    def _resampled(self, setting: SettingT, seeds: tuple[int, ...], kind: str) -> Resampled:
        """Resample at once all systems that have these seeds, and keep that."""
        key = setting, seeds, kind
        if key not in self._kept:
            ours = {
                system: [runs[seed] for seed in seeds]
                for system, runs in self._runs[setting].items()
                if set(seeds) <= runs.keys()
            }
            systems = {
                _label(system, measure): found
                for system, runs in ours.items()
                for measure, found in self.outcomes(kind, runs).items()
            }
            units = self.units(kind, next(iter(ours.values()))[0])
            self._kept[key] = resample(systems, units, resamples=RESAMPLES)
        return self._kept[key]


def _label(system: tuple[Any, ...], measure: str) -> str:
    return f"{measure} of {system}"


def _but_seed(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record.configuration.items() if name != "seed"}
