"""The chunking study as an experiment: its data, its one stage, and how runs are measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import torch

from residuum.errors import ResiduumError
from residuum.results.records import Record
from residuum.study.chunking.data.batches import Sentences
from residuum.study.chunking.data.corpus import Corpus
from residuum.study.chunking.data.vectors import WordVectors
from residuum.study.chunking.measures import measure
from residuum.study.chunking.settings import SCHEME, STUDY, TUNING, Settings
from residuum.study.chunking.task import ChunkingTask
from residuum.study.running import Measured, finish_at_once, make_records
from residuum.training.loop import Training

STAGE: Final = "Tag"
"""The name of the only training of a run."""


@final
@dataclass(frozen=True, eq=False)
class Chunking:
    """The chunking study on one corpus. Under the name `TUNING`, runs are not measured on TEST."""

    corpus: Corpus
    vectors: WordVectors | None
    device: torch.device
    name: str = STUDY
    scheme: int = SCHEME

    def stages(self, _run: Settings) -> Sequence[str]:
        """Return the name of the only training of a run."""
        return (STAGE,)

    def curve_name(self, _stage: str, curve: str) -> str:
        """Return the name of a curve in records; one stage needs no prefix."""
        return curve

    def prepare(self, runs: Sequence[Settings]) -> StackOfTaggers:
        """Build the taggers and the sentences of each run."""
        self._check(runs)
        task = ChunkingTask(runs, self.corpus, self.vectors, self.device)
        return StackOfTaggers(runs, task, is_tuning=self.name == TUNING)

    def _check(self, runs: Sequence[Settings]) -> None:
        """Raise if the runs cannot be trained together, or their settings name other data."""
        if len({run.stack for run in runs}) != 1:
            raise ResiduumError(
                "expected runs with equal `stack` settings, got different ones; train them apart"
            )
        named = None if self.vectors is None else self.vectors.name
        if (runs[0].corpus, runs[0].embeddings) != (self.corpus.name, named):
            raise ResiduumError(
                f"expected the corpus {runs[0].corpus} and the vectors {runs[0].embeddings}, as "
                f"the settings say, got {self.corpus.name} and {named}; change one of both"
            )


@final
class StackOfTaggers:
    """Runs of the chunking study that are trained together."""

    def __init__(self, runs: Sequence[Settings], task: ChunkingTask, *, is_tuning: bool) -> None:
        self._runs = runs
        self._task = task
        self._is_tuning = is_tuning

    def training(self, _stage: str) -> Training:
        """Return the only training of the runs."""
        first = self._runs[0]
        return Training(
            self._task,
            first.optimiser,
            epochs=first.epochs,
            judge_every=first.judge_every,
            clip=[run.clip for run in self._runs],
        )

    def measure(self) -> list[Measured]:
        """Measure each run on TEST; in tuning return no measures."""
        if self._is_tuning:
            return [Measured({}, {}) for _ in self._runs]
        test = self._task.corpus.test
        sentences = Sentences(self._task.lexicon, test)
        found = measure(self._task.taggers, sentences, [run.rules for run in self._runs])
        return [
            Measured(
                {**one.measures, "unknown_words": self._task.unknown_words(run, test)},
                one.outcomes,
            )
            for run, one in enumerate(found)
        ]


def train_and_measure(
    runs: Sequence[Settings],
    corpus: Corpus,
    vectors: WordVectors | None = None,
    *,
    device: torch.device,
) -> list[Record]:
    """Train runs that share their shapes together, and measure each in its best state on TEST."""
    return make_records(Chunking(corpus, vectors, device), runs, finish_at_once)
