"""A training that takes no time: DEV is a formula of the settings, and TEST is not looked at.

As a program it runs a sweep in processes that are killed at random moments, until one is done.
"""

import json
import math
import os
import random
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import torch

from residuum.results import Curve, Record, Store
from residuum.study.digits.settings import TUNING
from residuum.study.running import id_of
from residuum.sweeps import read_sweep
from residuum.sweeps.running import run_sweep
from residuum.sweeps.tuned_studies import TUNED

SWEEP = """
study = "digits"
seeds = [1, 2]
final_seeds = [0, 20, 50]
{more}
[settings]
images = "embedded"
digit_size = 20
pair_size = 40
epochs = 9
[[each]]
relaxation = ["r-product", "s-product"]
[space]
{space}
[final]
epochs = 12
"""
GRID = "learning_rate = [0.1, 0.01, 0.001]\nweight = [0.5, 1, 2]"
RANGES = "learning_rate = {low = 0.001, high = 0.1, log = true}\nbatch = {low = 8, high = 64}"


def dev(settings):
    """The score of a run: a bump that each relaxation has elsewhere, higher with more epochs."""
    peak = {"r-product": -2.0, "s-product": -3.0}[settings.relaxation]
    distance = abs(math.log10(settings.learning_rate) - peak) + abs(settings.weight - 1.0)
    return 90.0 - 10 * distance - settings.batch / 100 + settings.seed / 10 - 1 / settings.epochs


def write(folder, space=GRID, more=""):
    path = Path(folder) / "sweep.toml"
    path.write_text(SWEEP.format(space=space, more=more))
    return path


def without_pauses_of_optuna(monkeypatch):
    """Optuna waits for up to two seconds before it tries again to write a new trial."""
    from optuna.storages._rdb import storage

    monkeypatch.setattr(storage, "time", SimpleNamespace(sleep=lambda _seconds: None))


class Training:
    """Adds records to a store, and remembers what it trained; stops after so many if asked."""

    def __init__(self, store, most=None, kill=lambda: None):
        self.store, self.most, self.kill = store, most, kill
        self.trained = []

    def __call__(self, experiment, runs):
        for run in runs:
            if id_of(experiment, run) in self.store:
                continue
            if len(self.trained) == self.most:
                raise KeyboardInterrupt
            self.kill()
            self.trained.append((experiment.name, run))
            is_tuning = experiment.name == TUNING
            curves = {
                "joint: dev/score": Curve([run.epochs], [dev(run)]),
                "joint: selected": Curve([run.epochs], [float(run.epochs)]),
            }
            measures = {} if is_tuning else {"coherence": dev(run)}
            record = Record(
                experiment.name, experiment.scheme, run.configuration, measures, curves, {}, 1.0, {}
            )
            self.store.add(record)


def sweep_in(path, store, most=None, kill=lambda: None):
    sweep = read_sweep(path)
    data = TUNED["digits"].load(sweep.settings, torch.device("cpu"))
    training = Training(store, most, kill)
    try:
        return run_sweep(sweep, data, store, training), training.trained
    except KeyboardInterrupt:
        return None, training.trained


def main(path, store):
    """Print how often a sweep was killed, and who won in the end."""
    with Store(f"{store}.unhindered") as opened:  # so that all is imported before the first fork
        sweep_in(Path(path), opened)
    kills = 0
    while (child := os.fork()) != 0:
        if os.waitpid(child, 0)[1] == 0:
            return print(json.dumps(kills))
        kills += 1
    try:
        chance = random.Random(os.getpid())

        def kill():
            if chance.random() < 0.08:
                os.kill(os.getpid(), signal.SIGKILL)

        with Store(store) as opened:
            winners, _ = sweep_in(Path(path), opened, kill=kill)
        print(json.dumps([[dict(one.settings), one.value] for one in winners]), flush=True)
        os._exit(0)
    finally:
        os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
