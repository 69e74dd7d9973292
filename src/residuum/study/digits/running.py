"""Runs of the digits study: how a stack of them is trained, in its stages, and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, final

import torch

from residuum.results.records import Curve, run_id
from residuum.results.store import Store
from residuum.study import running
from residuum.study.digits.images import Images, ImagesName, load_images
from residuum.study.digits.joint import JointTask
from residuum.study.digits.measures import Measured, measure
from residuum.study.digits.networks import Classifiers
from residuum.study.digits.pipeline import DigitTask, OperatorTask
from residuum.study.digits.sets import PairPool, Sets, make_sets
from residuum.study.digits.settings import SCHEME, STUDY, TUNING, Precision, Settings
from residuum.study.digits.tensors import ImageTensors
from residuum.study.running import MOST_TOGETHER, Finish, Result, Watcher
from residuum.training.tasks import Task, Training

STAGES: Final = {"joint": ("joint",), "pipeline": ("Digit", "Sum", "Product")}

AllCurves = list[dict[str, Curve]]
"""The curves of each run of a stack."""


@final
@dataclass(frozen=True)
class Digits:
    """The digits study; for tuning, TEST is not looked at.

    Without `images` they are loaded by the name that runs have.
    """

    device: torch.device
    name: str = STUDY
    scheme: int = SCHEME
    images: Images | None = None

    def stages(self, run: Settings) -> Sequence[str]:
        """Return the names of the trainings of a run."""
        return STAGES[run.protocol]

    def perform(self, runs: Sequence[Settings], finish: Finish) -> Sequence[Result]:
        """Train and measure runs that share their shapes."""
        first = runs[0]
        images = _images_on(self.images or first.images, first.precision, self.device)
        sets = [self.sets_of(run) for run in runs]
        networks, curves = _train(runs, sets, images, finish)
        measured = Measured({}, {})
        if self.name != TUNING:
            measured = measure(networks, images, sets[0])
        return [
            Result(
                {name: float(row[place]) for name, row in measured.measures.items()},
                mine,
                {name: row[place].cpu().numpy() for name, row in measured.outcomes.items()},
            )
            for place, mine in enumerate(curves)
        ]

    def sets_of(self, run: Settings) -> Sets:
        """Return the sets of a run, drawn once."""
        sizes = run.digit_size, run.pair_size, run.pair_pool
        return _sets(self.images, *sizes) if self.images else sets_of(run.images, *sizes)


def id_of(settings: Settings, study: str = STUDY) -> str:
    """Return the name of a run in the store."""
    return run_id(study, settings.configuration, SCHEME)


def run_all(
    runs: Sequence[Settings],
    store: Store,
    *,
    device: torch.device,
    watch: Watcher[Settings],
    study: str = STUDY,
    most_together: int = MOST_TOGETHER,
) -> None:
    """Train and measure the runs that the store does not have, and keep each as it is done."""
    experiment = Digits(device, study)
    running.run_all(experiment, runs, store, watch=watch, most_together=most_together)


def _train(
    runs: Sequence[Settings], sets: Sequence[Sets], images: ImageTensors, finish: Finish
) -> tuple[Mapping[str, Classifiers], AllCurves]:
    """Return the trained networks, each run's in its best state, and the curves of each run."""
    if runs[0].protocol == "joint":
        joint = JointTask(runs, sets, images)
        return joint.networks, _finished(joint, "joint", runs[0], finish)
    stage = [run.digit_stage for run in runs]
    first = DigitTask(stage, sets, images)
    curves = _finished(first, "Digit", stage[0], finish)
    networks = dict(first.networks)
    for operator in ("Sum", "Product"):
        second = OperatorTask(runs, sets, images, networks["Digit"], operator)
        for mine, more in zip(curves, _finished(second, operator, runs[0], finish), strict=True):
            mine |= more
        networks |= second.networks
    return networks, curves


def _finished(task: Task, name: str, first: Settings, finish: Finish) -> AllCurves:
    training = Training(task, first.optimiser, epochs=first.epochs, judge_every=first.judge_every)
    return [
        {f"{name}: {curve}": values for curve, values in mine.items()}
        for mine in finish(training, name)
    ]


@cache
def sets_of(name: ImagesName, digit_size: int, pair_size: int, pool: PairPool) -> Sets:
    """Return the sets of a run, drawn once."""
    return make_sets(load_images(name), digit_size, pair_size, pool)


@cache
def _sets(images: Images, digit_size: int, pair_size: int, pool: PairPool) -> Sets:
    return make_sets(images, digit_size, pair_size, pool)


@lru_cache(maxsize=1)
def _images_on(
    source: Images | ImagesName, precision: Precision, device: torch.device
) -> ImageTensors:
    images = load_images(source) if isinstance(source, str) else source
    return ImageTensors(images, getattr(torch, precision), device)
