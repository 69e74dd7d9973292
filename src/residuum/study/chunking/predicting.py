"""The tags that trained taggers give to sentences, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import torch
from torch import Tensor

from residuum.study.chunking.batches import Sentences, all_batches
from residuum.study.chunking.taggers import Taggers

TOGETHER: Final = 256
"""Sentences that are tagged at once by each run."""


class Tagged(NamedTuple):
    """Logits (runs, sentences, positions, tags), and what the sentences are like for each run."""

    logits: Tensor
    gold: Tensor
    lengths: Tensor
    places: Tensor

    @property
    def likeliest(self) -> Tensor:
        """The likeliest tag of each word by itself."""
        return self.logits.argmax(-1)


@torch.no_grad()
def tag(taggers: Taggers, parts: Sequence[Sentences], readers: Tensor) -> Iterator[Tagged]:
    """Yield what runs make of all sentences of the parts that they read."""
    device = taggers.seeds.device
    of_run = readers.cpu()
    for batch in all_batches(parts, TOGETHER, device):
        yield Tagged(
            taggers(batch, readers),
            batch.tags[of_run].to(device),
            batch.lengths[of_run].to(device),
            batch.places[of_run],
        )
