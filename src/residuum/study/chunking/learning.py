"""What a stack of runs learns: tags, from labels and from rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

import torch
from torch import Tensor

from residuum.study.chunking.batches import Sentences, bucketed
from residuum.study.chunking.corpus import Corpus, Sentence
from residuum.study.chunking.knowledge import chunking_knowledge
from residuum.study.chunking.penalties import penalties
from residuum.study.chunking.predicting import likeliest, predict
from residuum.study.chunking.scoring import score
from residuum.study.chunking.settings import Settings
from residuum.study.chunking.splits import make_split
from residuum.study.chunking.taggers import Taggers
from residuum.study.chunking.vectors import WordVectors
from residuum.study.chunking.vocabulary import known_words, make_lexicon, share_unknown
from residuum.study.drawing import Indices
from residuum.training.rates import Rates, rates_of


@final
class ChunkingTask:
    """Taggers that learn the tags of their own sentences, judged by F1 on their own DEV."""

    def __init__(
        self,
        runs: Sequence[Settings],
        corpus: Corpus,
        vectors: WordVectors | None,
        device: torch.device,
    ) -> None:
        first = runs[0]
        self._runs = list(runs)
        self.corpus = corpus
        self.lexicon = make_lexicon(corpus)
        splits = [make_split(len(corpus.train), run.fraction, run.seed) for run in runs]
        train = [_chosen(corpus, split.train) for split in splits]
        self._dev = [_chosen(corpus, split.dev) for split in splits]
        self._device = device
        self._train = [Sentences(self.lexicon, part, device) for part in train]
        self._dev_numbers = [Sentences(self.lexicon, part, device) for part in self._dev]
        known = [torch.tensor(known_words(self.lexicon, part, vectors)) for part in train]
        self.taggers = Taggers(
            [run.seed for run in runs],
            torch.stack(known),
            None if vectors is None else _table(vectors, self.lexicon.words),
            cell=first.cell,
            hidden=first.hidden,
            device=device,
        )
        self.networks = {"Tag": self.taggers}
        self.steps = -(-len(self._train[0]) // first.batch)
        learnt = [chunking_knowledge(run.rules).rules for run in runs if run.constraints]
        self._parts = (
            "labels",
            *dict.fromkeys(name for rules in learnt for name in rules),
            "total",
        )
        self._epoch = 0
        self._batches: list[list[Tensor]] = []

    def unknown_words(self, run: int, sentences: Sequence[Sentence]) -> float:
        """Return how many words of sentences a run does not know, in percent."""
        return share_unknown(self.lexicon, self.taggers.known[run].cpu().numpy(), sentences)

    def begin(self, epoch: int) -> None:
        """Order the sentences anew."""
        self._epoch = epoch
        self._batches = [
            bucketed(part.lengths, run.batch, run.seed, epoch)
            for run, part in zip(self._runs, self._train, strict=True)
        ]

    def losses(self, step: Tensor) -> Mapping[str, Tensor]:
        """Return the parts of the loss of a step, one number per run; NaN for what it lacks."""
        number = int(step)
        moment = self._epoch * self.steps + number
        found = []
        for place, run in enumerate(self._runs):
            batch = self._train[place].batch(self._batches[place][number])
            found.append(
                penalties(
                    run.relaxation_at(self._epoch),
                    self.taggers(place, batch, moment),
                    batch.tags,
                    batch.lengths,
                    rules=run.rules,
                    weight=run.weight_at(self._epoch),
                )
            )
        missing = torch.tensor(torch.nan, device=self._device)
        return {
            name: torch.stack([parts.get(name, missing) for parts in found]) for name in self._parts
        }

    def rates(self, epoch: int) -> Mapping[str, Rates]:
        """Return the learning rates of an epoch."""
        return {"Tag": rates_of(self._runs, epoch, self.steps)}

    def judge(self) -> Mapping[str, Tensor]:
        """Return the F1 of the likeliest tags on DEV, in percent."""
        found = []
        for run, (sentences, numbers) in enumerate(zip(self._dev, self._dev_numbers, strict=True)):
            gold = [sentence.tags for sentence in sentences]
            tags = predict(self.taggers, run, numbers, likeliest)
            found.append(score(gold, tags).overall.f1)
        f1 = torch.tensor(found, dtype=torch.float64)
        return {"f1": f1, "score": f1}


def _chosen(corpus: Corpus, places: Indices) -> list[Sentence]:
    return [corpus.train[place] for place in places]


def _table(vectors: WordVectors, words: Mapping[str, int]) -> Tensor:
    """Return the vectors by the numbers of words, NaN for those without one."""
    table = torch.full((len(words) + 1, vectors.dimension), torch.nan)
    for word, vector in zip(vectors.words, torch.tensor(vectors.numbers), strict=True):
        if word in words:
            table[words[word]] = vector
    return table
