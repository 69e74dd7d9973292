"""Disturbs studies and sweeps for an hour and checks that nothing is lost: `make soak`.

Each round uses the command line on a new store, and does one of these:

- kills: a study or a sweep is killed or interrupted at random moments until it is done;
- company: the same, while each call selects different runs;
- full disks: the store is on a small disk that grows until the study is done; skipped if mounting
  is not allowed;
- bits: bits of a finished store, an archive and a checkpoint are flipped, one at a time.

Results must equal those of an undisturbed run, a damaged file must be noticed, and no command may
end in a traceback. The first failure ends the soak with exit code 1 and keeps its folder.

    python benchmarks/soak.py --seconds 3600 --seed 0
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from residuum.errors import RecordError
from residuum.results import Record, Store, read_archive, write_archive

Content = dict[str, Any]
Command = tuple[str, ...]

# A kill may lose a minute of training, which would make a soak slow. So checkpoints come every
# second. Setting that needs an import before the command, and Ctrl-C is ignored during the import.
START = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
from residuum.study import running
running.BETWEEN_CHECKPOINTS = 1.0
from residuum.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
RESIDUUM = (sys.executable, "-c", START)

# Every run of a command has other shapes, so that each is trained alone: runs that are trained
# together agree only up to rounding, and the soak compares results bit by bit.
DIGITS = (
    *RESIDUUM, "study", "digits", "--digit-size", "40", "--pair-size", "64", "--seeds", "1",
    "--epochs", "12", "-r", "r-product", "--protocol", "joint", "--protocol", "pipeline",
)  # fmt: skip
CHUNKING = (
    *RESIDUUM, "study", "chunking", "--corpus", "sample", "-r", "s-product", "--seeds", "0",
    "--epochs", "6",
)  # fmt: skip
RULED = (*CHUNKING, "--constraints")
SWEEP = (*RESIDUUM, "sweep", "run", "sweep.toml")
SWEEP_FILE = """
study = "chunking"
seeds = [20]
final_seeds = [0]
[settings]
corpus = "sample"
constraints = true
hidden = 8
epochs = 4
[[each]]
relaxation = ["r-product"]
[space]
batch = [8, 16, 32]
"""
COMMANDS = {"digits": DIGITS, "chunking": RULED, "sweep": SWEEP}

FLIPS = 50
"""The number of bits that one round flips in a store, and in an archive."""


class FailureError(Exception):
    """A check of the soak failed; the message says which."""


def content(record: Record) -> Content:
    """Return the parts of a record that do not depend on the clock or the machine."""
    return {
        "id": record.id,
        "study": record.study,
        "configuration": dict(record.configuration),
        "measures": dict(record.measures),
        "curves": {
            name: (curve.epochs, str(curve.values)) for name, curve in record.curves.items()
        },
        "outcomes": {name: array.tobytes() for name, array in record.outcomes.items()},
    }


def contents(path: Path) -> dict[str, Content]:
    """Return the records of a store by id."""
    with Store(path) as store:
        return {record.id: content(record) for record in store}


class Soak:
    """Rounds of disturbances, each in a new folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self._seconds: dict[str, float] = {}
        self._expected = {name: self._undisturbed(name) for name in COMMANDS}

    def round(self, number: int) -> str:
        """Do one random round and return its name."""
        rounds: list[Callable[[Path], None]] = [
            self._kills, self._kills, self._company, self._full_disk, self._bits,
        ]  # fmt: skip
        chosen = self._random.choice(rounds)
        folder = self._new_folder(f"round-{number}")
        chosen(folder)
        shutil.rmtree(folder)
        return chosen.__name__.strip("_").replace("_", " ")

    def _new_folder(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir()
        (folder / "sweep.toml").write_text(SWEEP_FILE)
        return folder

    def _undisturbed(self, name: str) -> dict[str, Content]:
        folder, started = self._new_folder(name), time.monotonic()
        if self._call(COMMANDS[name], folder) != 0:
            raise FailureError(f"{name}: the undisturbed run failed")
        self._seconds[name] = time.monotonic() - started
        return contents(folder / "runs.sqlite")

    def _call(
        self, command: tuple[str, ...], folder: Path, *, patience: float | None = None
    ) -> int:
        """Run a command, end it after `patience` seconds, and return its exit code."""
        with tempfile.TemporaryFile() as said:
            child = subprocess.Popen(
                [*command, "--device", "cpu", "--store", str(folder / "runs.sqlite")],
                cwd=folder, stdout=subprocess.DEVNULL, stderr=said,
            )  # fmt: skip
            try:
                child.wait(patience)
            except subprocess.TimeoutExpired:
                how = self._random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT])
                child.send_signal(how)
                self.counts[f"{how.name}s"] += 1
                child.wait()
            said.seek(0)
            words = said.read().decode(errors="replace")
        if "Traceback" in words:
            raise FailureError(f"{' '.join(command[3:])}: a traceback:\n{words[-3000:]}")
        if child.returncode not in (0, 2, 130, -signal.SIGINT, -signal.SIGKILL):
            raise FailureError(f"{' '.join(command[3:])}: exit code {child.returncode}: {words}")
        return child.returncode

    def _patience(self, name: str) -> float:
        """Return a random number of seconds, at most the time of the undisturbed command."""
        return self._seconds[name] * self._random.uniform(0.1, 1.0)

    def _compare(self, name: str, folder: Path) -> None:
        if contents(folder / "runs.sqlite") != self._expected[name]:
            raise FailureError(f"{name}: the records differ from those of an undisturbed run")

    def _kills(self, folder: Path) -> None:
        name = self._random.choice(list(COMMANDS))
        while self._call(COMMANDS[name], folder, patience=self._patience(name)) != 0:
            pass
        self._compare(name, folder)

    def _company(self, folder: Path) -> None:
        choices: list[Command] = [(), ("--constraints",), ("--no-constraints",)]
        for _ in range(6):
            command = (*CHUNKING, *self._random.choice(choices))
            self._call(command, folder, patience=self._patience("chunking"))
        if self._call(CHUNKING, folder) != 0:
            raise FailureError("company: the study does not end")
        found = contents(folder / "runs.sqlite")
        if len(found) != 2 or not self._expected["chunking"].keys() <= found.keys():
            raise FailureError(f"company: expected two runs, found {sorted(found)}")
        for run, expected in self._expected["chunking"].items():
            if found[run]["curves"].keys() != expected["curves"].keys():
                raise FailureError(f"company: the curves of {run} depend on its company")

    def _full_disk(self, folder: Path) -> None:
        disk = folder / "disk"
        disk.mkdir()
        sizes = iter(range(self._random.randint(100, 30_000), 10**9, 12_000))
        with _mounted(disk, next(sizes)) as is_mounted:
            if not is_mounted:
                self.counts["disks that may not be mounted"] += 1
                return
            (disk / "sweep.toml").write_text(SWEEP_FILE)
            name = self._random.choice(list(COMMANDS))
            while (code := self._call(COMMANDS[name], disk)) != 0:
                if code != 2:
                    raise FailureError(f"full disk: exit code {code}")
                self.counts["full disks"] += 1
                subprocess.run(
                    ["mount", "-o", f"remount,size={next(sizes)}k", str(disk)], check=True
                )
            self._compare(name, disk)

    def _bits(self, folder: Path) -> None:
        name = self._random.choice(list(COMMANDS))
        whole = self._folder / name / "runs.sqlite"
        expected = self._expected[name]
        store, archive = folder / "flipped.sqlite", folder / "flipped.jsonl"
        with Store(whole) as opened:
            write_archive(archive, opened)
        lines = archive.read_bytes()
        for _ in range(FLIPS):
            for beside in folder.glob("flipped.sqlite*"):
                beside.unlink()
            store.write_bytes(self._flipped(whole.read_bytes()))
            self._read(expected, "store", lambda: contents(store))
            archive.write_bytes(self._flipped(lines))
            self._read(
                expected,
                "archive",
                lambda: {record.id: content(record) for record in read_archive(archive)},
            )
        self._damaged_checkpoint(folder)

    def _damaged_checkpoint(self, folder: Path) -> None:
        self._call(RULED, folder, patience=self._patience("chunking"))
        for path in folder.glob("runs.sqlite.checkpoints/*.safetensors"):
            path.write_bytes(self._flipped(path.read_bytes()))
            self.counts["damaged checkpoints"] += 1
        if self._call(RULED, folder) != 0:
            raise FailureError("a damaged checkpoint: the study does not end")
        self._compare("chunking", folder)

    def _flipped(self, given: bytes) -> bytes:
        changed = bytearray(given)
        changed[self._random.randrange(len(changed))] ^= 1 << self._random.randrange(8)
        return bytes(changed)

    def _read(
        self, expected: dict[str, Content], what: str, read: Callable[[], dict[str, Content]]
    ) -> None:
        """Read a damaged file. It must be refused with a RecordError, or have its old content."""
        try:
            found = read()
        except RecordError:
            self.counts[f"{what}s refused"] += 1
            return
        except Exception as error:
            raise FailureError(f"a flipped bit of a {what}: {error!r}") from error
        if found != expected:
            raise FailureError(f"a flipped bit of a {what} gives other content")
        self.counts[f"{what}s as they were"] += 1


@contextmanager
def _mounted(folder: Path, kilobytes: int) -> Iterator[bool]:
    """Mount a disk in memory, and yield whether mounting is allowed."""
    options = ["-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    done = subprocess.run(["mount", *options], capture_output=True, check=False)
    try:
        yield done.returncode == 0
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", str(folder)], check=True)


def main() -> int:
    """Run rounds for the given number of seconds and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    until = time.monotonic() + asked.seconds
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    print("the studies and the sweep, undisturbed …", flush=True)
    try:
        soak = Soak(folder, asked.seed)
        for number in count(1):
            print(f"round {number}: {soak.round(number)}", flush=True)
            if time.monotonic() >= until:
                break
    except FailureError as failure:
        print(f"FAILED: {failure}\nIts files are in {folder}")
        return 1
    print(json.dumps(dict(sorted(soak.counts.items())), indent=2))
    print(f"{number} rounds: nothing lost, no traceback, results equal")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
