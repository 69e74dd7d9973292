"""Training in forked processes, on one store, that are killed at random moments.

That goes on until one of them finishes; at last two train at once. `Silent` is a watcher that
keeps the ids and the notes it is told.
"""

import json
import os
import random
import signal
import time
from pathlib import Path

import torch

from residuum.results.encoding import to_line
from residuum.results.store import Store
from residuum.study import running


class Silent:
    def __init__(self):
        self.over = []
        self.notes = []

    def stack_starts(self, runs):
        pass

    def epoch_is_over(self, stage, epoch, curves):
        pass

    def run_is_over(self, record):
        self.over.append(record.id)

    def note(self, message):
        self.notes.append(message)


class StopError(Exception):
    pass


class Stopping(Silent):
    """Raises when a stage has reached an epoch, or when so many runs are over."""

    def __init__(self, stage=None, epoch=None, runs=None):
        super().__init__()
        self.when = stage, epoch
        self.runs = runs

    def epoch_is_over(self, stage, epoch, curves):
        going_on = [one for one in curves if one.diverged is None]
        assert {len(values) for one in going_on for values in one.losses.values()} == {epoch}
        if (stage.name, epoch) == self.when:
            raise StopError

    def run_is_over(self, record):
        super().run_is_over(record)
        if len(self.over) == self.runs:
            raise StopError


def content(record):
    """All of a record but what depends on the clock and the company."""
    known = json.loads(to_line(record))
    for name in ("seconds", "environment", "checksum"):
        known.pop(name)
    return known


def start(train, path, runs):
    child = os.fork()
    if child == 0:
        try:
            with Store(path) as store:
                train(runs, store)
            os._exit(0)
        finally:
            os._exit(1)
    return child


def try_hard(folder, train, runs):
    """Print what becomes of runs: unhindered, killed, two at once, and what is left on disk."""
    torch.set_num_threads(1)
    running.BETWEEN_CHECKPOINTS = 0.0
    with Store(Path(folder) / "expected.sqlite") as store:
        train(runs, store)
        expected = [content(record) for record in store]
    chance = random.Random(20)
    path, kills = Path(folder) / "killed.sqlite", 0
    while True:
        child = start(train, path, runs)
        time.sleep(chance.uniform(0.05, 0.3))
        os.kill(child, signal.SIGKILL)
        if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
            break
        kills += 1
        if kills % 4 == 0:  # on a slow machine it may never get far enough
            os.waitpid(start(train, path, runs[: kills // 4]), 0)
    shared = Path(folder) / "shared.sqlite"
    children = [start(train, shared, runs), start(train, shared, runs[:0:-1])]
    exits = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    found = []
    for kept in (path, shared):
        with Store(kept) as store:
            found.append([content(record) for record in store])
    left = [str(file) for file in Path(folder).rglob("*.safetensors")]
    print(json.dumps([expected, *found, kills, exits, left]))
