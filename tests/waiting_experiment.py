"""An experiment that waits until it may end, and leaves a note wherever it is performed."""

import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch

from residuum.study.running import Measured


@dataclass(frozen=True)
class Number:
    seed: int
    relaxation: str = "r-product"
    warm_up: int = 0
    warm_up_relaxation: str = "r-product"

    @property
    def configuration(self):
        return asdict(self)

    @property
    def stack(self):
        return ()


@dataclass(frozen=True)
class Waiting:
    notes: Path
    data: np.ndarray = field(default_factory=lambda: np.arange(1_000_000))
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    name: str = "waiting"
    scheme: int = 1

    def __setstate__(self, state):
        self.__dict__.update(state)
        note(self.notes, "read")

    def stages(self, _run):
        return ()

    def prepare(self, runs):
        return WaitingStack(self, runs)


@dataclass(frozen=True)
class WaitingStack:
    experiment: Waiting
    runs: list[Number]

    def measure(self):
        notes, data = self.experiment.notes, self.experiment.data
        note(notes, "began", *(run.seed for run in self.runs))
        while not (notes / "go").exists():
            time.sleep(0.02)
        note(notes, "ended", *(run.seed for run in self.runs))
        return [Measured({"square": float(data[run.seed] ** 2)}, {}) for run in self.runs]


def note(folder, *words):
    """Write a file that says what happened, in which process, on which node."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    path = folder / f"{time.monotonic_ns()}-{os.getpid()}"
    path.with_suffix(".part").write_text(" ".join(map(str, (node, os.getpid(), *words))))
    path.with_suffix(".part").rename(path.with_suffix(".note"))


def notes(folder):
    """Return (node, process, what, seeds) in the order in which it was written."""
    found = []
    for path in sorted(folder.glob("*.note")):
        node, process, what, *seeds = path.read_text().split()
        found.append((node, process, what, tuple(map(int, seeds))))
    return found
