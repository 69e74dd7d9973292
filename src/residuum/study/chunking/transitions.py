"""Which tags may begin a sentence and which may follow which, read off the rules themselves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import final

import torch
from torch import Tensor

import residuum as rs
from residuum.errors import ResiduumError
from residuum.study.chunking.knowledge import RulesName, chunking_knowledge
from residuum.syntax import Knowledge


@final
@dataclass(frozen=True, eq=False)
class Transitions:
    """What the rules allow: `first` by tag, `following` by a tag (row) and the next (column)."""

    first: Tensor
    following: Tensor

    def to(self, device: torch.device) -> Transitions:
        """Return the same on a device."""
        return Transitions(self.first.to(device), self.following.to(device))


@cache
def transitions_of(rules: RulesName) -> Transitions:
    """Return the transitions that the rules of the study allow."""
    return derive_transitions(chunking_knowledge(rules))


def derive_transitions(knowledge: Knowledge) -> Transitions:
    """Find out what the rules allow by evaluating them on all sequences of up to three tags.

    A tag may follow another if some sequence of two or three that ends with both obeys the rules.
    Rules that say more than that, of tags further apart or of places other than the start, are
    refused: what is returned here means the same as the rules or is not returned.
    """
    tags = len(tuple(knowledge.domains["tag"]))
    one, two, three = (_obeys(knowledge, tags, length) for length in (1, 2, 3))
    found = Transitions(one, two | three.any(0))
    pairs = found.first[:, None] & found.following
    if not two.equal(pairs) or not three.equal(pairs[:, :, None] & found.following):
        raise ResiduumError(
            "expected rules about the first tag and about neighbouring tags, wherever they are; "
            f"these say something else: {', '.join(knowledge.rules)}"
        )
    return found


def _obeys(knowledge: Knowledge, tags: int, length: int) -> Tensor:
    """Return for every sequence of tags whether it obeys all rules: (tags, …, tags)."""
    sequences = torch.tensor(list(product(range(tags), repeat=length)))
    certain = torch.eye(tags)[sequences]
    obeyed = torch.ones(len(sequences), dtype=torch.bool)
    for rule in rs.compile(knowledge).rules.values():
        obeyed &= rule.satisfied(Tag=certain)
    return obeyed.reshape((tags,) * length)


class Violations:
    """Transitions that break the rules, counted over many sentences.

    Transitions are those between neighbours, and where the rules say how a sentence may begin
    also the one to its first tag.
    """

    def __init__(self, transitions: Transitions) -> None:
        self._forbidden = ~transitions.following
        self._forbidden_first = ~transitions.first
        self._has_starts = bool(self._forbidden_first.any())
        self.transitions = 0
        self.broken = 0.0

    def add_tags(self, tags: Tensor, lengths: Tensor) -> None:
        """Count the broken transitions of tags (sentences, positions), up to the lengths."""
        is_broken = self._forbidden[tags[:, :-1], tags[:, 1:]]
        self._add(is_broken, self._forbidden_first[tags[:, 0]], lengths)

    def add_probabilities(self, probabilities: Tensor, lengths: Tensor) -> None:
        """Add the probability that each transition is broken, each tag being drawn by itself."""
        chances = probabilities.double()
        forbidden = self._forbidden.double()
        mass = ((chances[:, :-1] @ forbidden) * chances[:, 1:]).sum(-1)
        self._add(mass, chances[:, 0] @ self._forbidden_first.double(), lengths)

    def _add(self, between: Tensor, at_start: Tensor, lengths: Tensor) -> None:
        places = torch.arange(1, between.shape[1] + 1, device=between.device)
        counts = places < lengths.to(between.device).unsqueeze(-1)
        self.broken += float(between.where(counts, 0).sum())
        self.transitions += int(counts.sum())
        if self._has_starts:
            self.broken += float(at_start.sum())
            self.transitions += len(at_start)

    @property
    def share(self) -> float:
        """Their share of all transitions, in percent; 0 if there are none."""
        return 100 * self.broken / self.transitions if self.transitions else 0.0
