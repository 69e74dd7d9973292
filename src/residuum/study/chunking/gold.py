"""Whether the tags that people gave obey the rules: what breaks them is counted, not hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import torch
from torch.nn.utils.rnn import pad_sequence

from residuum.study.chunking.corpus import Corpus, Sentence
from residuum.study.chunking.knowledge import chunking_knowledge, tag_names
from residuum.study.chunking.transitions import Transitions, Violations, derive_transitions
from residuum.syntax.knowledge import FrozenMapping


def broken_rules(sentences: Sequence[Sentence]) -> dict[str, int]:
    """Return how many transitions of gold tags break each rule of the scheme."""
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
    """Say how large a corpus is, and which rules its gold tags break how often."""
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
