"""Word vectors in the text format of GloVe: each line has a word and its numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from residuum.errors import DataError
from residuum.study.chunking.data.columns import broken
from residuum.study.data_files import opened

LONGEST_LINE: Final = 2**20
"""The most bytes of a line. Lines of the largest published vectors have about 3,000."""

LARGEST_DIMENSION: Final = 4096
"""The most numbers of a word. The largest published vectors have 300.

A limit is needed because a few packed bytes may hold any number of them.
"""

LARGEST_NUMBER: Final = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words, and an array of their vectors: (words, dimension)."""

    words: tuple[str, ...]
    numbers: npt.NDArray[np.float32]

    @property
    def dimension(self) -> int:
        """The number of numbers of a word."""
        return int(self.numbers.shape[1])

    @cached_property
    def name(self) -> str:
        """The dimension and a digest of the content, which identify the vectors."""
        content = hashlib.sha256("\n".join(self.words).encode())
        content.update(self.numbers.astype("<f4").tobytes())
        return f"{self.dimension}d-{content.hexdigest()[:12]}"


def read_vectors(path: Path, wanted: Collection[str]) -> WordVectors:
    """Return the vectors of the wanted words that a file has, in the order of the file.

    The file is plain, gzip or zip. Its first line decides the number of numbers, and all lines are
    checked. A word may hold spaces, as some published words do, if its last part is no number. If
    a word occurs twice, its first vector counts.
    """
    missing = {word.encode(): word for word in wanted}
    found: dict[str, npt.NDArray[np.float32]] = {}
    dimension = 0
    with opened(path) as source:
        number = 0
        while line := source.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE:
                raise broken(path, number, "a word and its numbers", f"{len(line):,} bytes or more")
            columns = line.rstrip(b" \r\n").split(b" ")
            dimension = dimension or len(columns) - 1
            if dimension > LARGEST_DIMENSION:
                expected = f"a word and at most {LARGEST_DIMENSION:,} numbers"
                raise broken(path, number, expected, f"{len(columns):,} columns")
            word, values = _parse(columns, dimension, path, number)
            known = missing.pop(word, None)
            if known is not None:
                found[known] = np.array(values, np.float32)
    if not dimension:
        raise DataError(f"`{path}`: expected a word and its numbers in each line, found no line")
    numbers = np.array(list(found.values()), np.float32).reshape(-1, dimension)
    return WordVectors(tuple(found), numbers)


def _parse(
    columns: list[bytes], dimension: int, path: Path, number: int
) -> tuple[bytes, list[float]]:
    """Return the word of a line and its numbers."""
    has_more = len(columns) > dimension + 1 and _is_number(columns[-dimension - 1])
    if dimension == 0 or len(columns) <= dimension or has_more:
        expected = f"a word and {dimension or 'its'} numbers, as in line 1"
        raise broken(path, number, expected, f"{len(columns)} columns")
    try:
        values = list(map(float, columns[-dimension:]))
    except ValueError:
        wrong = next(one for one in columns[-dimension:] if not _is_number(one))
        raise broken(path, number, "numbers after the word", repr(wrong)[1:]) from None
    if not all(abs(value) <= LARGEST_NUMBER for value in values):  # NaN fails this too
        raise broken(path, number, "numbers within single precision", "larger ones, or NaN")
    return b" ".join(columns[:-dimension]), values


def _is_number(column: bytes) -> bool:
    try:
        float(column)
    except ValueError:
        return False
    return True
