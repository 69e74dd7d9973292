"""Runs of the chunking study: trained in stacks, measured, and turned into records."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import torch

from residuum.errors import ResiduumError
from residuum.results.records import Curve, Record, run_id
from residuum.study.chunking.batches import Sentences
from residuum.study.chunking.corpus import Corpus
from residuum.study.chunking.learning import ChunkingTask
from residuum.study.chunking.measures import measure
from residuum.study.chunking.settings import SCHEME, Settings
from residuum.study.chunking.vectors import WordVectors
from residuum.training.environments import environment
from residuum.training.tasks import Training, Watcher

STUDY: Final = "chunking"


def id_of(settings: Settings) -> str:
    """Return the name of a run in the store."""
    return run_id(STUDY, settings.configuration, SCHEME)


def train_and_measure(
    runs: Sequence[Settings],
    corpus: Corpus,
    vectors: WordVectors | None = None,
    *,
    device: torch.device,
    watch: Watcher | None = None,
) -> list[Record]:
    """Train runs that share their shapes together; measure each in its best state on TEST."""
    _check(runs, corpus, vectors)
    started = time.monotonic()
    first = runs[0]
    task = ChunkingTask(runs, corpus, vectors, device)
    training = Training(
        task, first.optimiser, epochs=first.epochs, judge_every=first.judge_every, clip=first.clip
    )
    training.run(watch)
    training.best.restore()
    test = Sentences(task.lexicon, corpus.test)
    measured = measure(task.taggers, test, [run.rules for run in runs])
    seconds = (time.monotonic() - started) / len(runs)
    return [
        Record(
            study=STUDY,
            scheme=SCHEME,
            configuration=run.configuration,
            measures={**found.measures, "unknown_words": task.unknown_words(place, corpus.test)},
            curves={
                **training.curves.of_run(place),
                "selected": Curve([first.epochs], [float(training.best.epochs[place])]),
            },
            outcomes=found.outcomes,
            seconds=seconds,
            environment=environment(device, len(runs)),
        )
        for place, (run, found) in enumerate(zip(runs, measured, strict=True))
    ]


def _check(runs: Sequence[Settings], corpus: Corpus, vectors: WordVectors | None) -> None:
    """Refuse runs that cannot be trained together, or were meant for other data."""
    if len({run.stack for run in runs}) != 1:
        raise ResiduumError("expected runs that differ in nothing that decides their shapes")
    named = None if vectors is None else vectors.name
    if (runs[0].corpus, runs[0].embeddings) != (corpus.name, named):
        raise ResiduumError(
            f"expected the corpus {runs[0].corpus} and the vectors {runs[0].embeddings}, as the "
            f"settings say, got {corpus.name} and {named}"
        )
