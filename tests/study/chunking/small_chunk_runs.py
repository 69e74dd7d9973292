"""Runs of the chunking study that take a fraction of a second; also as a program that is killed."""

import sys
from dataclasses import replace

import torch

from killed_training import Silent, try_hard
from residuum.study import running
from residuum.study.chunking.data.corpus import Corpus, load_corpus
from residuum.study.chunking.experiment import Chunking
from residuum.study.chunking.settings import STUDY, Settings

SAMPLE = load_corpus("sample")
FEW = Corpus("sample", SAMPLE.train[:24], SAMPLE.test[:6])
RUN = Settings(
    corpus="sample", relaxation="s-product", constraints=True, seed=0, hidden=8, epochs=4,
    batch=8, learning_rate=0.01,
)  # fmt: skip
# Of different shapes: none is trained beside another, so that not a bit depends on the company.
RUNS = [RUN, replace(RUN, constraints=False, hidden=6), replace(RUN, cell="gru", seed=20)]


def train(runs, store, watch=None, name=STUDY):
    experiment = Chunking(FEW, None, torch.device("cpu"), name)
    running.run_all(experiment, runs, store, watch=watch or Silent())


def id_of(run, name=STUDY):
    return running.id_of(Chunking(FEW, None, torch.device("cpu"), name), run)


if __name__ == "__main__":
    try_hard(sys.argv[1], train, RUNS)
