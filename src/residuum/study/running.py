"""The life of a run: stacked with other runs, trained stage by stage, measured, and stored.

This file reads from top to bottom. `run_all` repeats `next_stack` and `make_records` until the
store has every run. What differs between studies is behind two protocols: an `Experiment`
prepares a `StackOfRuns`, which builds the training of each stage and measures the result.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import torch

from residuum.errors import RecordError
from residuum.results.records import Curve, Divergence, Outcomes, Record, run_id
from residuum.results.store import Store
from residuum.training.checkpoints import ChangedError, Checkpoints, Progress
from residuum.training.devices import environment
from residuum.training.loop import Curves, Training

MOST_TOGETHER: Final = 40
"""Runs in one stack. More runs hardly make a GPU faster, and need more memory."""

BETWEEN_CHECKPOINTS: Final = 60.0
"""Seconds between two checkpoints: the most training that a killed process loses."""


class Run(Protocol):
    """The settings of a run, as far as every study needs them."""

    @property
    def configuration(self) -> dict[str, Any]:
        """The settings as plain data; they identify the run."""

    @property
    def stack(self) -> tuple[Any, ...]:
        """The settings that runs must have in common to be trained together."""

    @property
    def seed(self) -> int:
        """The seed of the run."""

    @property
    def relaxation(self) -> str:
        """The relaxation that the run learns with."""

    @property
    def warm_up(self) -> int:
        """Epochs at the start that use `warm_up_relaxation` instead."""

    @property
    def warm_up_relaxation(self) -> str:
        """The relaxation of the warm-up."""


R = TypeVar("R", bound=Run)
R_in = TypeVar("R_in", bound=Run, contravariant=True)


class Measured(NamedTuple):
    """The measures of one trained run, and its outcome on each test example."""

    measures: Mapping[str, float]
    outcomes: Mapping[str, Outcomes]


class StackOfRuns(Protocol):
    """Runs of a study that are trained together, with their data on a device."""

    def training(self, stage: str) -> Training:
        """Return the training of a stage; all stages before it are finished."""

    def measure(self) -> Sequence[Measured]:
        """Measure each run after its last stage; every network is in its best state."""


class Experiment(Protocol[R_in]):
    """What a study must say of itself so that its runs can be trained and stored."""

    @property
    def name(self) -> str:
        """The name of the study in records."""

    @property
    def scheme(self) -> int:
        """A number that changes when equal settings begin to mean something else."""

    @property
    def device(self) -> torch.device:
        """The device that networks are trained on."""

    def stages(self, run: R_in) -> Sequence[str]:
        """Return the names of the trainings of a run, in their order."""

    def curve_name(self, stage: str, curve: str) -> str:
        """Return the name that a curve of a stage has in records."""

    def prepare(self, runs: Sequence[R_in]) -> StackOfRuns:
        """Load the data of runs that share their shapes."""


class Stage(NamedTuple, Generic[R]):
    """A training in progress: its runs, its name, and its number of epochs."""

    runs: Sequence[R]
    name: str
    epochs: int


class Watcher(Protocol[R]):
    """Receives news of the training. A watcher may raise to stop it; stored runs are kept."""

    def stack_starts(self, runs: Sequence[R]) -> None:
        """Receive the runs that are now trained together; earlier stacks are in the store."""

    def epoch_is_over(self, stage: Stage[R], epoch: int, curves: Sequence[Curves]) -> None:
        """Receive the number of finished epochs, and the curves of each run so far."""

    def run_is_over(self, record: Record) -> None:
        """Receive the record of a run, which is in the store by now."""

    def note(self, message: str) -> None:
        """Receive a message for the user that is no reason to stop."""


Finish = Callable[[Training, str], None]
"""Trains a stage to its end, given its name. The training may be at any epoch before."""


def run_all(
    experiment: Experiment[R],
    runs: Sequence[R],
    store: Store,
    *,
    watch: Watcher[R],
    most_together: int = MOST_TOGETHER,
) -> None:
    """Train and measure the runs that the store lacks, and store each run when it is done.

    Runs that share their shapes are trained together. If the process stops at any moment, the
    same call continues from the last checkpoints. Before any training starts, the store and the
    folder of checkpoints are tested for writing.
    """
    checkpoints = Checkpoints(
        store.path.with_name(f"{store.path.name}.checkpoints"), lambda message: watch.note(message)
    )
    ids = {run: id_of(experiment, run) for run in runs}

    def names(run: R) -> list[str]:
        return [_checkpoint(ids[run], stage) for stage in experiment.stages(run)]

    def missing() -> list[R]:
        """Return the runs that the store lacks, and delete checkpoints of the other runs."""
        are_done = {run: name in store for run, name in ids.items()}
        for run, is_done in are_done.items():
            if is_done:
                checkpoints.forget(names(run))
        return [run for run, is_done in are_done.items() if not is_done]

    if missing():
        store.check_writable()
        checkpoints.prepare()
    # The store is asked again each time: another process may have stored some runs meanwhile.
    while to_do := missing():
        progress = {run: tuple(map(checkpoints.progress, names(run))) for run in to_do}
        stack = next_stack(progress, most_together)
        watch.stack_starts(stack)
        try:
            records = make_records(
                experiment, stack, _with_checkpoints(ids, stack, checkpoints, watch)
            )
        except ChangedError:
            continue  # another process changed the checkpoints: form the stacks again
        for record in records:
            _add(store, record, checkpoints)
            watch.run_is_over(record)


def id_of(experiment: Experiment[R], run: R) -> str:
    """Return the identity of a run in the store."""
    return run_id(experiment.name, run.configuration, experiment.scheme)


def next_stack(progress: Mapping[R, Sequence[Progress]], most: int) -> Sequence[R]:
    """Return the runs to train next, given how far the stages of each run have come.

    A run that is trained but not in the store was stopped while it was measured. Such a run is
    measured alone, so that another stop loses at most one measurement. A run that diverged needs
    nothing but a record.
    """
    for run, stages in progress.items():
        if all(stage.is_over for stage in stages) or any(stage.has_diverged for stage in stages):
            return [run]
    return stacks(list(progress), most, progress.__getitem__)[0]


def stacks(runs: Sequence[R], most: int, progress: Callable[[R], object]) -> list[Sequence[R]]:
    """Group runs that can be trained together; runs with the same relaxation are neighbours.

    A group that is too large is split evenly: a small stack takes almost as long as a large one.
    """
    groups: dict[object, list[R]] = {}
    for run in sorted(runs, key=lambda run: (run.relaxation, run.warm_up_relaxation, run.warm_up)):
        groups.setdefault((run.stack, progress(run)), []).append(run)
    return [part for group in groups.values() for part in _split(group, -(-len(group) // most))]


def _split(runs: Sequence[R], parts: int) -> list[Sequence[R]]:
    """Split runs into parts whose sizes differ by one at most."""
    ends = [len(runs) * part // parts for part in range(parts + 1)]
    return [runs[start:end] for start, end in itertools.pairwise(ends)]


def make_records(experiment: Experiment[R], runs: Sequence[R], finish: Finish) -> list[Record]:
    """Train runs that share their shapes stage by stage, measure them, and return their records.

    A run that diverges in a stage takes no part in later stages, and is not measured.
    """
    started = time.monotonic()
    stack = experiment.prepare(runs)
    curves: list[dict[str, Curve]] = [{} for _ in runs]
    diverged: dict[int, Divergence] = {}
    for stage in experiment.stages(runs[0]):
        if len(diverged) == len(runs):
            break
        training = stack.training(stage)
        training.left_out = frozenset(diverged)
        finish(training, stage)
        training.restore_best()
        for run, found in enumerate(training.curves):
            named = _curves_of(training, run)
            curves[run] |= {experiment.curve_name(stage, name): one for name, one in named.items()}
            if found.diverged:
                names = [experiment.curve_name(stage, one) for one in found.diverged.not_finite]
                diverged[run] = Divergence(found.diverged.epoch, names)
    nothing = Measured({}, {})
    measured = [nothing] * len(runs) if len(diverged) == len(runs) else stack.measure()
    seconds = (time.monotonic() - started) / len(runs)
    return [
        Record(
            study=experiment.name,
            scheme=experiment.scheme,
            configuration=run.configuration,
            measures={} if place in diverged else found.measures,
            curves=mine,
            outcomes={} if place in diverged else found.outcomes,
            seconds=seconds,
            environment=environment(experiment.device, len(runs)),
            diverged=diverged.get(place),
        )
        for place, (run, mine, found) in enumerate(zip(runs, curves, measured, strict=True))
    ]


def finish_at_once(training: Training, _stage: str) -> None:
    """Train a stage to its end without checkpoints."""
    training.run()


def _with_checkpoints(
    ids: Mapping[R, str], runs: Sequence[R], checkpoints: Checkpoints, watch: Watcher[R]
) -> Finish:
    """Return a function that trains a stage to its end, with checkpoints, and tells the watcher."""

    def finish(training: Training, stage: str) -> None:
        names = [_checkpoint(ids[run], stage) for run in runs]
        if any(checkpoints.progress(name).epoch for name in names):
            checkpoints.restore(names, training)
        in_progress = Stage(runs, stage, training.epochs)
        if not training.is_over:
            checkpoints.require_space(training)
        while not training.is_over:
            try:
                training.run(
                    lambda epoch, curves: watch.epoch_is_over(in_progress, epoch, curves),
                    until=time.monotonic() + BETWEEN_CHECKPOINTS,
                )
            finally:
                if training.is_between_epochs:
                    checkpoints.save(names, training)

    return finish


def _checkpoint(identity: str, stage: str) -> str:
    return f"{identity}.{stage}"


def _curves_of(training: Training, run: int) -> dict[str, Curve]:
    """Return the curves of a run, and as `selected` the epoch of its best state.

    The best state of a diverged run is not used, so it has no such curve.
    """
    curves = training.curves[run].by_name()
    if training.is_learning(run):
        curves["selected"] = Curve([training.epochs], [float(training.best.epochs[run])])
    return curves


def _add(store: Store, record: Record, checkpoints: Checkpoints) -> None:
    try:
        store.add(record)
    except RecordError as error:
        raise RecordError(
            f"{error}. The run is trained, and its checkpoint is in {checkpoints.folder}: once the "
            "store can be written, the same command only has to measure the run again"
        ) from error
