"""From the outputs of a tagger to the likeliest tags that obey the rules."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from residuum.errors import ResiduumError
from residuum.study.chunking.transitions import Transitions

LEAST: Final = -1e30
"""The logarithm that stands for any lower one, so that −inf is left to what is not allowed."""


def decode(logits: Tensor, lengths: Tensor, transitions: Transitions) -> Tensor:
    """Return the likeliest tags that obey the rules: (sentences, positions), 0 beyond the lengths.

    This is Viterbi's algorithm: tags are independent of each other but for what is allowed.
    """
    scores = logits.double().log_softmax(-1).clamp(min=LEAST)
    lengths = lengths.to(logits.device)
    may_follow = _penalty(transitions.following)
    best = scores[:, 0] + _penalty(transitions.first)
    stay = torch.arange(scores.shape[-1], device=scores.device)
    sources = []
    for place in range(1, scores.shape[1]):
        reached, source = (best.unsqueeze(-1) + may_follow).max(1)
        goes_on = (place < lengths).unsqueeze(-1)
        best = torch.where(goes_on, reached + scores[:, place], best)
        # Beyond its end a sentence stays where it is.
        sources.append(torch.where(goes_on, source, stay))
    score, tag = best.max(-1)
    if bool(torch.isneginf(score).any()):
        raise ResiduumError("no tags obey the rules for a sentence of this length")
    tags = [tag]
    for source in reversed(sources):
        tags.append(source.gather(1, tags[-1].unsqueeze(-1)).squeeze(-1))
    found = torch.stack(tags[::-1], 1)
    places = torch.arange(found.shape[1], device=found.device)
    return found.where(places < lengths.unsqueeze(-1), 0)


def _penalty(is_allowed: Tensor) -> Tensor:
    zero = torch.zeros(is_allowed.shape, dtype=torch.float64, device=is_allowed.device)
    return zero.masked_fill(~is_allowed, -torch.inf)
