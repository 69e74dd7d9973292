"""What the rules allow between neighbouring tags: decoding that obeys, and violations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import final

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

import residuum as rs
from residuum.errors import ResiduumError
from residuum.study.chunking.data.corpus import Corpus, Sentence
from residuum.study.chunking.knowledge import RulesName, chunking_knowledge, tag_names
from residuum.syntax import Knowledge
from residuum.syntax.knowledge import FrozenMapping


@final
@dataclass(frozen=True, eq=False)
class Transitions:
    """Masks of what the rules allow: `first` tags, and `following` tags, by tag and next tag."""

    first: Tensor
    following: Tensor

    def to(self, device: torch.device) -> Transitions:
        """Return the masks on a device."""
        return Transitions(self.first.to(device), self.following.to(device))


@cache
def transitions_of(rules: RulesName) -> Transitions:
    """Return the transitions that the rules of the study allow."""
    return derive_transitions(chunking_knowledge(rules))


def derive_transitions(knowledge: Knowledge) -> Transitions:
    """Derive the allowed transitions by evaluating the rules on all sequences of up to three tags.

    A tag may follow another if some sequence of two or three tags that ends with both obeys the
    rules. Rules that transitions cannot express, about tags further apart or about positions
    other than the first, raise ResiduumError.
    """
    tags = len(tuple(knowledge.domains["tag"]))
    one, two, three = (_obeys(knowledge, tags, length) for length in (1, 2, 3))
    found = Transitions(one, two | three.any(0))
    pairs = found.first[:, None] & found.following
    if not two.equal(pairs) or not three.equal(pairs[:, :, None] & found.following):
        raise ResiduumError(
            "expected rules about the first tag and about neighbouring tags at any position, found "
            f"other rules among {', '.join(knowledge.rules)}; leave them out"
        )
    return found


def _obeys(knowledge: Knowledge, tags: int, length: int) -> Tensor:
    """Return whether each sequence of tags obeys all rules, as a mask (tags, …, tags)."""
    sequences = torch.tensor(list(product(range(tags), repeat=length)))
    certain = torch.eye(tags)[sequences]
    obeyed = torch.ones(len(sequences), dtype=torch.bool)
    for rule in rs.compile(knowledge).rules.values():
        obeyed &= rule.satisfied(Tag=certain)
    return obeyed.reshape((tags,) * length)


class Violations:
    """A count of transitions that break the rules, over many sentences.

    Transitions between neighbouring tags count, and also the one to the first tag if the rules
    restrict how a sentence may begin.
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
        """Add the probability that each transition breaks the rules if tags are independent."""
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
        """The percentage of transitions that break the rules; 0 if there are no transitions."""
        return 100 * self.broken / self.transitions if self.transitions else 0.0


@cache
def compiled_rules(rules: RulesName) -> rs.CompiledKnowledge:
    """Return the rules of the study, compiled for questions."""
    return rs.compile(chunking_knowledge(rules))


def decode(logits: Tensor, lengths: Tensor, rules: rs.CompiledKnowledge) -> Tensor:
    """Return the likeliest tags that obey the rules, (sentences, positions), 0 beyond the lengths.

    For rules about neighbours this is Viterbi's algorithm. A run that diverged has NaN, which
    counts as 0: its tags are decoded beside those of other runs, and are not measured.
    """
    return rules.decode(Tag=logits.nan_to_num(), lengths=lengths)["Tag"].clamp(min=0)


def broken_rules(sentences: Sequence[Sentence]) -> dict[str, int]:
    """Return for each rule of the tagging scheme how many transitions of gold tags break it."""
    index = {tag: number for number, tag in enumerate(tag_names())}
    rows = [torch.tensor([index[tag] for tag in sentence.tags]) for sentence in sentences]
    tags = pad_sequence(rows, batch_first=True)
    lengths = torch.tensor([len(row) for row in rows])
    counts = {}
    for name, transitions in _by_rule().items():
        found = Violations(transitions)
        found.add_tags(tags, lengths)
        counts[name] = round(found.broken)
    return counts


def gold_report(corpus: Corpus) -> str:
    """Say how large a corpus is, and how often its gold tags break each rule."""
    told = []
    for part, sentences in (("train", corpus.train), ("test", corpus.test)):
        broken = {name: count for name, count in broken_rules(sentences).items() if count}
        listed = ", ".join(f"{name} {count:,} times" for name, count in broken.items())
        told.append(f"{part} {len(sentences):,} sentences, gold tags break {listed or 'no rule'}")
    return f"{corpus.name}: {'; '.join(told)}"


@cache
def _by_rule() -> dict[str, Transitions]:
    knowledge = chunking_knowledge()
    return {
        name: derive_transitions(replace(knowledge, rules=FrozenMapping({name: rule})))
        for name, rule in knowledge.rules.items()
    }
