"""Chunks of many sentences at once: the counts of `scoring`, for tensors of tags."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from residuum.study.chunking.knowledge import tag_names

NONE = -1
"""The kind of a word that is in no chunk."""


class Counts(NamedTuple):
    """By sentence and by kind of chunk, (…, sentences, kinds); of tags by sentence."""

    correct: Tensor
    guessed: Tensor
    gold: Tensor
    right_tags: Tensor


class _Chunks(NamedTuple):
    """Where chunks start, of which kind, and where they end: all by position."""

    starts: Tensor
    kinds: Tensor
    ends: Tensor


def chunk_kinds() -> tuple[str, ...]:
    """Return the kinds of chunks, in the order in which they are counted."""
    return tuple(sorted({name[2:] for name in tag_names() if name != "O"}))


def count_chunks(gold: Tensor, predicted: Tensor, lengths: Tensor) -> Counts:
    """Count chunks of tags (…, sentences, positions) up to the lengths (…, sentences)."""
    positions = torch.arange(predicted.shape[-1], device=predicted.device)
    is_inside = positions < lengths.unsqueeze(-1)
    there, guessed = _chunks(gold, is_inside), _chunks(predicted, is_inside)
    agree = (
        there.starts
        & guessed.starts
        & (there.kinds == guessed.kinds)
        & (there.ends == guessed.ends)
    )
    return Counts(
        _by_kind(agree, there.kinds),
        _by_kind(guessed.starts, guessed.kinds),
        _by_kind(there.starts, there.kinds),
        ((gold == predicted) & is_inside).sum(-1),
    )


def _chunks(tags: Tensor, is_inside: Tensor) -> _Chunks:
    kind_of, begins = (table.to(tags.device) for table in _tables())
    kinds = kind_of[tags.clamp(min=0)].masked_fill(~is_inside, NONE)
    before = torch.nn.functional.pad(kinds[..., :-1], (1, 0), value=NONE)
    starts = (kinds != NONE) & (begins[tags.clamp(min=0)] | (kinds != before))
    # A chunk ends before the next place where a chunk starts, or where there is none.
    stops = starts | (kinds == NONE)
    size = tags.shape[-1]
    positions = torch.arange(size, device=tags.device)
    next_stop = torch.where(stops, positions, size).flip(-1).cummin(-1).values.flip(-1)
    ends = torch.nn.functional.pad(next_stop[..., 1:], (0, 1), value=size)
    return _Chunks(starts, kinds, ends)


def _by_kind(chosen: Tensor, kinds: Tensor) -> Tensor:
    names = torch.arange(len(chunk_kinds()), device=kinds.device)
    return (chosen.unsqueeze(-1) & (kinds.unsqueeze(-1) == names)).sum(-2)


@cache
def _tables() -> tuple[Tensor, Tensor]:
    """Return the kind of each tag, and whether it begins a chunk."""
    kinds = {kind: number for number, kind in enumerate(chunk_kinds())}
    return (
        torch.tensor([kinds.get(name[2:], NONE) for name in tag_names()]),
        torch.tensor([name.startswith("B-") for name in tag_names()]),
    )
