"""Precision, recall and F1 of chunks, counted as the shared task's script `conlleval` does.

A chunk is correct if its first word, its last word and its type are right. A tag I-X that follows
neither B-X nor I-X begins a chunk. Nothing here needs PyTorch.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from residuum.errors import DataError
from residuum.study.chunking.data.corpus import Corpus, Sentence
from residuum.study.chunking.data.splits import make_split


class Chunk(NamedTuple):
    """A chunk of a sentence: from word `start` up to, not including, word `stop`."""

    kind: str
    start: int
    stop: int


class Tally(NamedTuple):
    """Numbers of chunks: guessed correctly, guessed, and in the gold tags."""

    correct: int
    guessed: int
    gold: int

    @property
    def precision(self) -> float:
        """The percentage of guessed chunks that are correct; 0 if none was guessed."""
        return _percent(self.correct, self.guessed)

    @property
    def recall(self) -> float:
        """The percentage of gold chunks that were guessed; 0 if there are none."""
        return _percent(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, in percent."""
        return _percent(2 * self.correct, self.guessed + self.gold)


@dataclass(frozen=True)
class Score:
    """The score of predicted tags: by sentence, by type of chunk, and in total."""

    sentences: Sequence[Tally]
    types: Mapping[str, Tally]
    right_tags: int
    tags: int

    @property
    def overall(self) -> Tally:
        """The tally of all chunks."""
        return Tally(*(sum(column) for column in zip((0, 0, 0), *self.sentences, strict=True)))

    @property
    def accuracy(self) -> float:
        """The percentage of right tags."""
        return _percent(self.right_tags, self.tags)


def chunks_of(tags: Iterable[str]) -> set[Chunk]:
    """Return the chunks that a sequence of tags marks.

    >>> sorted(chunks_of(["B-NP", "I-NP", "O", "I-VP"]))
    [Chunk(kind='NP', start=0, stop=2), Chunk(kind='VP', start=3, stop=4)]
    """
    found = set()
    kind, start, stop = "", 0, -1
    for stop, tag in enumerate(tags):
        prefix, _, named = tag.partition("-")
        if kind and (prefix != "I" or named != kind):
            found.add(Chunk(kind, start, stop))
            kind = ""
        if prefix != "O" and not kind:
            kind, start = named, stop
    if kind:
        found.add(Chunk(kind, start, stop + 1))
    return found


def score(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Score:
    """Score the predicted tags of sentences; a tag is `O`, `B-X` or `I-X`."""
    if list(map(len, gold)) != list(map(len, predicted)):
        raise DataError(
            "expected as many predicted tags as gold tags in each sentence, found another number; "
            "align the sentences"
        )
    sentences, right_tags = [], 0
    counts: dict[str, Counter[str]] = {
        "correct": Counter(),
        "guessed": Counter(),
        "gold": Counter(),
    }
    for expected, given in zip(gold, predicted, strict=True):
        there, guessed = chunks_of(expected), chunks_of(given)
        sentences.append(Tally(len(there & guessed), len(guessed), len(there)))
        for name, chunks in (("correct", there & guessed), ("guessed", guessed), ("gold", there)):
            counts[name].update(chunk.kind for chunk in chunks)
        right_tags += sum(a == b for a, b in zip(expected, given, strict=True))
    kinds = sorted({*counts["guessed"], *counts["gold"]})
    types = {kind: Tally(*(counter[kind] for counter in counts.values())) for kind in kinds}
    return Score(sentences, types, right_tags, sum(map(len, gold)))


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def f1_of_words(corpus: Corpus, fraction: float, seed: int) -> float:
    """Return the F1 on TEST of a baseline that gives each word its most frequent tag.

    Tags are counted in the sentences that a run with this fraction and seed learns from. A word
    that does not occur there gets the most frequent tag of all.
    """
    split = make_split(len(corpus.train), fraction, seed)
    sentences = [corpus.train[place] for place in split.train]
    return score([one.tags for one in corpus.test], _tagged(sentences, corpus.test)).overall.f1


def _tagged(train: Sequence[Sentence], test: Sequence[Sentence]) -> list[list[str]]:
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in train:
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            seen[word.lower()][tag] += 1
    usual = {word: tags.most_common(1)[0][0] for word, tags in seen.items()}
    [(other, _)] = sum(seen.values(), Counter()).most_common(1)
    return [[usual.get(word.lower(), other) for word in one.words] for one in test]
