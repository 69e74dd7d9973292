"""What a trained tagger is measured by on TEST."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from residuum.results.records import Outcomes
from residuum.study.chunking.batches import Sentences
from residuum.study.chunking.decoding import decode
from residuum.study.chunking.knowledge import RulesName
from residuum.study.chunking.predicting import Decoder, likeliest, predict
from residuum.study.chunking.scoring import Score, score
from residuum.study.chunking.taggers import Taggers
from residuum.study.chunking.transitions import Violations, transitions_of


class Measured(NamedTuple):
    """Measures in percent, and counts of chunks by sentence."""

    measures: dict[str, float]
    outcomes: dict[str, Outcomes]


def measure(
    taggers: Taggers,
    run: int,
    sentences: Sentences,
    gold: list[tuple[str, ...]],
    rules: RulesName,
) -> Measured:
    """Return all measures of a run.

    `f1` and its like are of the likeliest tags one by one, those that begin with `viterbi` of the
    likeliest tags that obey the rules. `violations` are shares of transitions that break the
    rules of the paper, whatever rules were learnt; `soft_violations` of their probability mass.
    """
    device = taggers.seeds.device
    broken, obeyed = transitions_of("paper").to(device), transitions_of(rules).to(device)
    hard, left, soft = Violations(broken), Violations(broken), Violations(broken)

    def plainly(logits: Tensor, lengths: Tensor) -> Tensor:
        tags = likeliest(logits, lengths)
        hard.add_tags(tags, lengths)
        soft.add_probabilities(torch.softmax(logits, -1), lengths)
        return tags

    def obediently(logits: Tensor, lengths: Tensor) -> Tensor:
        tags = decode(logits, lengths, obeyed)
        left.add_tags(tags, lengths)
        return tags

    def scored(decoder: Decoder) -> Score:
        return score(gold, predict(taggers, run, sentences, decoder))

    plain, obedient = scored(plainly), scored(obediently)
    measures = {
        **_shares(plain, hard, ""),
        **_shares(obedient, left, "viterbi_"),
        "soft_violations": soft.share,
    }
    outcomes = {
        "gold": _counts([tally.gold for tally in plain.sentences]),
        "guessed": _counts([tally.guessed for tally in plain.sentences]),
        "correct": _counts([tally.correct for tally in plain.sentences]),
        "viterbi_guessed": _counts([tally.guessed for tally in obedient.sentences]),
        "viterbi_correct": _counts([tally.correct for tally in obedient.sentences]),
    }
    return Measured(measures, outcomes)


def _shares(found: Score, violations: Violations, start: str) -> dict[str, float]:
    overall = found.overall
    return {
        f"{start}f1": overall.f1,
        f"{start}precision": overall.precision,
        f"{start}recall": overall.recall,
        f"{start}accuracy": found.accuracy,
        f"{start}violations": violations.share,
        **{f"{start}f1/{kind}": tally.f1 for kind, tally in found.types.items()},
    }


def _counts(numbers: list[int]) -> Outcomes:
    return np.array(numbers, np.uint8)  # no sentence has more than 255 words
