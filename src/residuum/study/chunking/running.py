"""Runs of the chunking study: how a stack of them is trained and measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import torch

from residuum.errors import ResiduumError
from residuum.results.records import Record, run_id
from residuum.study.chunking.batches import Sentences
from residuum.study.chunking.corpus import Corpus
from residuum.study.chunking.learning import ChunkingTask
from residuum.study.chunking.measures import Measured, measure
from residuum.study.chunking.settings import SCHEME, STUDY, TUNING, Settings
from residuum.study.chunking.vectors import WordVectors
from residuum.study.running import Finish, Result, finish_at_once, make_records
from residuum.training.tasks import Training

STAGE: Final = "Tag"


@final
@dataclass(frozen=True, eq=False)
class Chunking:
    """The chunking study, with word vectors or without; for tuning, TEST is not looked at."""

    corpus: Corpus
    vectors: WordVectors | None
    device: torch.device
    name: str = STUDY
    scheme: int = SCHEME

    def stages(self, _run: Settings) -> Sequence[str]:
        """Return the name of the one training of a run."""
        return (STAGE,)

    def perform(self, runs: Sequence[Settings], finish: Finish) -> Sequence[Result]:
        """Train and measure runs that share their shapes."""
        self._check(runs)
        first = runs[0]
        task = ChunkingTask(runs, self.corpus, self.vectors, self.device)
        training = Training(
            task,
            first.optimiser,
            epochs=first.epochs,
            judge_every=first.judge_every,
            clip=first.clip,
        )
        curves = finish(training, STAGE)
        measured = [Measured({}, {}) for _ in runs]
        if self.name != TUNING:
            measured = self._measure(task, runs)
        return [
            Result(found.measures, mine, found.outcomes)
            for found, mine in zip(measured, curves, strict=True)
        ]

    def _measure(self, task: ChunkingTask, runs: Sequence[Settings]) -> list[Measured]:
        test = Sentences(task.lexicon, self.corpus.test)
        found = measure(task.taggers, test, [run.rules for run in runs])
        for place, one in enumerate(found):
            one.measures["unknown_words"] = task.unknown_words(place, self.corpus.test)
        return found

    def _check(self, runs: Sequence[Settings]) -> None:
        """Refuse runs that cannot be trained together, or were meant for other data."""
        if len({run.stack for run in runs}) != 1:
            raise ResiduumError("expected runs that differ in nothing that decides their shapes")
        named = None if self.vectors is None else self.vectors.name
        if (runs[0].corpus, runs[0].embeddings) != (self.corpus.name, named):
            raise ResiduumError(
                f"expected the corpus {runs[0].corpus} and the vectors {runs[0].embeddings}, as "
                f"the settings say, got {self.corpus.name} and {named}"
            )


def id_of(settings: Settings, study: str = STUDY) -> str:
    """Return the name of a run in the store."""
    return run_id(study, settings.configuration, SCHEME)


def train_and_measure(
    runs: Sequence[Settings],
    corpus: Corpus,
    vectors: WordVectors | None = None,
    *,
    device: torch.device,
) -> list[Record]:
    """Train runs that share their shapes together; measure each in its best state on TEST."""
    return make_records(Chunking(corpus, vectors, device), runs, finish_at_once)
