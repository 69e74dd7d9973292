"""Where a training stands, one file per run, so that it goes on whatever stopped it.

Random numbers are functions of the epoch, so parameters, the optimiser's memory and the best
state so far are all there is to keep. A run's file does not depend on the runs it was trained
with: it may go on in other company.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from residuum.files import replacing
from residuum.training.tasks import Curves, Training


@final
class Checkpoints:
    """Files in a folder, by the names of runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def epoch(self, name: str) -> int:
        """Return how many epochs of a run are kept: 0 if none are, or the file is damaged."""
        return int(self._header(name).get("epoch", 0))

    def save(self, names: Sequence[str], training: Training) -> None:
        """Keep where each run stands; files of earlier moments are replaced."""
        self.folder.mkdir(parents=True, exist_ok=True)
        states = [state.detach().cpu() for state in training.state]
        for run, name in enumerate(names):
            tensors = {str(place): state[run].contiguous() for place, state in enumerate(states)}
            header = {"epoch": training.epoch, "curves": asdict(training.curves.part(run))}
            with replacing(self._path(name)) as file:
                file.write(save(tensors, {"residuum": json.dumps(header)}))

    def restore(self, names: Sequence[str], training: Training) -> None:
        """Put runs that stand at the same epoch where they were."""
        headers = [self._header(name) for name in names]
        with torch.no_grad():
            for run, name in enumerate(names):
                with safe_open(self._path(name), "pt") as file:
                    for place, state in enumerate(training.state):
                        state[run].copy_(file.get_tensor(str(place)))
        training.epoch = int(headers[0]["epoch"])
        training.curves = Curves.joined([Curves(**header["curves"]) for header in headers])

    def forget(self, names: Sequence[str]) -> None:
        """Remove the files of runs that are done."""
        for name in names:
            self._path(name).unlink(missing_ok=True)

    def _header(self, name: str) -> dict[str, Any]:
        try:
            with safe_open(self._path(name), "pt") as file:
                header: dict[str, Any] = json.loads(file.metadata()["residuum"])
                return header
        except (OSError, SafetensorError, KeyError, TypeError, ValueError):
            return {}

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.safetensors"
