"""Sentences as tensors, and which of them each step of training sees.

A reader is a set of sentences that runs with the same seed share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, final

import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence

from residuum.losses.inputs.evidence import IGNORED
from residuum.study.chunking.data.corpus import Sentence
from residuum.study.chunking.data.vocabulary import END, UNKNOWN, Lexicon
from residuum.study.chunking.knowledge import tag_names
from residuum.training.randomness import permutations, purpose

POOL: Final = 20
"""Batches in a pool, within which sentences are sorted by length."""


class Batch(NamedTuple):
    """Padded sentences of several readers, of the shape (readers, sentences, positions).

    `spellings` holds the characters of each distinct form that a reader sees, and `forms` the
    index of a form at each position. Beyond the `lengths`, tags are ignored. `places` holds the
    indices of the sentences in their part of the corpus. The inputs of a tagger are on the
    device, everything else is on the CPU.
    """

    places: Tensor
    words: Tensor
    forms: Tensor
    spellings: Tensor
    tags: Tensor
    lengths: Tensor


@final
class Sentences:
    """The sentences of one part of a corpus as padded tensors of word and tag numbers."""

    def __init__(self, lexicon: Lexicon, sentences: Sequence[Sentence]) -> None:
        index = {tag: number for number, tag in enumerate(tag_names())}
        numbers = [lexicon.numbers(sentence) for sentence in sentences]
        self.spellings = torch.tensor(lexicon.spellings)
        self.words = _padded([words for words, _ in numbers], UNKNOWN)
        self.forms = _padded([forms for _, forms in numbers], 0)
        self.tags = _padded([[index[tag] for tag in one.tags] for one in sentences], IGNORED)
        self.lengths = torch.tensor([len(sentence.words) for sentence in sentences])

    def __len__(self) -> int:
        return len(self.lengths)


def make_batch(parts: Sequence[Sentences], places: Sequence[Tensor], device: torch.device) -> Batch:
    """Pad sentences of each reader to one batch; every reader has the same number of them."""
    lengths = torch.stack([part.lengths[some] for part, some in zip(parts, places, strict=True)])
    longest = int(lengths.max())

    def cut(rows: Tensor, value: int) -> Tensor:
        return pad(rows[:, :longest], (0, max(0, longest - rows.shape[1])), value=value)

    words, tags, forms, spellings = [], [], [], []
    for part, some in zip(parts, places, strict=True):
        words.append(cut(part.words[some], UNKNOWN))
        tags.append(cut(part.tags[some], IGNORED))
        distinct, where = torch.unique(cut(part.forms[some], 0), return_inverse=True)
        forms.append(where)
        spellings.append(part.spellings[distinct])
    spelt = pad_sequence(spellings, batch_first=True, padding_value=END)
    width = int((spelt != END).sum(-1).max())
    return Batch(
        torch.stack(list(places)),
        torch.stack(words).to(device),
        torch.stack(forms).to(device),
        spelt[..., :width].to(device),
        torch.stack(tags),
        lengths,
    )


def all_batches(parts: Sequence[Sentences], size: int, device: torch.device) -> Iterator[Batch]:
    """Yield all sentences of parts of equal size in batches of similar length."""
    orders = [part.lengths.argsort(stable=True) for part in parts]
    for places in zip(*(torch.split(order, size) for order in orders), strict=True):
        yield make_batch(parts, places, device)


def bucketed(lengths: Tensor, size: int, seed: int, epoch: int) -> list[Tensor]:
    """Return the indices of all sentences in batches, by seed and epoch.

    Sentences are shuffled, sorted by length within pools, and cut into batches, which are then
    shuffled. All seeds shuffle the batches alike, so that a step has similar lengths for all.
    """
    order = _shuffled(len(lengths), "sentences", seed, epoch)
    pools = [pool[lengths[pool].argsort(stable=True)] for pool in torch.split(order, POOL * size)]
    batches = [batch for pool in pools for batch in torch.split(pool, size)]
    return [batches[place] for place in _shuffled(len(batches), "batches", 0, epoch).tolist()]


def sampled(count: int, among: int, seed: int, epoch: int) -> Tensor:
    """Return `count` random indices for an epoch; no index occurs twice before all are used."""
    return _shuffled(among, "unlabelled", seed, epoch).repeat(-(-count // among))[:count]


def _shuffled(count: int, name: str, seed: int, epoch: int) -> Tensor:
    return permutations(count, *map(torch.tensor, (seed, purpose(name), epoch)))


def _padded(rows: list[list[int]], value: int) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=value)
