"""Measures of trained taggers on TEST: F1 of chunks, and transitions that break the rules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from residuum.results.records import Outcomes
from residuum.study.chunking.data.batches import Sentences
from residuum.study.chunking.knowledge import RulesName, tag_names
from residuum.study.chunking.networks import Tagged, Taggers, tag
from residuum.study.chunking.scoring import Tally
from residuum.study.chunking.transitions import (
    Violations,
    compiled_rules,
    decode,
    transitions_of,
)
from residuum.study.running import Measured


def measure(taggers: Taggers, sentences: Sentences, rules: Sequence[RulesName]) -> list[Measured]:
    """Return all measures of each run; `rules` are the rules that each run's decoding obeys.

    `f1` and the other plain names measure the likeliest tag of each word. Names that begin with
    `viterbi` measure the likeliest tags that obey the rules. `violations` is the percentage of
    transitions that break the rules of the paper, whichever rules were learnt, and
    `soft_violations` the percentage of their probability.
    """
    device = taggers.seeds.device
    broken = transitions_of("paper").to(device)
    plain, obedient = (_Tallies(taggers.runs, sentences) for _ in range(2))
    hard, left, soft = ([Violations(broken) for _ in rules] for _ in range(3))
    readers = torch.zeros(taggers.runs, dtype=torch.int64, device=device)
    for found in tag(taggers, [sentences], readers):
        tags, obeying = found.likeliest, _obeying(found, rules)
        plain.add(found, tags)
        obedient.add(found, obeying)
        chances = found.logits.softmax(-1)
        for run in range(taggers.runs):
            hard[run].add_tags(tags[run], found.lengths[run])
            left[run].add_tags(obeying[run], found.lengths[run])
            soft[run].add_probabilities(chances[run], found.lengths[run])
    return [
        Measured(
            {
                **plain.shares(run, ""),
                "violations": hard[run].share,
                **obedient.shares(run, "viterbi_"),
                "viterbi_violations": left[run].share,
                "soft_violations": soft[run].share,
            },
            {
                "gold": plain.outcome(run, 2),
                "guessed": plain.outcome(run, 1),
                "correct": plain.outcome(run, 0),
                "viterbi_guessed": obedient.outcome(run, 1),
                "viterbi_correct": obedient.outcome(run, 0),
            },
        )
        for run in range(taggers.runs)
    ]


def _obeying(found: Tagged, rules: Sequence[RulesName]) -> Tensor:
    """Return the likeliest tags that obey the rules of each run."""
    tags = torch.zeros_like(found.gold)
    for name in set(rules):
        runs = [run for run, own in enumerate(rules) if own == name]
        logits, lengths = found.logits[runs], found.lengths[runs]
        obeying = decode(logits.flatten(0, 1), lengths.flatten(), compiled_rules(name))
        tags[runs] = obeying.reshape(lengths.shape + obeying.shape[-1:])
    return tags


class _Tallies:
    """Counts of correct, guessed and gold chunks by run, sentence and kind, and of right tags."""

    def __init__(self, runs: int, sentences: Sentences) -> None:
        self._chunks = torch.zeros(3, runs, len(sentences), len(chunk_kinds()), dtype=torch.int64)
        self._right_tags = torch.zeros(runs, dtype=torch.int64)
        self._tags = int(sentences.lengths.sum())

    def add(self, found: Tagged, tags: Tensor) -> None:
        """Add the counts of the tags of a batch."""
        counted = count_chunks(found.gold, tags, found.lengths)
        self._chunks[:, :, found.places[0]] = torch.stack(counted[:3]).cpu()
        self._right_tags += counted.right_tags.sum(-1).cpu()

    def shares(self, run: int, start: str) -> dict[str, float]:
        """Return precision, recall, F1 and accuracy in percent, and F1 by kind of chunk."""
        tally = Tally(*self._chunks[:, run].sum((1, 2)).tolist())
        kinds = map(Tally._make, self._chunks[:, run].sum(1).T.tolist())
        return {
            f"{start}f1": tally.f1,
            f"{start}precision": tally.precision,
            f"{start}recall": tally.recall,
            f"{start}accuracy": 100 * int(self._right_tags[run]) / self._tags,
            **{
                f"{start}f1/{name}": kind.f1
                for name, kind in zip(chunk_kinds(), kinds, strict=True)
                if kind.guessed or kind.gold
            },
        }

    def outcome(self, run: int, which: int) -> Outcomes:
        """Return one of the counts, 0 for correct, 1 for guessed or 2 for gold, by sentence."""
        counts = self._chunks[which, run].sum(-1)
        return counts.numpy().astype(np.uint8)  # no sentence has more than 255 words


NONE = -1
"""The kind of a word outside all chunks."""


class Counts(NamedTuple):
    """Counts of chunks (…, sentences, kinds), and of right tags (…, sentences)."""

    correct: Tensor
    guessed: Tensor
    gold: Tensor
    right_tags: Tensor


class _Chunks(NamedTuple):
    """For each position: whether a chunk starts, its kind, and where it ends."""

    starts: Tensor
    kinds: Tensor
    ends: Tensor


def chunk_kinds() -> tuple[str, ...]:
    """Return the kinds of chunks, in the order of `Counts`."""
    return tuple(sorted({name[2:] for name in tag_names() if name != "O"}))


def count_chunks(gold: Tensor, predicted: Tensor, lengths: Tensor) -> Counts:
    """Count chunks in tags (…, sentences, positions) up to the lengths (…, sentences).

    Chunks are those of `scoring.chunks_of`, for tensors.
    """
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
    # A chunk ends before the next position where a chunk starts, or where no chunk is.
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
    """Return the kind of each tag, and whether the tag begins a chunk."""
    kinds = {kind: number for number, kind in enumerate(chunk_kinds())}
    return (
        torch.tensor([kinds.get(name[2:], NONE) for name in tag_names()]),
        torch.tensor([name.startswith("B-") for name in tag_names()]),
    )
