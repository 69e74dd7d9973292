"""Runs of any study: trained in stacks, measured, and kept in the store one by one.

What differs from study to study is an `Experiment`: how a stack of its runs is trained, in which
stages, and by what it is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import torch

from residuum.errors import RecordError
from residuum.results.records import Curve, Outcomes, Record, run_id
from residuum.results.store import Store
from residuum.training.checkpoints import ChangedError, Checkpoints, Progress
from residuum.training.environments import environment
from residuum.training.tasks import Curves, Training

MOST_TOGETHER: Final = 36
"""Runs in one stack: more of them do not make a GPU faster, and need more memory."""

BETWEEN_CHECKPOINTS: Final = 60.0
"""Seconds of training that a kill may cost."""


class Run(Protocol):
    """The settings of a run, as far as they matter to any study."""

    @property
    def configuration(self) -> dict[str, Any]:
        """The settings as plain data."""

    @property
    def stack(self) -> tuple[Any, ...]:
        """What runs must have in common to be trained together."""

    @property
    def relaxation(self) -> str:
        """What is learnt."""

    @property
    def warm_up(self) -> int:
        """For how many epochs something else is learnt first."""

    @property
    def warm_up_relaxation(self) -> str:
        """What that is."""


R = TypeVar("R", bound=Run)
R_in = TypeVar("R_in", bound=Run, contravariant=True)


class Stage(NamedTuple, Generic[R]):
    """A training that is under way: of which runs, of what, and how long it is."""

    runs: Sequence[R]
    name: str
    epochs: int


class Watcher(Protocol[R]):
    """Told what is going on. It may raise to stop: what is done stays done."""

    def stack_starts(self, runs: Sequence[R]) -> None:
        """Take note of runs that are now trained together; those before are in the store."""

    def epoch_is_over(self, stage: Stage[R], epoch: int, curves: Sequence[Curves]) -> None:
        """Take note of an epoch, and of the curves of each run so far."""

    def run_is_over(self, record: Record) -> None:
        """Take note of a run, which is in the store by now."""

    def note(self, message: str) -> None:
        """Tell the user something that is no reason to stop."""


class Result(NamedTuple):
    """What came out of one run."""

    measures: Mapping[str, float]
    curves: Mapping[str, Curve]
    outcomes: Mapping[str, Outcomes]


Finish = Callable[[Training, str], list[dict[str, Curve]]]
"""Trains to the end, from wherever it stands, the stage of that name, as `finish_at_once` does."""


class Experiment(Protocol[R_in]):
    """What a study consists of."""

    @property
    def name(self) -> str:
        """What its runs are kept as."""

    @property
    def scheme(self) -> int:
        """What equal settings mean."""

    @property
    def device(self) -> torch.device:
        """Where it is trained."""

    def stages(self, run: R_in) -> Sequence[str]:
        """Return the names of the trainings of a run, one after the other."""

    def perform(self, runs: Sequence[R_in], finish: Finish) -> Sequence[Result]:
        """Train runs that share their shapes together, stage by stage, and measure each."""


def run_all(
    experiment: Experiment[R],
    runs: Sequence[R],
    store: Store,
    *,
    watch: Watcher[R],
    most_together: int = MOST_TOGETHER,
) -> None:
    """Train and measure the runs that the store does not have, and keep each as it is done.

    Runs that share their shapes are trained together. Stopped at any moment, the same call goes
    on where it was, give or take a minute. Before anything is trained, it is made sure that
    checkpoints and records can be kept.
    """
    checkpoints = Checkpoints(
        store.path.with_name(f"{store.path.name}.checkpoints"), lambda message: watch.note(message)
    )
    wanted = dict.fromkeys(runs)

    def names(run: R) -> list[str]:
        return [_checkpoint(experiment, run, stage) for stage in experiment.stages(run)]

    def missing() -> list[R]:
        """Return what is still to do; of what is done no checkpoint need be kept."""
        are_done = {run: id_of(experiment, run) in store for run in wanted}
        for run, is_done in are_done.items():
            if is_done:
                checkpoints.forget(names(run))
        return [run for run, is_done in are_done.items() if not is_done]

    if missing():
        store.check_writable()
        checkpoints.prepare()
    # Looked up anew each time: another process may have done some of them meanwhile.
    while to_do := missing():
        progress = {run: tuple(map(checkpoints.progress, names(run))) for run in to_do}
        stack = next_stack(progress, most_together)
        watch.stack_starts(stack)
        try:
            finish = _kept(experiment, stack, checkpoints, watch)
            records = make_records(experiment, stack, finish)
        except ChangedError:
            continue  # other stacks go on from other places
        for record in records:
            _add(store, record, checkpoints)
            watch.run_is_over(record)


def _add(store: Store, record: Record, checkpoints: Checkpoints) -> None:
    try:
        store.add(record)
    except RecordError as error:
        raise RecordError(
            f"{error}. The run is trained, and kept in {checkpoints.folder}: once the store can be "
            "written, the same command only has to measure it again"
        ) from error


def id_of(experiment: Experiment[R], run: R) -> str:
    """Return the name of a run in the store."""
    return run_id(experiment.name, run.configuration, experiment.scheme)


def make_records(experiment: Experiment[R], runs: Sequence[R], finish: Finish) -> list[Record]:
    """Perform runs that share their shapes, and put down what came out."""
    started = time.monotonic()
    results = experiment.perform(runs, finish)
    seconds = (time.monotonic() - started) / len(runs)
    return [
        Record(
            study=experiment.name,
            scheme=experiment.scheme,
            configuration=run.configuration,
            measures=result.measures,
            curves=result.curves,
            outcomes=result.outcomes,
            seconds=seconds,
            environment=environment(experiment.device, len(runs)),
        )
        for run, result in zip(runs, results, strict=True)
    ]


def next_stack(progress: Mapping[R, Sequence[Progress]], most: int) -> list[R]:
    """Return the runs to go on with, by how far the stages of each have come.

    A run that is trained, but not in the store, was stopped while it was measured. It is measured
    alone, so that the next stop costs no more than that.
    """
    for run, stages in progress.items():
        if all(stage.is_over for stage in stages):
            return [run]
    return stacks(list(progress), most, progress.__getitem__)[0]


def stacks(runs: Sequence[R], most: int, progress: Callable[[R], object]) -> list[list[R]]:
    """Return runs that can be trained together, neighbours sharing their relaxation."""
    groups: dict[object, list[R]] = {}
    for run in sorted(runs, key=lambda run: (run.relaxation, run.warm_up_relaxation, run.warm_up)):
        groups.setdefault((run.stack, progress(run)), []).append(run)
    return [
        group[start : start + most]
        for group in groups.values()
        for start in range(0, len(group), most)
    ]


def finish_at_once(training: Training, _stage: str) -> list[dict[str, Curve]]:
    """Train to the end; put the best states in place, and return the curves of each run."""
    training.run()
    return _in_best_state(training)


def _in_best_state(training: Training) -> list[dict[str, Curve]]:
    training.best.restore()
    return [
        {**curves.by_name(), "selected": Curve([training.epochs], [float(epoch)])}
        for curves, epoch in zip(training.curves, training.best.epochs, strict=True)
    ]


def _checkpoint(experiment: Experiment[R], run: R, stage: str) -> str:
    return f"{id_of(experiment, run)}.{stage}"


def _kept(
    experiment: Experiment[R], runs: Sequence[R], checkpoints: Checkpoints, watch: Watcher[R]
) -> Finish:
    """Return what finishes trainings that are kept on disk meanwhile, and watched."""

    def finish(training: Training, stage: str) -> list[dict[str, Curve]]:
        names = [_checkpoint(experiment, run, stage) for run in runs]
        if any(checkpoints.progress(name).epoch for name in names):
            checkpoints.restore(names, training)
        under_way = Stage(runs, stage, training.epochs)
        is_over = training.epoch >= training.epochs
        if not is_over:
            checkpoints.require_space(training)
        while not is_over:
            try:
                is_over = training.run(
                    lambda epoch, curves: watch.epoch_is_over(under_way, epoch, curves),
                    until=time.monotonic() + BETWEEN_CHECKPOINTS,
                )
            finally:
                if training.is_between_epochs:
                    checkpoints.save(names, training)
        return _in_best_state(training)

    return finish
