"""Checkpoints: one file per run, from which its training continues after any stop.

Random numbers are functions of the epoch, so a checkpoint needs only the parameters, the state of
the optimiser, the best state so far, and the curves. A file does not depend on the other runs of
the stack: its run may continue in another stack. A file that cannot be used is renamed, with a
message, and its run starts again.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple, final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from residuum.errors import RecordError, ResiduumError
from residuum.files import replacing
from residuum.results.records import Divergence
from residuum.training.loop import Curves, Training

SPARE: Final = 2**24
"""Free bytes that are required beside those of the checkpoints, for records."""


class CheckpointError(ResiduumError):
    """Checkpoints cannot be written: the folder cannot be used, or the disk is full."""


class ChangedError(ResiduumError):
    """Checkpoints have disappeared, were set aside, or are at different epochs."""


class Progress(NamedTuple):
    """The number of epochs that a run has done, and whether its training is over.

    A run that `has_diverged` is over, in whatever epoch.
    """

    epoch: int
    is_over: bool
    has_diverged: bool = False


class _Kept(NamedTuple):
    """The content of a file: the state of one run after an epoch."""

    epoch: int
    curves: Curves
    state: list[Tensor]


class _UnusableError(Exception):
    """A file cannot be used, for the reason in the message."""


_UNREADABLE: Final = "it is damaged, or from another version of residuum"
_DAMAGED: Final = (
    SafetensorError, RecordError, KeyError, TypeError, ValueError, OverflowError, RecursionError,
)  # fmt: skip


@final
class Checkpoints:
    """The checkpoints in a folder, by name; messages for the user go to `note`."""

    def __init__(self, folder: Path, note: Callable[[str], None]) -> None:
        self.folder = folder
        self._note = note

    def prepare(self) -> None:
        """Make the folder, and raise CheckpointError if no file can be written to it."""
        with self._explained():
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(self.folder / ".writable") as file:
                file.write(b"checkpoints can be written here")
            (self.folder / ".writable").unlink(missing_ok=True)

    def require_space(self, training: Training) -> None:
        """Raise CheckpointError if the disk lacks the space for the checkpoints of a training."""
        size = sum(state.numel() * state.element_size() for state in training.state)
        # While a file is replaced, the old file still takes space.
        needed = 2 * size + SPARE
        with self._explained():
            free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise CheckpointError(
                f"{self.folder}: expected {needed / 2**20:,.0f} MiB of free space for checkpoints, "
                f"found {free / 2**20:,.0f}. Free some space, or choose a store on another disk; "
                "then the same command continues"
            )

    def progress(self, name: str) -> Progress:
        """Return the progress in a run's file; a damaged file is set aside and counts as none."""
        nothing = Progress(0, is_over=False)
        try:
            with self._explained(), safe_open(self._path(name), "pt") as file:
                header = json.loads(file.metadata()["residuum"])
            epoch = int(header["epoch"])
            has_diverged = _read_curves(header["curves"]).diverged is not None
            is_over = has_diverged or epoch >= int(header["epochs"])
            return Progress(epoch, is_over, has_diverged)
        except FileNotFoundError:
            return nothing
        except CheckpointError:
            raise
        except _DAMAGED as error:
            self._set_aside(name, f"{_UNREADABLE}: {_first_line(error)}")
            return nothing

    def save(self, names: Sequence[str], training: Training) -> None:
        """Write the state of each run that is not left out, replacing older files."""
        states = [state.detach().cpu() for state in training.state]
        for run, name in enumerate(names):
            if run in training.left_out:
                continue
            curves = training.curves[run]
            mine = [state[run].contiguous() for state in states]
            header = json.dumps(
                {
                    "name": name,
                    "epoch": curves.diverged.epoch if curves.diverged else training.epoch,
                    "epochs": training.epochs,
                    "curves": asdict(curves),
                }
            )
            metadata = {"residuum": header, "checksum": str(_checksum(header, mine))}
            with self._explained(), replacing(self._path(name)) as file:
                file.write(save({str(place): one for place, one in enumerate(mine)}, metadata))

    def restore(self, names: Sequence[str], training: Training) -> None:
        """Restore all runs to the same epoch, or change nothing and raise ChangedError.

        Unusable files are set aside first. Another process may also have replaced or removed
        files since `progress` was called.
        """
        found: list[_Kept] = []
        for run, name in enumerate(names):
            try:
                kept = self._read(name)
                _check(kept, training, run)
                found.append(kept)
            except FileNotFoundError:
                continue
            except _UnusableError as reason:
                self._set_aside(name, str(reason))
        epochs = {kept.epoch for kept in found}
        if len(found) < len(names) or len(epochs) > 1:
            raise ChangedError(
                f"{self.folder}: expected files of {len(names)} runs at the same epoch, found "
                f"{len(found)} that can be used, at the epochs {sorted(epochs)}; try again"
            )
        with torch.no_grad():
            for run, kept in enumerate(found):
                for state, saved in zip(training.state, kept.state, strict=True):
                    state[run].copy_(saved)
        training.epoch = found[0].epoch
        training.curves = [kept.curves for kept in found]

    def forget(self, names: Sequence[str]) -> None:
        """Remove the files of finished runs, also those that were set aside.

        Files that cannot be removed do no harm, so errors are ignored.
        """
        for name in names:
            for path in (self._path(name), self._aside(name)):
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    def _read(self, name: str) -> _Kept:
        """Return the content of a run's file; raise _UnusableError if it is damaged."""
        try:
            with self._explained(), safe_open(self._path(name), "pt") as file:
                metadata = file.metadata()
                state = [file.get_tensor(str(place)) for place in range(len(file.keys()))]
            header = json.loads(metadata["residuum"])
            is_sound = int(metadata["checksum"]) == _checksum(metadata["residuum"], state)
            kept = _Kept(int(header["epoch"]), _read_curves(header["curves"]), state)
            found = header["name"]
        except CheckpointError:
            raise
        except _DAMAGED as error:
            raise _UnusableError(f"{_UNREADABLE}: {_first_line(error)}") from error
        if not is_sound:
            raise _UnusableError("it is damaged: its checksum is not that of its content")
        if found != name:
            raise _UnusableError(f"it is of the run {found}")
        return kept

    def _set_aside(self, name: str, reason: str) -> None:
        with self._explained(), suppress(FileNotFoundError):  # another process has renamed it
            os.replace(self._path(name), self._aside(name))
            self._note(
                f"the checkpoint {self._path(name)} cannot be used: {reason}. The file is renamed "
                f"to {self._aside(name).name}, and its run starts again"
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise CheckpointError in place of OSError; a missing file is left to the caller."""
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise CheckpointError(
                f"{self.folder}: expected a folder in which checkpoints can be kept, found: "
                f"{error.strerror or error}. Free some space, change its permissions, or choose "
                "another store; then the same command continues from the last checkpoints"
            ) from error

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.safetensors"

    def _aside(self, name: str) -> Path:
        return self.folder / f"{name}.unusable"


def _read_curves(content: dict[str, Any]) -> Curves:
    """Return the curves of a header; raise one of `_DAMAGED` if they are none."""
    curves = Curves(**content)
    if curves.diverged is not None:
        curves.diverged = Divergence(**content["diverged"])
    return curves


def _check(kept: _Kept, training: Training, run: int) -> None:
    """Raise _UnusableError if a file cannot come from this run of this training."""
    if _layout(kept.state) != _layout([state[run] for state in training.state]):
        raise _UnusableError("its tensors are not those of this training")
    if not 1 <= kept.epoch <= training.epochs:
        raise _UnusableError(f"it is of epoch {kept.epoch}, not of 1 to {training.epochs}")
    last = kept.epoch - 1 if kept.curves.diverged else kept.epoch
    judged = [epoch for epoch in range(1, last + 1) if training.is_judged(epoch)]
    parts = dict.fromkeys(training.task.parts(run), kept.epoch)
    if _lengths(kept.curves.losses) != parts or kept.curves.judged != judged:
        raise _UnusableError("its losses are not those of this run")
    if any(length != len(judged) for length in _lengths(kept.curves.measures).values()):
        raise _UnusableError("its measures are not those of this run")


def _lengths(curves: Any) -> dict[str, int]:
    """Return the length of each curve; −1 for what is no list of numbers."""
    if not isinstance(curves, dict):
        return {"": -1}
    return {
        name: len(values) if isinstance(values, list) and _are_numbers(values) else -1
        for name, values in curves.items()
    }


def _are_numbers(values: list[Any]) -> bool:
    return all(type(value) in (int, float) for value in values)


def _checksum(header: str, tensors: Sequence[Tensor]) -> int:
    found = zlib.crc32(header.encode())
    for tensor in tensors:
        found = zlib.crc32(tensor.flatten().view(torch.uint8).numpy().data, found)
    return found


def _layout(tensors: Sequence[Tensor]) -> list[Any]:
    return [(tensor.shape, tensor.dtype) for tensor in tensors]


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
