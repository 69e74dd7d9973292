"""DIMACS CNF (`.cnf`), the format of SAT solvers: clauses of numbered variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from residuum.errors import clipped
from residuum.limits import MOST_LABELS, MOST_WORDS
from residuum.syntax.clauses import Clause, ClauseFile, Literal
from residuum.syntax.mistakes import Mistake

_INTEGER: Final = re.compile(r"-?[0-9]+")
_MOST_DIGITS: Final = 20
"""Longer integers are not converted, because that takes long."""


class _Word(NamedTuple):
    line: int
    offset: int
    text: str


def read_dimacs(text: str) -> tuple[ClauseFile, list[Mistake]]:
    """Return the clauses of a DIMACS file, and all mistakes in it."""
    reading = _Reading()
    for count, word in enumerate(_words(text)):
        if count == MOST_WORDS:
            reading.report(
                word, f"expected at most {MOST_WORDS:,} words, got more. Split the file."
            )
            break
        reading.take(word)
    else:
        reading.finish()
    variables = range(1, reading.most + 1)
    return ClauseFile(reading.clauses, variables, "declared"), reading.mistakes


def _words(text: str) -> Iterator[_Word]:
    """Yield the header as one word and every number; comments are left out."""
    offset = 0
    for number, line in enumerate(text.split("\n"), start=1):
        start = line.lstrip()
        if start.startswith("%"):  # some collections of problems end with such a line
            return
        if start.startswith("p"):
            yield _Word(number, offset + len(line) - len(start), start.rstrip())
        elif not start.startswith("c"):
            for found in re.finditer(r"\S+", line):
                yield _Word(number, offset + found.start(), found[0])
        offset += len(line) + 1


class _Reading:
    """The clauses read so far, and the literals of the one that has not ended yet."""

    def __init__(self) -> None:
        self.clauses: list[Clause] = []
        self.mistakes: list[Mistake] = []
        self.most = 0
        self._promised = 0
        self._header: _Word | None = None
        self._started: _Word | None = None
        self._literals: list[Literal] = []

    def report(self, word: _Word, message: str) -> None:
        self.mistakes.append(Mistake(word.offset, message))

    def take(self, word: _Word) -> None:
        if word.text.startswith("p"):
            self._take_header(word)
        elif self._header is None:
            if not self.mistakes:
                self.report(word, "expected the header `p cnf VARIABLES CLAUSES` first. Add it.")
        elif not _INTEGER.fullmatch(word.text):
            self.report(
                word,
                f"expected the number of a variable, or 0 at the end of a clause, got "
                f"`{clipped(word.text)}`.",
            )
        else:
            self._take_number(word)

    def _take_header(self, word: _Word) -> None:
        if self._header is not None:
            self.report(word, "this is a second header. Keep one, at the top of the file.")
            return
        self._header = word
        match word.text.split():
            case ["p", "cnf", variables, clauses] if variables.isdecimal() and clauses.isdecimal():
                self.most, self._promised = _size(variables), _size(clauses)
            case _:
                message = f"expected `p cnf VARIABLES CLAUSES`, got `{clipped(word.text)}`."
                self.report(word, message)
                self.most, self._promised = MOST_LABELS, -1
        if self.most > MOST_LABELS:
            self.report(
                word,
                f"expected at most {MOST_LABELS:,} variables, got more. Number them without gaps.",
            )

    def _take_number(self, word: _Word) -> None:
        self._started = self._started or word
        number = _size(word.text.lstrip("-"))
        if number > self.most:
            self.report(
                word,
                f"expected a variable from 1 to {self.most:,}, got {clipped(word.text)}. Correct "
                "it, or the header.",
            )
        elif number:
            self._literals.append(Literal(number, not word.text.startswith("-")))
        else:
            self._end_clause(self._started)

    def _end_clause(self, started: _Word) -> None:
        before = self.clauses[-1] if self.clauses else None
        again = before.number if before is not None and before.line == started.line else 0
        self.clauses.append(Clause(started.line, again + 1, tuple(self._literals)))
        self._started, self._literals = None, []

    def finish(self) -> None:
        if self._header is None:
            if not self.mistakes:
                self.mistakes.append(
                    Mistake(0, "expected the header `p cnf VARIABLES CLAUSES`, got none. Add it.")
                )
            return
        if self._started is not None:
            self.report(self._started, "this clause does not end with 0. Add the 0.")
        elif self._promised not in (-1, len(self.clauses)):
            self.report(
                self._header,
                f"the header promises {self._promised:,} clauses, but there are "
                f"{len(self.clauses):,}. Correct it, or the clauses.",
            )


def _size(digits: str) -> int:
    """Return a number without sign; one of very many digits only as a huge number."""
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS
