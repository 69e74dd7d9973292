"""Runs of the digits study that take a fraction of a second; also as a program that is killed."""

import sys
from dataclasses import replace

import torch

from killed_training import Silent, try_hard
from residuum.study import running
from residuum.study.digits import experiment
from residuum.study.digits.data.images import load_images
from residuum.study.digits.data.sets import make_sets
from residuum.study.digits.experiment import Digits
from residuum.study.digits.settings import STUDY, Settings

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


def train(runs, store, watch=None, study=STUDY, **others):
    digits = Digits(torch.device("cpu"), study)
    running.run_all(digits, runs, store, watch=watch or Silent(), **others)


def id_of(run, study=STUDY):
    return running.id_of(Digits(torch.device("cpu"), study), run)


if __name__ == "__main__":
    experiment._sets = small_sets
    try_hard(sys.argv[1], train, RUNS[1:4])
