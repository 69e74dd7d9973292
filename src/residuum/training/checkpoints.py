"""Where a training stands, one file per run, so that it goes on whatever stopped it.

Random numbers are functions of the epoch, so parameters, the optimiser's memory and the best
state so far are all there is to keep. A run's file does not depend on the runs it was trained
with: it may go on in other company.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple, final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from residuum.errors import ResiduumError
from residuum.files import replacing
from residuum.training.tasks import Curves, Training


class CheckpointError(ResiduumError):
    """Runs that cannot go on together from what is kept of them."""


class _Kept(NamedTuple):
    """What a file holds: where the training of one run stood."""

    epoch: int
    curves: Curves
    state: list[Tensor]


_UNREADABLE: Final = (
    OSError, SafetensorError, KeyError, TypeError, ValueError, OverflowError, RecursionError,
)  # fmt: skip


@final
class Checkpoints:
    """Files in a folder, by the names of runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def epoch(self, name: str) -> int:
        """Return how many epochs of a run are kept: 0 if none are, or the file makes no sense."""
        try:
            with safe_open(self._path(name), "pt") as file:
                return int(json.loads(file.metadata()["residuum"])["epoch"])
        except _UNREADABLE:
            return 0

    def save(self, names: Sequence[str], training: Training) -> None:
        """Keep where each run stands; files of earlier moments are replaced."""
        self.folder.mkdir(parents=True, exist_ok=True)
        states = [state.detach().cpu() for state in training.state]
        for run, name in enumerate(names):
            mine = [state[run].contiguous() for state in states]
            header = json.dumps(
                {
                    "name": name,
                    "epoch": training.epoch,
                    "curves": asdict(training.curves.part(run)),
                }
            )
            metadata = {"residuum": header, "checksum": str(_checksum(header, mine))}
            with replacing(self._path(name)) as file:
                file.write(save({str(place): one for place, one in enumerate(mine)}, metadata))

    def restore(self, names: Sequence[str], training: Training) -> None:
        """Put runs where they were, at the same epoch, or change nothing and raise.

        Files that are damaged, or not of this training of this run, are removed first. They may
        also have been replaced by another process since one looked: look again.
        """
        layout = _layout([state[0] for state in training.state])
        sound, useless = [], []
        for name in names:
            kept = self._read(name)
            if kept is not None and _layout(kept.state) == layout:
                sound.append(kept)
            else:
                useless.append(name)
        epochs = {kept.epoch for kept in sound}
        if useless or len(epochs) > 1:
            self.forget(useless)
            raise CheckpointError(
                f"{self.folder}: expected files of {len(names)} runs at the same epoch, found "
                f"{len(sound)} that are sound, at the epochs {sorted(epochs)}; look again"
            )
        with torch.no_grad():
            for run, kept in enumerate(sound):
                for state, saved in zip(training.state, kept.state, strict=True):
                    state[run].copy_(saved)
        training.epoch = sound[0].epoch
        training.curves = Curves.joined([kept.curves for kept in sound])

    def forget(self, names: Sequence[str]) -> None:
        """Remove the files of runs that are done."""
        for name in names:
            self._path(name).unlink(missing_ok=True)

    def _read(self, name: str) -> _Kept | None:
        """Return what is kept of a run, all of one moment; None if it cannot be trusted."""
        try:
            with safe_open(self._path(name), "pt") as file:
                metadata = file.metadata()
                state = [file.get_tensor(str(place)) for place in range(len(file.keys()))]
            header = json.loads(metadata["residuum"])
            is_sound = int(metadata["checksum"]) == _checksum(metadata["residuum"], state)
            if not is_sound or header["name"] != name:
                return None
            return _Kept(int(header["epoch"]), Curves(**header["curves"]), state)
        except _UNREADABLE:
            return None

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.safetensors"


def _checksum(header: str, tensors: Sequence[Tensor]) -> int:
    found = zlib.crc32(header.encode())
    for tensor in tensors:
        found = zlib.crc32(tensor.flatten().view(torch.uint8).numpy().data, found)
    return found


def _layout(tensors: Sequence[Tensor]) -> list[Any]:
    return [(tensor.shape, tensor.dtype) for tensor in tensors]
