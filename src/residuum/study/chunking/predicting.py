"""The tags that trained taggers give to sentences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

from residuum.study.chunking.batches import Sentences
from residuum.study.chunking.knowledge import tag_names
from residuum.study.chunking.taggers import Taggers

TOGETHER: Final = 256
"""Sentences that are tagged at once."""

Decoder = Callable[[Tensor, Tensor], Tensor]
"""Makes tags (sentences, positions) of logits and lengths."""


def likeliest(logits: Tensor, lengths: Tensor) -> Tensor:  # noqa: ARG001  # a Decoder
    """Return the likeliest tag of each word by itself."""
    return logits.argmax(-1)


@torch.no_grad()
def predict(taggers: Taggers, run: int, sentences: Sentences, decoder: Decoder) -> list[list[str]]:
    """Return the names of the tags of each sentence."""
    names = tag_names()
    found: list[list[str]] = [[] for _ in range(len(sentences))]
    for batch in sentences.all_batches(TOGETHER):
        tags = decoder(taggers(run, batch), batch.lengths).tolist()
        for place, row, length in zip(
            batch.places.tolist(), tags, batch.lengths.tolist(), strict=True
        ):
            found[place] = [names[tag] for tag in row[:length]]
    return found
