"""Rows of the paper's table of text chunking, and the texts that tables are of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from residuum.study.chunking.findings import Setting, System, label

TITLES: Final = {
    "f1": "F1 of the likeliest tags",
    "viterbi_f1": "F1 of the likeliest tags that obey the rules",
    "violations": "Transitions of the likeliest tags that break the rules",
    "soft_violations": "Transitions that break the rules, by their probability",
}

DECIMALS: Final = 2
"""As many as were printed."""


class Row(NamedTuple):
    """A share of the sentences, and what is learnt beside their labels."""

    fraction: float
    constraints: bool
    unlabelled: bool

    @property
    def name(self) -> str:
        """What the paper calls it."""
        return f"{100 * self.fraction:g}%{label(self.system(''))}"

    def system(self, relaxation: str) -> System:
        """Return the system in a column."""
        return System(relaxation, self.constraints, self.unlabelled)


@dataclass(frozen=True)
class Texts:
    """The text that tables are of, and the vectors that words had."""

    corpus: str
    embeddings: str

    def setting(self, row: Row) -> Setting:
        """Return the setting of a row."""
        return Setting(self.corpus, self.embeddings, row.fraction)

    def __str__(self) -> str:
        return f"{self.corpus}, {f'vectors {self.embeddings}' if self.embeddings else 'no vectors'}"
