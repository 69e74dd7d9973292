"""A sweep: settings are searched on DEV, and the winners are measured on TEST, once.

Each trained run is in the store, named by its settings. A trial that is asked for again is looked
up there, so that an interrupt or a kill costs no finished run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from residuum.results import Record, Store
from residuum.study.running import Experiment, id_of
from residuum.sweeps.definitions import REDUCTION, Sweep
from residuum.sweeps.searching import Search
from residuum.sweeps.storage import Note, Storage, open_storage
from residuum.sweeps.tuned_studies import TUNED, Data, dev_value

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

Train = Callable[[Experiment[Any], Sequence[Any]], None]
"""A function that trains the runs which the store does not have, and adds them to it."""


@dataclass(frozen=True)
class Winner:
    """The best settings of a configuration, their mean on DEV, and the records of their runs.

    There are no records if no trial learnt anything.
    """

    configuration: Mapping[str, Any]
    settings: Mapping[str, Any]
    value: float
    records: Sequence[Record]


def run_sweep(
    sweep: Sweep, data: Data, store: Store, train: Train, note: Note = lambda _line: None
) -> list[Winner]:
    """Search each configuration until its budget is spent; then run the winners.

    `note` shows a line of text to the user.
    """
    store.check_writable()
    with open_storage(sweep, store.path, note) as storage:
        chosen = _search_all(sweep, storage, data, store, train)
    finals = {search: final_runs(sweep, search, best) for search, best in chosen.items() if best}
    train(data.final, [run for runs in finals.values() for run in runs])
    return [
        Winner(
            search.configuration,
            best.params if best else {},
            value_of_trial(best) if best else 0.0,
            [store.get(id_of(data.final, run)) for run in finals.get(search, ())],
        )
        for search, best in chosen.items()
    ]


def runs_of(sweep: Sweep, search: Search, trial: FrozenTrial, epochs: int | None) -> list[Any]:
    """Return the runs of a trial, one for each seed. `epochs` shortens them; None does not."""
    runs = [_run_of(sweep, search, trial.params, seed) for seed in sweep.seeds]
    if epochs is None:
        return runs
    return [TUNED[sweep.study].of_length(run, epochs) for run in runs]


def final_runs(sweep: Sweep, search: Search, best: FrozenTrial) -> list[Any]:
    """Return the runs of a winner, one for each final seed."""
    values = {**best.params, **sweep.final}
    return [_run_of(sweep, search, values, seed) for seed in sweep.final_seeds]


def best_trial(search: Search) -> FrozenTrial | None:
    """Return the best finished trial, the first of equals; None if no trial is above 0."""
    done = [trial for trial in search.trials if trial.state.name == "COMPLETE"]
    best = max(done, key=lambda trial: (value_of_trial(trial), -trial.number), default=None)
    return best if best and value_of_trial(best) > 0 else None


def value_of_trial(trial: FrozenTrial) -> float:
    """Return the value of a finished trial."""
    assert trial.value is not None
    return trial.value


def _search_all(
    sweep: Sweep, storage: Storage, data: Data, store: Store, train: Train
) -> dict[Search, FrozenTrial | None]:
    """Search all configurations, round by round; return the best trial of each."""
    searches = [Search(sweep, one, storage) for one in sweep.configurations]
    for search in searches:
        search.decide(data.decided)
        for run in _sample_runs(sweep, search):
            TUNED[sweep.study].check(run, data)
    while rounds := [(search, some) for search in searches if (some := search.next_round())]:
        _run_round(sweep, rounds, data, store, train)
    return {search: best_trial(search) for search in searches}


def _run_of(sweep: Sweep, search: Search, values: Mapping[str, Any], seed: int) -> Any:
    fixed = {**sweep.settings, **(search.decided or {}), **search.configuration}
    return TUNED[sweep.study].make({**fixed, **values, "seed": seed})


def _sample_runs(sweep: Sweep, search: Search) -> Iterator[Any]:
    """Yield runs to check before training: each value of the space, one setting at a time."""
    first = {name: dimension.extremes[0] for name, dimension in sweep.space.items()}
    for name, dimension in sweep.space.items():
        for value in dimension.extremes:
            for seed in (*sweep.seeds, *sweep.final_seeds):
                for final in {}, sweep.final:
                    yield _run_of(sweep, search, {**first, name: value, **final}, seed)


def _run_round(
    sweep: Sweep,
    rounds: Sequence[tuple[Search, Sequence[FrozenTrial]]],
    data: Data,
    store: Store,
    train: Train,
) -> None:
    """Train the trials of a round, rung by rung; the best of each search continue."""
    for epochs in sweep.rungs:
        runs = {
            (search, trial.number): runs_of(sweep, search, trial, epochs)
            for search, trials in rounds
            for trial in trials
        }
        train(data.tuning, [run for some in runs.values() for run in some])
        survivors = []
        for search, trials in rounds:
            values = {
                trial.number: _mean_value(sweep, data, store, runs[search, trial.number])
                for trial in trials
            }
            ranked = sorted(trials, key=lambda trial: -values[trial.number])
            kept = 0 if epochs is None else math.ceil(len(ranked) / REDUCTION)
            for place, trial in enumerate(ranked):
                value = values[trial.number]
                if epochs is None:
                    search.finish(trial, value)
                else:
                    search.report(trial, epochs, value)
                    if place >= kept:
                        search.give_up(trial)
            survivors.append((search, ranked[:kept]))
        rounds = survivors


def _mean_value(sweep: Sweep, data: Data, store: Store, runs: Sequence[Any]) -> float:
    records = [store.get(id_of(data.tuning, run)) for run in runs]
    return sum(dev_value(record, sweep.measure) for record in records) / len(records)
