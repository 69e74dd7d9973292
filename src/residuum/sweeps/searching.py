"""One search: which settings are tried, as Optuna proposes and remembers them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from residuum.errors import ResiduumError
from residuum.sweeps.definitions import Sweep
from residuum.sweeps.spaces import Choice

if TYPE_CHECKING:
    from optuna import Study
    from optuna.samplers import BaseSampler
    from optuna.storages import RDBStorage
    from optuna.trial import FrozenTrial

_DECIDED: Final = "decided"
"""Under which attribute of a search the settings are kept that the file does not decide."""


def open_storage(sweep: Sweep, store: Path) -> RDBStorage:
    """Return where Optuna keeps its trials: in a file beside the store, or as the sweep says."""
    try:
        import optuna
    except ImportError:
        raise ResiduumError(
            "sweeps search with Optuna, which is not installed; run: pip install 'residuum[sweeps]'"
        ) from None
    from sqlalchemy import event
    from sqlalchemy.exc import SQLAlchemyError

    optuna.logging.set_verbosity(optuna.logging.WARNING)  # it would tell of every trial
    url = sweep.storage or f"sqlite:///{storage_beside(store)}"
    try:
        storage = optuna.storages.RDBStorage(url)
    except (ImportError, SQLAlchemyError, ValueError) as error:
        raise ResiduumError(f"storage: Optuna cannot use it: {error}") from None
    if sweep.storage is None:
        # Optuna commits a dozen times for each trial. What a power cut may take is asked for
        # again with the same outcome, so that none of them need wait for the disk.
        with storage.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        event.listen(
            storage.engine, "checkout", lambda raw, *_: raw.execute("PRAGMA synchronous = NORMAL")
        )
    return storage


def storage_beside(store: Path) -> Path:
    """Return the file of Optuna's that belongs to a store."""
    return store.absolute().with_name(f"{store.name}.sweeps")


@final
class Search:
    """The trials of one configuration of a sweep.

    They are asked for in rounds. A round is a block of trials in the order of their numbers, so
    that a process that goes on for another, dead one has the same rounds.
    """

    def __init__(self, sweep: Sweep, configuration: Mapping[str, Any], storage: RDBStorage) -> None:
        import optuna

        self.configuration = configuration
        self._sweep = sweep
        self._study: Study = optuna.create_study(
            study_name=sweep.name(configuration),
            storage=storage,
            direction="maximize",
            # What an exhausted GridSampler does when told a value is for Optuna's own loop only.
            sampler=optuna.samplers.RandomSampler(),
            load_if_exists=True,
        )

    def decide(self, settings: Mapping[str, Any]) -> None:
        """Keep what data and device decide, once: who goes on elsewhere has the same."""
        if self.decided is None:
            self._study.set_user_attr(_DECIDED, dict(settings))

    @property
    def decided(self) -> dict[str, Any] | None:
        """What data and device have decided, if anything was run yet."""
        return self._study.user_attrs.get(_DECIDED)

    @property
    def trials(self) -> list[FrozenTrial]:
        """All trials whose settings are known."""
        return [trial for trial in self._all() if trial.params.keys() == self._sweep.space.keys()]

    def next_round(self) -> list[FrozenTrial]:
        """Return the trials of the round under way, or of a new one; none if all are done."""
        self._mend()
        trials = self._all()
        finished = [trial.state.is_finished() for trial in trials]
        first = finished.index(False) if False in finished else len(trials)
        start = first - first % self._sweep.together
        end = min(start + self._sweep.together, self._sweep.trials)
        if first >= end:
            return []
        for number in range(len(trials), end):
            self._ask(number)
        return self._all()[start:end]

    def report(self, trial: FrozenTrial, epochs: int, value: float) -> None:
        """Keep what a trial had reached after some epochs."""
        if epochs not in trial.intermediate_values:
            self._resumed(trial).report(value, epochs)

    def finish(self, trial: FrozenTrial, value: float) -> None:
        """Keep what a trial has reached."""
        self._study.tell(trial.number, value, skip_if_finished=True)

    def give_up(self, trial: FrozenTrial) -> None:
        """Keep that a trial was not worth going on with."""
        from optuna.trial import TrialState

        self._study.tell(trial.number, state=TrialState.PRUNED, skip_if_finished=True)

    def _all(self) -> list[FrozenTrial]:
        """Return all trials but those that came to nothing."""
        from optuna.trial import TrialState

        known = self._study.get_trials(deepcopy=False)
        return [trial for trial in known if trial.state != TrialState.FAIL]

    def _ask(self, number: int) -> None:
        self._study.sampler, usual = self._sampler(number), self._study.sampler
        trial = self._study.ask()
        for name, dimension in self._sweep.space.items():
            dimension.suggest(trial, name)
        self._study.sampler = usual

    def _mend(self) -> None:
        """See to trials whose process died while their settings were being chosen."""
        from optuna.trial import TrialState

        for trial in self._all():
            missing = [name for name in self._sweep.space if name not in trial.params]
            if not missing:
                continue
            if self._sweep.sampler == "grid" and "grid_id" in trial.system_attrs:
                # This point of the grid is taken; given up, it would be left out.
                self._study.sampler, usual = self._sampler(trial.number), self._study.sampler
                resumed = self._resumed(trial)
                for name in missing:
                    self._sweep.space[name].suggest(resumed, name)
                self._study.sampler = usual
            else:
                self._study.tell(trial.number, state=TrialState.FAIL)

    def _resumed(self, trial: FrozenTrial) -> Any:
        from optuna.trial import Trial

        return Trial(self._study, trial._trial_id)

    def _sampler(self, number: int) -> BaseSampler:
        """Return a sampler; its chances depend on the number of the trial alone."""
        import optuna

        if self._sweep.sampler == "grid":
            grid = {
                name: dimension.values
                for name, dimension in self._sweep.space.items()
                if isinstance(dimension, Choice)
            }
            return optuna.samplers.GridSampler(grid, seed=0)
        return optuna.samplers.TPESampler(seed=number, constant_liar=True)
