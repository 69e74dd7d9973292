"""Sentences with their chunk tags: CoNLL-2000, or a small sample written for this project."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final, Literal, NamedTuple

from residuum.errors import DataError, suggest
from residuum.study.chunking.data.columns import broken, sentences_in
from residuum.study.chunking.knowledge import tag_names
from residuum.study.common_settings import check_choice
from residuum.study.data_files import DataFile, find_files, find_own_file, unpack
from residuum.study.random_draws import permutation, stream

CorpusName = Literal["conll2000", "sample"]

LONGEST_SENTENCE: Final = 255
"""The most tokens of a sentence: records count its chunks in one byte. CoNLL-2000 has up to 78."""

_SAMPLE_TEST: Final = 4
"""One in this many sentences of the sample is for testing."""

_PARTS: Final = ("train.txt", "test.txt")
_PUBLISHED: Final = (
    "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea",
    "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628",
)
_ARCHIVE: Final = DataFile(
    "conll2000.zip",
    "conll2000",
    "01e65164f268366e7caa0db92332a1955d081908c87016e2c7640c3c5279b7cd",
    (
        "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/",
        "https://github.com/nltk/nltk_data/raw/gh-pages/packages/corpora/",
    ),
)


class Sentence(NamedTuple):
    """Words, and the chunk tag of each."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Corpus:
    """Sentences for training and for testing.

    `name` identifies the text: `sample`, `conll2000`, or `conll2000-` and the start of a digest
    for a user's own files that differ from the published ones.
    """

    name: str
    train: tuple[Sentence, ...]
    test: tuple[Sentence, ...]


def load_corpus(name: CorpusName) -> Corpus:
    """Return CoNLL-2000, or the sample that is part of residuum.

    CoNLL-2000 consists of `train.txt` and `test.txt`, plain or gzip, in the folder that
    RESIDUUM_DATA names or in `conll2000` there, or of `conll2000.zip` in the same places. If
    neither is found, `conll2000.zip` is downloaded.

    >>> " ".join(load_corpus("sample").train[0].words)
    'Heavy rain is expected to reach the coast by Friday evening .'
    """
    check_choice("corpus", name, CorpusName)
    return _load_conll2000() if name == "conll2000" else _load_sample()


def read_sentences(content: bytes, source: object) -> tuple[Sentence, ...]:
    """Return the sentences of a text in three columns: word, part of speech, chunk tag.

    A line of another form raises DataError with its number; no line is skipped.
    """
    known, sentences = frozenset(tag_names()), []
    for lines in sentences_in(content, source):
        if len(lines) > LONGEST_SENTENCE:
            raise broken(
                source,
                lines[LONGEST_SENTENCE].number,
                f"a blank line, because the sentence that begins in line {lines[0].number} has "
                f"{LONGEST_SENTENCE} tokens, which is the most allowed",
                f"a sentence of {len(lines):,}",
            )
        for number, columns in lines:
            if len(columns) != 3:
                expected = "3 columns (word, part of speech, chunk tag)"
                raise broken(source, number, expected, f"{len(columns)}")
            if columns[2] not in known:
                expected = f"one of the {len(known)} chunk tags"
                raise broken(
                    source, number, expected, f"`{columns[2]}`.{suggest(columns[2], known)}"
                )
        words, _, tags = zip(*(columns for _, columns in lines), strict=True)
        sentences.append(Sentence(words, tags))
    if not sentences:
        raise DataError(f"`{source}`: expected one sentence at least, found none")
    return tuple(sentences)


def _load_conll2000() -> Corpus:
    own = {name: find_own_file(_part(name)) for name in _PARTS}
    found = [path for path in own.values() if path is not None]
    if len(found) == 1:
        [missing] = [name for name, path in own.items() if path is None]
        raise DataError(
            f"expected {missing} (or {missing}.gz) beside `{found[0]}`, found none; add it"
        )
    if found:
        parts = [(path, unpack(path)) for path in found]
    else:
        [archive] = find_files([_ARCHIVE])
        parts = [(archive / name, unpack(archive, name)) for name in _PARTS]
    train, test = (read_sentences(content, path) for path, content in parts)
    return Corpus(_name_of([content for _, content in parts]), train, test)


def _part(name: str) -> DataFile:
    stem = Path(name).stem
    return DataFile(name, _ARCHIVE.folder, "", (), (f"{name}.gz", f"{stem}.gz", stem))


def _name_of(contents: list[bytes]) -> str:
    digests = tuple(hashlib.sha256(content).hexdigest() for content in contents)
    if digests == _PUBLISHED:
        return "conll2000"
    return f"conll2000-{hashlib.sha256(''.join(digests).encode()).hexdigest()[:12]}"


def _load_sample() -> Corpus:
    file = resources.files("residuum.data").joinpath("chunking_sample.txt")
    sentences = read_sentences(file.read_bytes(), file.name)
    order = permutation(stream(0, "chunking sample"), len(sentences))
    test = frozenset(order[: len(sentences) // _SAMPLE_TEST].tolist())
    return Corpus(
        "sample",
        tuple(one for place, one in enumerate(sentences) if place not in test),
        tuple(one for place, one in enumerate(sentences) if place in test),
    )
