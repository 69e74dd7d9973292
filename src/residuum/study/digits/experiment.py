"""The digits study as an experiment: its data, its stages, and how a stack of runs is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, final

import torch

from residuum.study.digits.data.batches import ImageTensors
from residuum.study.digits.data.images import Images, ImagesName, load_images
from residuum.study.digits.data.sets import PairPool, Sets, make_sets
from residuum.study.digits.measures import measure
from residuum.study.digits.networks import Classifiers
from residuum.study.digits.settings import SCHEME, STUDY, TUNING, Precision, Settings
from residuum.study.digits.task import DigitTask, JointTask, OperatorTask
from residuum.study.running import Measured
from residuum.training.loop import Training

STAGES: Final = {"joint": ("joint",), "pipeline": ("Digit", "Sum", "Product")}
"""The trainings of a run, by its protocol."""


@final
@dataclass(frozen=True)
class Digits:
    """The digits study. Under the name `TUNING`, runs are not measured on TEST.

    Images are loaded by the name in the settings unless `images` is given.
    """

    device: torch.device
    name: str = STUDY
    scheme: int = SCHEME
    images: Images | None = None

    def stages(self, run: Settings) -> Sequence[str]:
        """Return the names of the trainings of a run."""
        return STAGES[run.protocol]

    def curve_name(self, stage: str, curve: str) -> str:
        """Return the name of a curve in records, such as `joint: dev/score`."""
        return f"{stage}: {curve}"

    def prepare(self, runs: Sequence[Settings]) -> StackOfDigits:
        """Load the images, and draw the sets of each run."""
        first = runs[0]
        images = _images_on(self.images or first.images, first.precision, self.device)
        sets = [self.sets_of(run) for run in runs]
        return StackOfDigits(runs, images, sets, is_tuning=self.name == TUNING)

    def sets_of(self, run: Settings) -> Sets:
        """Return the sets of a run. Raise DataError if the images are too few for them."""
        source = self.images or run.images
        return _sets(source, run.digit_size, run.pair_size, run.pair_pool)


@final
class StackOfDigits:
    """Runs of the digits study that are trained together."""

    def __init__(
        self,
        runs: Sequence[Settings],
        images: ImageTensors,
        sets: Sequence[Sets],
        *,
        is_tuning: bool,
    ) -> None:
        self._runs = runs
        self._images = images
        self._sets = sets
        self._is_tuning = is_tuning
        self.networks: dict[str, Classifiers] = {}

    def training(self, stage: str) -> Training:
        """Return the training of a stage, and keep the networks that it trains."""
        runs = [run.digit_stage for run in self._runs] if stage == "Digit" else self._runs
        task = self._task(stage, runs)
        self.networks |= task.networks
        first = runs[0]
        return Training(
            task,
            first.optimiser,
            epochs=first.epochs,
            judge_every=first.judge_every,
            clip=[run.clip for run in runs],
            average=first.average,
        )

    def _task(self, stage: str, runs: Sequence[Settings]) -> JointTask | DigitTask | OperatorTask:
        if stage == "joint":
            return JointTask(runs, self._sets, self._images)
        if stage == "Digit":
            return DigitTask(runs, self._sets, self._images)
        return OperatorTask(runs, self._sets, self._images, self.networks["Digit"], stage)

    def measure(self) -> list[Measured]:
        """Measure each run on TEST; in tuning return no measures."""
        if self._is_tuning:
            return [Measured({}, {}) for _ in self._runs]
        return measure(self.networks, self._images, self._sets[0]).by_run(len(self._runs))


@cache
def _sets(source: Images | ImagesName, digit_size: int, pair_size: int, pool: PairPool) -> Sets:
    return make_sets(_loaded(source), digit_size, pair_size, pool)


@lru_cache(maxsize=1)
def _images_on(
    source: Images | ImagesName, precision: Precision, device: torch.device
) -> ImageTensors:
    return ImageTensors(_loaded(source), getattr(torch, precision), device)


def _loaded(source: Images | ImagesName) -> Images:
    return load_images(source) if isinstance(source, str) else source
