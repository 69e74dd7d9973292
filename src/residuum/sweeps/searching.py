"""The search of one configuration: Optuna proposes settings and remembers their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, final

from residuum.sweeps.definitions import Choice, Sweep
from residuum.sweeps.storage import Storage

if TYPE_CHECKING:
    from optuna import Study
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

_DECIDED: Final = "decided"
"""The attribute of an Optuna study that holds the settings which data and device decide."""


@final
class Search:
    """The trials of one configuration of a sweep.

    Trials are asked for in rounds. A round is a block of trials with consecutive numbers, so that a
    process that continues for a dead one has the same rounds.
    """

    def __init__(self, sweep: Sweep, configuration: Mapping[str, Any], storage: Storage) -> None:
        import optuna

        self.configuration = configuration
        self._sweep = sweep
        self._storage = storage
        self._study: Study = storage.reach(
            lambda: optuna.create_study(
                study_name=sweep.name(configuration),
                storage=storage.optuna,
                direction="maximize",
                # A GridSampler would stop the study after the last value; there is no loop to stop.
                sampler=optuna.samplers.RandomSampler(),
                load_if_exists=True,
            )
        )
        self.decided: dict[str, Any] | None = storage.reach(
            lambda: self._study.user_attrs.get(_DECIDED)
        )
        """The settings that data and device decide; None before the first run."""

    def decide(self, settings: Mapping[str, Any]) -> None:
        """Store the settings that data and device decide, unless they are stored already.

        A search that continues on another machine then has the same settings. They are written in
        any case, so that a storage that cannot be written is noticed before training.
        """
        decided = dict(settings) if self.decided is None else self.decided
        self._storage.reach(lambda: self._study.set_user_attr(_DECIDED, decided))
        self.decided = decided

    @property
    def trials(self) -> list[FrozenTrial]:
        """All trials whose settings are complete."""
        trials = self._storage.reach(self._all)
        return [trial for trial in trials if trial.params.keys() == self._sweep.space.keys()]

    def next_round(self) -> list[FrozenTrial]:
        """Return the trials of the unfinished round, or of a new one; empty if all are done."""
        return self._storage.reach(self._next_round)

    def report(self, trial: FrozenTrial, epochs: int, value: float) -> None:
        """Store the value of a trial after some epochs."""
        self._storage.reach(lambda: self._report(trial, epochs, value))

    def finish(self, trial: FrozenTrial, value: float) -> None:
        """Store the final value of a trial."""
        self._storage.reach(lambda: self._study.tell(trial.number, value, skip_if_finished=True))

    def give_up(self, trial: FrozenTrial) -> None:
        """Mark a trial as pruned."""
        from optuna.trial import TrialState

        self._storage.reach(
            lambda: self._study.tell(trial.number, state=TrialState.PRUNED, skip_if_finished=True)
        )

    def _next_round(self) -> list[FrozenTrial]:
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

    def _report(self, trial: FrozenTrial, epochs: int, value: float) -> None:
        known = self._storage.optuna.get_trial(trial._trial_id)
        if epochs not in known.intermediate_values:
            self._resumed(trial).report(value, epochs)

    def _all(self) -> list[FrozenTrial]:
        """Return all trials but the failed ones."""
        from optuna.trial import TrialState

        known = self._study.get_trials(deepcopy=False)
        return [trial for trial in known if trial.state != TrialState.FAIL]

    def _ask(self, number: int) -> None:
        with self._sampling(number):
            trial = self._study.ask()
            for name, dimension in self._sweep.space.items():
                dimension.suggest(trial, name)

    def _mend(self) -> None:
        """Complete or fail trials whose process died while their settings were chosen."""
        from optuna.trial import TrialState

        for trial in self._all():
            missing = [name for name in self._sweep.space if name not in trial.params]
            if not missing:
                continue
            if self._sweep.sampler == "grid":
                # Its number stands for a point of the grid. A failed trial would move that point.
                with self._sampling(trial.number):
                    self._study.sampler.before_trial(self._study, trial)
                    resumed = self._resumed(trial)
                    for name in missing:
                        self._sweep.space[name].suggest(resumed, name)
            else:
                self._study.tell(trial.number, state=TrialState.FAIL)

    def _resumed(self, trial: FrozenTrial) -> Any:
        from optuna.trial import Trial

        return Trial(self._study, trial._trial_id)

    @contextmanager
    def _sampling(self, number: int) -> Iterator[None]:
        """Use the sampler of the sweep for the trial of this number."""
        self._study.sampler, usual = self._sampler(number), self._study.sampler
        try:
            yield
        finally:
            self._study.sampler = usual

    def _sampler(self, number: int) -> BaseSampler:
        """Return a sampler whose random numbers depend only on the number of the trial."""
        import optuna

        if self._sweep.sampler == "grid":
            grid = {
                name: dimension.values
                for name, dimension in self._sweep.space.items()
                if isinstance(dimension, Choice)
            }
            return optuna.samplers.GridSampler(grid, seed=0)
        return optuna.samplers.TPESampler(seed=number, constant_liar=True)
