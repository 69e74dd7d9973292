"""Runs of the digits study that take a fraction of a second; also as a program that is killed.

The program trains them in forked processes, on one store, that are killed at random moments
until one of them finishes, and at last in two at once. It prints what became of them.
"""

import json
import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

from residuum.results.encoding import to_line
from residuum.results.store import Store
from residuum.study import running as any_running
from residuum.study.digits import running
from residuum.study.digits.images import load_images
from residuum.study.digits.sets import make_sets
from residuum.study.digits.settings import Settings

JOINT = Settings(
    images="embedded", relaxation="r-product", digit_size=16, pair_size=12, seed=0, epochs=4,
    batch=8, learning_rate=0.01, weight=0.1, judge_every=2, judge_pairs=10, precision="float64",
)  # fmt: skip
PIPELINE = replace(JOINT, protocol="pipeline", digit_epochs=3, digit_rate=0.02, judge_every=1)
RUNS = [
    JOINT,
    replace(JOINT, relaxation="s-godel", warm_up=1, warm_up_rate=0.01, freeze=True, seed=20),
    replace(JOINT, optimiser="adam", learning_rate=0.001),
    replace(PIPELINE, relaxation="lukasiewicz-maxsat"),
    replace(PIPELINE, seed=20),
]


def small_sets(name, digit_size, pair_size, pool):
    """The sets of a run, with little to be judged and measured by."""
    sets = make_sets(load_images(name), digit_size, pair_size, pool)
    few = {
        name: getattr(sets, name)[:8].copy()
        for name in ("pair_test", "commutativity", "associativity", "distributivity")
    }
    dev = sets.dev[:20].copy()
    return replace(sets, dev=dev, pair_dev=dev[:10].reshape(5, 2).copy(), **few)


class Silent:
    """A watcher that keeps the ids it is told."""

    def __init__(self):
        self.over = []

    def stack_starts(self, runs):
        pass

    def epoch_is_over(self, stage, epoch, curves):
        pass

    def run_is_over(self, record):
        self.over.append(record.id)


def train(runs, store, watch=None, **others):
    running.run_all(runs, store, device=torch.device("cpu"), watch=watch or Silent(), **others)


def content(record):
    """All of a record but what depends on the clock and the company."""
    known = json.loads(to_line(record))
    known.pop("seconds")
    known.pop("environment")
    return known


def start(path, runs):
    child = os.fork()
    if child == 0:
        try:
            with Store(path) as store:
                train(runs, store)
            os._exit(0)
        finally:
            os._exit(1)
    return child


def main(folder):
    torch.set_num_threads(1)
    runs = RUNS[1:4]
    running.sets_of = small_sets
    any_running.BETWEEN_CHECKPOINTS = 0.0
    with Store(Path(folder) / "expected.sqlite") as store:
        train(runs, store)
        expected = [content(record) for record in store]
    chance = random.Random(20)
    path, kills = Path(folder) / "killed.sqlite", 0
    while True:
        child = start(path, runs)
        time.sleep(chance.uniform(0.05, 0.3))
        os.kill(child, signal.SIGKILL)
        if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
            break
        kills += 1
        if kills % 4 == 0:  # on a slow machine it may never get far enough
            os.waitpid(start(path, runs[: kills // 4]), 0)
    shared = Path(folder) / "shared.sqlite"
    children = [start(shared, runs), start(shared, runs[:0:-1])]
    exits = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    found = []
    for kept in (path, shared):
        with Store(kept) as store:
            found.append([content(record) for record in store])
    left = [str(file) for file in Path(folder).rglob("*.safetensors")]
    print(json.dumps([expected, *found, kills, exits, left]))


if __name__ == "__main__":
    main(sys.argv[1])
