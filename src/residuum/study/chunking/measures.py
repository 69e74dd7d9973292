"""What trained taggers are measured by on TEST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from residuum.results.records import Outcomes
from residuum.study.chunking.batches import Sentences
from residuum.study.chunking.decoding import decode
from residuum.study.chunking.knowledge import RulesName
from residuum.study.chunking.predicting import Tagged, tag
from residuum.study.chunking.scoring import Tally
from residuum.study.chunking.spans import chunk_kinds, count_chunks
from residuum.study.chunking.taggers import Taggers
from residuum.study.chunking.transitions import Violations, transitions_of


class Measured(NamedTuple):
    """Measures in percent, and counts of chunks by sentence."""

    measures: dict[str, float]
    outcomes: dict[str, Outcomes]


def measure(taggers: Taggers, sentences: Sentences, rules: Sequence[RulesName]) -> list[Measured]:
    """Return all measures of each run, whose decoding obeys its rules.

    `f1` and its like are of the likeliest tags one by one, those that begin with `viterbi` of the
    likeliest tags that obey the rules. `violations` are shares of transitions that break the
    rules of the paper, whatever rules were learnt; `soft_violations` of their probability mass.
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
        allowed = transitions_of(name).to(logits.device)
        obeying = decode(logits.flatten(0, 1), lengths.flatten(), allowed)
        tags[runs] = obeying.reshape(lengths.shape + obeying.shape[-1:])
    return tags


class _Tallies:
    """Correct, guessed and gold chunks by run, sentence and kind, and tags that are right."""

    def __init__(self, runs: int, sentences: Sentences) -> None:
        self._chunks = torch.zeros(3, runs, len(sentences), len(chunk_kinds()), dtype=torch.int64)
        self._right_tags = torch.zeros(runs, dtype=torch.int64)
        self._tags = int(sentences.lengths.sum())

    def add(self, found: Tagged, tags: Tensor) -> None:
        """Count what is right in the tags of a batch."""
        counted = count_chunks(found.gold, tags, found.lengths)
        self._chunks[:, :, found.places[0]] = torch.stack(counted[:3]).cpu()
        self._right_tags += counted.right_tags.sum(-1).cpu()

    def shares(self, run: int, start: str) -> dict[str, float]:
        """Return precision, recall and F1 of chunks, of each kind too, and accuracy of tags."""
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
        """Return one of the counts by sentence."""
        counts = self._chunks[which, run].sum(-1)
        return counts.numpy().astype(np.uint8)  # no sentence has more than 255 words
