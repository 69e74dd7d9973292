"""The lines of a circuit file: a word and integers. All formats are made of such lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from residuum.circuits.circuit import Builder
from residuum.errors import CircuitError, shown
from residuum.printable import printable

LARGEST_FILE: Final = 2**26
"""The most bytes of a circuit file."""

MOST_WORDS: Final = 10_000_000
"""The most words and numbers of a circuit file: a circuit has fewer nodes."""

MOST_NODES: Final = 2_000_000
"""The most nodes that a header may announce."""

MOST_VARIABLES: Final = 1_000_000
"""The most variables of a circuit file."""

_LINE: Final = re.compile(rb"(?:([A-Za-z]+)|-?[0-9]{1,18})(?:[ \t]++-?[0-9]{1,18})*+")


class Line(NamedTuple):
    """A line of a file: its place in the file, its word (empty if it has none), its integers."""

    place: int
    word: str
    numbers: list[int]

    def refuse(self, expected: str, found: str | None = None) -> NoReturn:
        """Raise CircuitError with the place of the line."""
        words = shown(" ".join([self.word, *map(str, self.numbers)]).strip())
        raise CircuitError(
            f"line {self.place}: expected {expected}, found {found or words}; "
            "the file is damaged, or of another format"
        )


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the name of a file before the message of a CircuitError."""
    try:
        yield
    except CircuitError as error:
        raise CircuitError(f"{printable(path)}: {error}") from None


def read_lines(path: Path) -> list[Line]:
    """Return the lines of a file without comments, which start with `c`, and empty lines."""
    lines = []
    words = 0
    for place, raw in enumerate(BytesIO(_content(path)), 1):
        text = raw.strip()
        if not text or text.startswith(b"c"):
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            Line(place, "", []).refuse("a word and integers", shown(text))
        numbers = list(map(int, text[match.end(1) if match[1] else 0 :].split()))
        lines.append(Line(place, (match[1] or b"").decode("ascii"), numbers))
        words += 1 + len(numbers)
        if words > MOST_WORDS:
            _refuse_large(f"{MOST_WORDS:,} words and numbers")
    if not lines:
        raise CircuitError("expected a circuit, found an empty file; compile the formula again")
    return lines


def _content(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CircuitError(
            f"expected a file that can be read, found: {reason}; name another file"
        ) from None
    return content if len(content) <= LARGEST_FILE else _refuse_large(f"{LARGEST_FILE:,} bytes")


def _refuse_large(most: str) -> NoReturn:
    raise CircuitError(
        f"expected a file of at most {most}, found more; compile the formula to a smaller circuit"
    )


def path_of(given: str | os.PathLike[str]) -> Path:
    """Return the path of a circuit file, or raise CircuitError if the argument is none."""
    try:
        return Path(given)
    except TypeError:
        raise CircuitError(
            f"expected the path of a circuit file, found {type(given).__name__}; give a path"
        ) from None


def check_size(line: Line, number: int, *, most: int, what: str) -> None:
    """Refuse a header that announces an absurd size, before anything is made of that size."""
    if not 0 <= number <= most:
        line.refuse(f"0 to {most:,} {what}", f"{number:,}")


def check_announced(header: Line, announced: int, found: int, what: str) -> None:
    """Refuse a file that has more or fewer nodes or edges than its header says."""
    if announced != found:
        header.refuse(f"{announced:,} {what}, as the header says", f"{found:,}")


def header_of(lines: list[Line], word: str, numbers: int) -> Line:
    """Return the first line, which announces sizes: a word and a number of integers."""
    header = lines[0]
    if header.word != word or len(header.numbers) != numbers:
        header.refuse(f"a header `{word}` with {numbers} number{'s' * (numbers > 1)}")
    check_size(header, header.numbers[0], most=MOST_NODES, what="nodes")
    return header


def check_literal(line: Line, literal: int, variables: int) -> None:
    """Refuse a literal that names no variable."""
    if not 1 <= abs(literal) <= variables:
        line.refuse(f"a variable from 1 to {variables:,} or its negation", str(literal))


def number_of_variables(largest: int, chosen: int | None) -> int:
    """Return the number of variables: the one that the user chose, or that of the file."""
    number = largest if chosen is None else chosen
    if not 0 <= number <= MOST_VARIABLES:
        raise CircuitError(
            f"expected 0 to {MOST_VARIABLES:,} variables, found {number:,}; "
            "number the variables from 1"
        )
    return number


def new_builder(variables: int) -> Builder:
    """Return a builder for the circuit of a file. It has fewer nodes than the file has words."""
    return Builder([2] * variables, 2 * MOST_WORDS)
