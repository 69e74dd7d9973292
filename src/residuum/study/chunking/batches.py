"""Sentences as tensors, and which of them each step sees: those of like length together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, final

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from residuum.losses.labelled_data import IGNORED
from residuum.study.chunking.corpus import Sentence
from residuum.study.chunking.knowledge import tag_names
from residuum.study.chunking.vocabulary import END, UNKNOWN, Lexicon
from residuum.training.randomness import permutations, purpose

POOL: Final = 20
"""Batches' worth of sentences that are sorted by length at a time: fewer mix more lengths."""


class Batch(NamedTuple):
    """Sentences side by side, the longest first: tensors (sentences, positions).

    `spellings` has the characters of each form in the batch, and `forms` says which is where.
    Beyond the `lengths`, which stay on the CPU, tags state nothing. `places` are those of the
    sentences in their part of the corpus.
    """

    places: Tensor
    words: Tensor
    forms: Tensor
    spellings: Tensor
    tags: Tensor
    lengths: Tensor


@final
class Sentences:
    """The sentences of one part of a corpus as numbers."""

    def __init__(
        self, lexicon: Lexicon, sentences: Sequence[Sentence], device: torch.device
    ) -> None:
        index = {tag: number for number, tag in enumerate(tag_names())}
        numbers = [lexicon.numbers(sentence) for sentence in sentences]
        self._device = device
        self._spellings = torch.tensor(lexicon.spellings)
        self._words = _padded([words for words, _ in numbers], UNKNOWN)
        self._forms = _padded([forms for _, forms in numbers], 0)
        self._tags = _padded([[index[tag] for tag in one.tags] for one in sentences], IGNORED)
        self.lengths = torch.tensor([len(sentence.words) for sentence in sentences])

    def __len__(self) -> int:
        return len(self.lengths)

    def all_batches(self, size: int) -> Iterator[Batch]:
        """Yield all sentences, those of like length together."""
        for places in torch.split(self.lengths.argsort(stable=True), size):
            yield self.batch(places)

    def batch(self, places: Tensor) -> Batch:
        """Return some of the sentences on the device."""
        places = places[self.lengths[places].argsort(descending=True, stable=True)]
        lengths = self.lengths[places]
        longest = int(lengths[0])
        distinct, forms = torch.unique(self._forms[places, :longest], return_inverse=True)
        spellings = self._spellings[distinct]
        spellings = spellings[:, : int((spellings != END).sum(1).max())].long()
        words, tags = self._words[places, :longest], self._tags[places, :longest]
        words, forms, spellings, tags = (
            one.to(self._device) for one in (words, forms, spellings, tags)
        )
        return Batch(places, words, forms, spellings, tags, lengths)


def bucketed(lengths: Tensor, size: int, seed: int, epoch: int) -> list[Tensor]:
    """Return the places of all sentences in batches, in an order of the seed's and the epoch's.

    Sentences are shuffled, sorted by length within pools, cut into batches, and the batches
    shuffled.
    """
    order = _shuffled(len(lengths), "sentences", seed, epoch)
    pools = [pool[lengths[pool].argsort(stable=True)] for pool in torch.split(order, POOL * size)]
    batches = [batch for pool in pools for batch in torch.split(pool, size)]
    return [batches[place] for place in _shuffled(len(batches), "batches", seed, epoch).tolist()]


def _shuffled(count: int, name: str, seed: int, epoch: int) -> Tensor:
    return permutations(count, *map(torch.tensor, (seed, purpose(name), epoch)))


def _padded(rows: list[list[int]], value: int) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=value)
