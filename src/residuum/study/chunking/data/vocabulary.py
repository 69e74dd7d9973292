"""Words and characters as numbers, the input of a tagger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from residuum.study.chunking.data.corpus import Corpus, Sentence
from residuum.study.chunking.data.vectors import WordVectors

UNKNOWN: Final = 0
"""The number that stands for all unknown words."""

FEWEST: Final = 2
"""Occurrences that make a word without a vector known; rarer words count as unknown."""

END, OTHER, FIRST_CHARACTER, LAST_CHARACTER = 0, 1, "!", "~"
"""Characters from `!` to `~` have their own numbers, all others share OTHER; END is padding."""

CHARACTERS: Final = 2 + ord(LAST_CHARACTER) - ord(FIRST_CHARACTER) + 1

LONGEST_SPELLING: Final = 32
"""The most characters of a word that are used; of a longer word its start and its end."""


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The words of a corpus by number: lower-cased words from 1, and forms as spelt from 0.

    `spellings` holds the characters of each form, (forms, LONGEST_SPELLING), padded with END.
    """

    words: dict[str, int]
    forms: dict[str, int]
    spellings: npt.NDArray[np.uint8]

    def numbers(self, sentence: Sentence) -> tuple[list[int], list[int]]:
        """Return the numbers of the words and of the forms of a sentence."""
        words = [self.words[word.lower()] for word in sentence.words]
        return words, [self.forms[word] for word in sentence.words]


def make_lexicon(corpus: Corpus) -> Lexicon:
    """Number all words of a corpus. `known_words` decides which of them a tagger knows."""
    spelt = list(dict.fromkeys(w for one in (*corpus.train, *corpus.test) for w in one.words))
    lowered = dict.fromkeys(word.lower() for word in spelt)
    return Lexicon(
        {word: number for number, word in enumerate(lowered, 1)},
        {word: number for number, word in enumerate(spelt)},
        np.array([_spelling(word) for word in spelt], np.uint8),
    )


def known_words(
    lexicon: Lexicon, sentences: Iterable[Sentence], vectors: WordVectors | None
) -> npt.NDArray[np.bool_]:
    """Return a mask of the words that a tagger knows if it learns from these sentences.

    A word is known if it has a vector, or if it occurs at least twice.
    """
    seen = Counter(word.lower() for sentence in sentences for word in sentence.words)
    known = np.zeros(len(lexicon.words) + 1, np.bool_)
    with_vectors = () if vectors is None else vectors.words
    for word in (*with_vectors, *(word for word, count in seen.items() if count >= FEWEST)):
        if word in lexicon.words:
            known[lexicon.words[word]] = True
    return known


def share_unknown(
    lexicon: Lexicon, known: npt.NDArray[np.bool_], sentences: Sequence[Sentence]
) -> float:
    """Return the percentage of unknown words in sentences."""
    numbers = [number for sentence in sentences for number in lexicon.numbers(sentence)[0]]
    return 100 * float(np.mean(~known[numbers]))


def _spelling(word: str) -> list[int]:
    half = LONGEST_SPELLING // 2
    seen = word if len(word) <= LONGEST_SPELLING else word[:half] + word[-half:]
    numbers = [_character(one) for one in seen]
    return numbers + [END] * (LONGEST_SPELLING - len(numbers))


def _character(one: str) -> int:
    is_plain = FIRST_CHARACTER <= one <= LAST_CHARACTER
    return ord(one) - ord(FIRST_CHARACTER) + 2 if is_plain else OTHER
