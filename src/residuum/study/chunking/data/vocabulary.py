"""Words and characters as numbers: what a tagger sees of a text."""

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
"""The number of words that a tagger cannot know."""

FEWEST: Final = 2
"""How often a word without a vector must be seen to be known: rarer ones stand for the unknown."""

END, OTHER, FIRST_CHARACTER, LAST_CHARACTER = 0, 1, "!", "~"
"""Characters from `!` to `~` have numbers of their own, all others share one; 0 is none at all."""

CHARACTERS: Final = 2 + ord(LAST_CHARACTER) - ord(FIRST_CHARACTER) + 1

LONGEST_SPELLING: Final = 32
"""Characters that are seen of a word: of a longer one, as many from its start and from its end."""


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The words of a corpus, numbered: lower-cased from 1 on, and as they are spelt from 0 on.

    `spellings` holds the characters of each form, (forms, LONGEST_SPELLING), filled up with END.
    """

    words: dict[str, int]
    forms: dict[str, int]
    spellings: npt.NDArray[np.uint8]

    def numbers(self, sentence: Sentence) -> tuple[list[int], list[int]]:
        """Return the words and the forms of a sentence."""
        words = [self.words[word.lower()] for word in sentence.words]
        return words, [self.forms[word] for word in sentence.words]


def make_lexicon(corpus: Corpus) -> Lexicon:
    """Number all words of a corpus; that a word is there does not mean that a tagger knows it."""
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
    """Return which numbers stand for words that a tagger knows who learns from these sentences.

    Those are words with a vector, and words that it sees twice.
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
    """Return how many of the words of sentences are out of the vocabulary, in percent."""
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
