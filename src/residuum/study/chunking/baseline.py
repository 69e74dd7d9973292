"""What a tagger that knows nothing but single words would score."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from residuum.study.chunking.corpus import Corpus, Sentence
from residuum.study.chunking.scoring import score
from residuum.study.chunking.splits import make_split


def f1_of_words(corpus: Corpus, fraction: float, seed: int) -> float:
    """Return the F1 on TEST of tagging each word as it mostly is in the sentences in use.

    Words that are not there have the tag that most words have.
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
