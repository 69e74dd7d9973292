"""The progress of a sweep, read from the store of runs and from the storage of Optuna."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from residuum.results import Record, Store, run_id
from residuum.sweeps.definitions import REDUCTION, Sweep
from residuum.sweeps.running import final_runs, runs_of
from residuum.sweeps.searching import Search
from residuum.sweeps.storage import Note, open_storage, storage_beside
from residuum.sweeps.tuned_studies import TUNED, dev_value

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


@dataclass(frozen=True)
class Progress:
    """The progress of the search of one configuration.

    `values` are the means on DEV of the finished trials, by number. `given_up` counts the pruned
    trials, and `final_runs` the finished runs of the winner. `seconds_left` is for one device, and
    None before the first run is finished.
    """

    configuration: Mapping[str, Any]
    trials: int
    values: Mapping[int, float]
    given_up: int
    best: Mapping[str, Any]
    final_runs: int
    seconds_left: float | None

    @property
    def best_value(self) -> float | None:
        """The best mean on DEV so far."""
        return max(self.values.values(), default=None)


def sweep_progress(sweep: Sweep, path: Path, note: Note = lambda _line: None) -> list[Progress]:
    """Return the progress of each configuration. Nothing is written."""
    is_new = sweep.storage is None and not storage_beside(path).exists()
    if is_new or not path.exists():
        return [Progress(one, sweep.trials, {}, 0, {}, 0, None) for one in sweep.configurations]
    with open_storage(sweep, path, note) as storage, Store(path) as store:
        found = [
            _look_up(sweep, Search(sweep, one, storage), store) for one in sweep.configurations
        ]
    overall = _seconds_per_epoch([record for one in found for record in one.records])
    return [one.progress(sweep, overall) for one in found]


@dataclass(frozen=True)
class _Found:
    """The trials and records of one configuration."""

    configuration: Mapping[str, Any]
    trials: Sequence[FrozenTrial]
    values: Mapping[int, float]
    records: Sequence[Record]
    final_records: Sequence[Record]

    def progress(self, sweep: Sweep, overall: float | None) -> Progress:
        best = max(self.values, key=lambda number: (self.values[number], -number), default=None)
        pace = _seconds_per_epoch(self.records) or overall
        left = _epochs_wanted(sweep, self.configuration) - sum(map(_epochs, self.records))
        return Progress(
            self.configuration,
            sweep.trials,
            self.values,
            sum(trial.state.name == "PRUNED" for trial in self.trials),
            next((trial.params for trial in self.trials if trial.number == best), {}),
            len(self.final_records),
            None if pace is None else max(0.0, left * pace),
        )


def _look_up(sweep: Sweep, search: Search, store: Store) -> _Found:
    tuned = TUNED[sweep.study].module

    def records_of(study: str, runs: Iterable[Any]) -> list[Record]:
        ids = [run_id(study, run.configuration, tuned.SCHEME) for run in runs]
        return [store.get(one) for one in ids if one in store]

    trials, values = search.trials, {}
    records: dict[str, Record] = {}
    for trial in trials:
        for epochs in sweep.rungs:
            mine = records_of(tuned.TUNING, runs_of(sweep, search, trial, epochs))
            records |= {record.id: record for record in mine}
            if epochs is None and len(mine) == len(sweep.seeds):
                total = sum(dev_value(record, sweep.measure) for record in mine)
                values[trial.number] = total / len(mine)
    finals: list[Record] = []
    if values:
        number = max(values, key=lambda one: (values[one], -one))
        [best] = [trial for trial in trials if trial.number == number]
        finals = records_of(tuned.STUDY, final_runs(sweep, search, best))
        records |= {record.id: record for record in finals}
    return _Found(search.configuration, trials, values, list(records.values()), finals)


def _seconds_per_epoch(records: Sequence[Record]) -> float | None:
    """Return the mean seconds per epoch of finished runs; None without runs."""
    epochs = sum(map(_epochs, records))
    return sum(record.seconds for record in records) / epochs if epochs else None


def _epochs(record: Record) -> int:
    return int(str(record.configuration["epochs"]))


def _epochs_wanted(sweep: Sweep, configuration: Mapping[str, Any]) -> float:
    """Return the epochs of all runs of a search.

    If the epochs are searched for, their mean stands for all runs.
    """
    fixed = {**sweep.settings, **configuration}
    if "epochs" in sweep.space:
        ends = sweep.space["epochs"].extremes
        epochs = sum(ends) / len(ends)
    else:
        epochs = fixed["epochs"]
    wanted = 0.0
    for start in range(0, sweep.trials, sweep.together):
        going_on = min(sweep.together, sweep.trials - start)
        for rung in sweep.rungs:
            wanted += going_on * len(sweep.seeds) * (epochs if rung is None else rung)
            going_on = math.ceil(going_on / REDUCTION)
    return wanted + len(sweep.final_seeds) * float(sweep.final.get("epochs", epochs))
