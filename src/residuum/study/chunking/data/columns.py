"""The text format of the CoNLL shared tasks: columns, and a blank line between sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from residuum.errors import DataError

LARGEST_TEXT: Final = 2**24
"""The most bytes of a text. The largest file of CoNLL-2000 has 3 million.

Reading takes up to a hundred times as much memory, and a small packed file may hold any text.
"""

_SEPARATOR: Final = re.compile("[ \t]+")


class Line(NamedTuple):
    """A line that is not blank: its number, counted from 1, and its columns."""

    number: int
    columns: list[str]


def sentences_in(content: bytes, source: object) -> Iterator[list[Line]]:
    r"""Yield the lines of each sentence.

    Columns are separated by spaces or tabs; lines end with \n or \r\n, which may be mixed. Any
    number of blank lines stands between sentences.
    """
    if len(content) > LARGEST_TEXT:
        raise DataError(
            f"`{source}`: expected at most {LARGEST_TEXT:,} bytes of text, found {len(content):,}; "
            "split it into several files"
        )
    lines: list[Line] = []
    for number, line in enumerate(_text(content, source).split("\n"), 1):
        text = line.removesuffix("\r").strip(" \t")
        if "\r" in text:
            raise broken(source, number, r"a line to end with \n or \r\n", r"\r alone")
        if text:
            lines.append(Line(number, _SEPARATOR.split(text)))
        elif lines:
            yield lines
            lines = []
    if lines:
        yield lines


def broken(source: object, number: int, expected: str, found: str) -> DataError:
    """Return the error for a line with a wrong form."""
    return DataError(f"`{source}`, line {number}: expected {expected}, found {found}")


def _text(content: bytes, source: object) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        found = f"the byte {content[error.start]:02x}"
        raise broken(source, number, "text in UTF-8", found) from None


Tags = list[list[str]]


def read_predictions(content: bytes, source: object) -> tuple[Tags, Tags]:
    """Return the gold tags and the predicted tags of each sentence, from the last two columns.

    The script `conlleval` reads the same files. All lines must have the same number of columns.
    """
    gold: Tags = []
    predicted: Tags = []
    width = 0
    for lines in sentences_in(content, source):
        for number, columns in lines:
            width = width or len(columns)
            if len(columns) < 2:
                raise broken(source, number, "a gold tag and a predicted one", "1 column")
            if len(columns) != width:
                expected = f"{width} columns, as in the lines before"
                raise broken(source, number, expected, f"{len(columns)}")
            for tag in columns[-2:]:
                if not _is_tag(tag):
                    raise broken(source, number, "tags such as B-NP, I-NP and O", f"`{tag}`")
        gold.append([columns[-2] for _, columns in lines])
        predicted.append([columns[-1] for _, columns in lines])
    if not gold:
        raise DataError(f"`{source}`: expected one sentence at least, found none")
    return gold, predicted


def _is_tag(tag: str) -> bool:
    prefix, _, kind = tag.partition("-")
    return tag == "O" or (prefix in ("B", "I") and kind != "")
