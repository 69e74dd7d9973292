"""Runs of the digits study: trained in stacks, measured, and kept in the store one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple, Protocol

import torch

from residuum.results.records import Curve, Record, run_id
from residuum.results.store import Store
from residuum.study.digits.images import ImagesName, load_images
from residuum.study.digits.joint import JointTask
from residuum.study.digits.measures import Measured, measure
from residuum.study.digits.networks import Classifiers
from residuum.study.digits.pipeline import DigitTask, OperatorTask
from residuum.study.digits.sets import PairPool, Sets, make_sets
from residuum.study.digits.settings import SCHEME, STUDY, TUNING, Precision, Settings
from residuum.study.digits.tensors import ImageTensors
from residuum.training.checkpoints import CheckpointError, Checkpoints
from residuum.training.environments import environment
from residuum.training.tasks import Curves, Task, Training

STAGES: Final = {"joint": ("joint",), "pipeline": ("Digit", "Sum", "Product")}

MOST_TOGETHER: Final = 36
"""Runs in one stack: more of them do not make a GPU faster, and need more memory."""

BETWEEN_CHECKPOINTS: Final = 60.0
"""Seconds of training that a kill may cost."""


class Stage(NamedTuple):
    """A training that is under way: of which runs, of what, and how long it is."""

    runs: Sequence[Settings]
    name: str
    epochs: int


class Watcher(Protocol):
    """Told what is going on. It may raise to stop: what is done stays done."""

    def stack_starts(self, runs: Sequence[Settings]) -> None:
        """Take note of runs that are now trained together; those before are in the store."""

    def epoch_is_over(self, stage: Stage, epoch: int, curves: Curves) -> None:
        """Take note of an epoch."""

    def run_is_over(self, record: Record) -> None:
        """Take note of a run, which is in the store by now."""


def id_of(settings: Settings, study: str = STUDY) -> str:
    """Return the name of a run in the store."""
    return run_id(study, settings.configuration, SCHEME)


def run_all(
    runs: Sequence[Settings],
    store: Store,
    *,
    device: torch.device,
    watch: Watcher,
    study: str = STUDY,
    most_together: int = MOST_TOGETHER,
) -> None:
    """Train and measure the runs that the store does not have, and keep each as it is done.

    Runs that share their shapes are trained together. Stopped at any moment, the same call goes
    on where it was, give or take a minute. For tuning, TEST is not looked at.
    """
    checkpoints = Checkpoints(store.path.with_name(f"{store.path.name}.checkpoints"))
    wanted = dict.fromkeys(runs)

    def names(run: Settings) -> list[str]:
        return [_checkpoint(run, study, stage) for stage in STAGES[run.protocol]]

    def progress(run: Settings) -> tuple[int, ...]:
        return tuple(map(checkpoints.epoch, names(run)))

    def missing() -> list[Settings]:
        """Return what is still to do; of what is done no checkpoint need be kept."""
        are_done = {run: id_of(run, study) in store for run in wanted}
        for run, is_done in are_done.items():
            if is_done:
                checkpoints.forget(names(run))
        return [run for run, is_done in are_done.items() if not is_done]

    # Looked up anew each time: another process may have done some of them meanwhile.
    while to_do := missing():
        stack = stacks(to_do, most_together, progress)[0]
        watch.stack_starts(stack)
        started = time.monotonic()
        laboratory = _Laboratory(stack, device, study, checkpoints, watch)
        try:
            networks, curves = laboratory.train()
        except CheckpointError:
            continue  # what could not be used is gone: other stacks go on from other places
        measured = Measured({}, {})
        if study != TUNING:
            measured = measure(networks, laboratory.images, laboratory.sets[0])
        seconds = (time.monotonic() - started) / len(stack)
        for place, run in enumerate(stack):
            record = Record(
                study=study,
                scheme=SCHEME,
                configuration=run.configuration,
                measures={name: float(row[place]) for name, row in measured.measures.items()},
                curves=curves[place],
                outcomes={
                    name: row[place].cpu().numpy() for name, row in measured.outcomes.items()
                },
                seconds=seconds,
                environment=environment(device, len(stack)),
            )
            store.add(record)
            watch.run_is_over(record)


def _checkpoint(run: Settings, study: str, stage: str) -> str:
    return f"{id_of(run, study)}.{stage}"


def stacks(
    runs: Sequence[Settings], most: int, progress: Callable[[Settings], object]
) -> list[list[Settings]]:
    """Return runs that can be trained together, neighbours sharing their relaxation."""
    groups: dict[object, list[Settings]] = {}
    for run in sorted(runs, key=lambda run: (run.relaxation, run.warm_up_relaxation, run.warm_up)):
        groups.setdefault((run.stack, progress(run)), []).append(run)
    return [
        group[start : start + most]
        for group in groups.values()
        for start in range(0, len(group), most)
    ]


class _Laboratory:
    """A stack of runs with its data, from the first stage of its protocol to the last."""

    def __init__(
        self,
        runs: Sequence[Settings],
        device: torch.device,
        study: str,
        checkpoints: Checkpoints,
        watch: Watcher,
    ) -> None:
        first = runs[0]
        self._runs = runs
        self._study = study
        self._checkpoints = checkpoints
        self._watch = watch
        self.images = _images_on(first.images, first.precision, device)
        self.sets = [
            sets_of(run.images, run.digit_size, run.pair_size, run.pair_pool) for run in runs
        ]

    def train(self) -> tuple[dict[str, Classifiers], list[dict[str, Curve]]]:
        """Return the trained networks, each run's in its best state, and the curves of each run."""
        if self._runs[0].protocol == "joint":
            joint = JointTask(self._runs, self.sets, self.images)
            return joint.networks, self._finish(joint, "joint", self._runs)
        stage = [run.digit_stage for run in self._runs]
        first = DigitTask(stage, self.sets, self.images)
        curves = self._finish(first, "Digit", stage)
        networks = dict(first.networks)
        for operator in ("Sum", "Product"):
            second = OperatorTask(self._runs, self.sets, self.images, networks["Digit"], operator)
            for mine, more in zip(curves, self._finish(second, operator, self._runs), strict=True):
                mine |= more
            networks |= second.networks
        return networks, curves

    def _finish(self, task: Task, name: str, runs: Sequence[Settings]) -> list[dict[str, Curve]]:
        """Train a task to its end from where it stands; put its best states in place."""
        first = runs[0]
        training = Training(
            task, first.optimiser, epochs=first.epochs, judge_every=first.judge_every
        )
        names = [_checkpoint(run, self._study, name) for run in self._runs]
        if any(map(self._checkpoints.epoch, names)):
            self._checkpoints.restore(names, training)
        stage = Stage(runs, name, first.epochs)
        is_over = training.epoch >= first.epochs
        while not is_over:
            try:
                is_over = training.run(
                    lambda epoch, curves: self._watch.epoch_is_over(stage, epoch, curves),
                    until=time.monotonic() + BETWEEN_CHECKPOINTS,
                )
            finally:
                if training.is_between_epochs:
                    self._checkpoints.save(names, training)
        training.best.restore()
        return [
            {f"{name}: {curve}": values for curve, values in training.curves.of_run(run).items()}
            | {f"{name}: selected": Curve([first.epochs], [float(training.best.epochs[run])])}
            for run in range(len(runs))
        ]


@cache
def sets_of(name: ImagesName, digit_size: int, pair_size: int, pool: PairPool) -> Sets:
    """Return the sets of a run, drawn once."""
    return make_sets(load_images(name), digit_size, pair_size, pool)


@lru_cache(maxsize=1)
def _images_on(name: ImagesName, precision: Precision, device: torch.device) -> ImageTensors:
    return ImageTensors(load_images(name), getattr(torch, precision), device)
