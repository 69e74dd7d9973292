"""The exceptions of residuum, all of them `ResiduumError`s, and the words of their messages.

A message says what was expected, what was found, and what to do.

>>> import residuum as rs
>>> try:
...     rs.truth("P -> Q", {"P": 0.8}, "r-product")
... except rs.errors.DegreeError as error:
...     print("P -> Q needs Q")
P -> Q needs Q
"""

from __future__ import annotations

import difflib
import itertools
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from residuum.limits import MOST_SHOWN

MOST_LISTED: Final = 6
"""The most names or labels that a message lists."""

LONGEST_SHOWN: Final = 40
"""The most characters of a name or a label that a message shows."""

MOST_COMPARED: Final = 1_000
"""The most known names that are searched for the one that was meant."""

MOST_PAIRS: Final = 100_000
"""The most pairs of characters that this search compares: a hundredth of a second."""

LONGEST_COMPARED: Final = 60
"""The most characters of a name for which this search is made."""


class ResiduumError(ValueError):
    """Base of every error residuum raises on purpose; also a ValueError.

    >>> import residuum as rs
    >>> try:
    ...     rs.parse("P ->")
    ... except rs.ResiduumError as error:
    ...     print(type(error).__name__, isinstance(error, ValueError))
    FormulaSyntaxError True
    """


class InvalidNameError(ResiduumError):
    """A name that the text syntax cannot write, or a value of the wrong kind in a formula."""


class NotTextError(ResiduumError, TypeError):
    """Something other than text was given where text is read; also a TypeError."""


class UnsupportedNodeError(ResiduumError):
    """A fold met a kind of node for which it has no case."""


class FormulaTooLargeError(ResiduumError):
    """The text of a formula, or its expansion over a domain, would exceed a documented limit."""


class EvaluationError(ResiduumError):
    """A formula or a term has no value: an atom without one, `mod 0`, an unknown domain."""


class UndecidedError(ResiduumError):
    """The answer to a yes-or-no question is unknown, but was used as a Boolean."""


class UnknownRelaxationError(ResiduumError):
    """No relaxation has this name, or a parameter is out of range."""


class RelaxationParameterError(UnknownRelaxationError):
    """A relaxation has this name, but not with this parameter."""


class InexactError(ResiduumError):
    """Fractions were given to a relaxation whose value on them is irrational."""


class DegreeError(ResiduumError):
    """A degree of truth is missing, out of [0, 1], not a number, or of the wrong shape."""


class GroundingError(ResiduumError):
    """A rule cannot be grounded: an unknown domain, a term that leaves its domain, a bad shape."""


class CircuitError(ResiduumError):
    """Raised for a circuit that is too large, or a circuit file that is not valid."""


class InvalidGeneratorError(ResiduumError):
    """A function offered as an additive generator is not one."""


class PictureError(ResiduumError):
    """A picture of this formula cannot be drawn, or not saved in this place."""


class DataError(ResiduumError):
    """Data are missing, damaged, or too few."""


class RecordError(ResiduumError):
    """A record cannot hold a value, or a store or an archive cannot be read or written."""


class ComparisonError(ResiduumError):
    """Runs cannot be compared: there are too few, or their measures differ in shape or are NaN."""


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake in a text: its line and column, both counted from 1, and a message."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


class _TextError(ResiduumError):
    """An error about places in a text. Pickling keeps its arguments rather than its message."""

    def __init__(self, message: str, *arguments: object) -> None:
        super().__init__(message)
        self._arguments = arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments


class FormulaSyntaxError(_TextError):
    """A text is not a formula. The message ends with the line and a caret under the mistake."""

    def __init__(self, problem: Problem, excerpt: str) -> None:
        super().__init__(_with_excerpt(problem, excerpt), problem, excerpt)
        self.problem = problem
        self.line = problem.line
        self.column = problem.column


class KnowledgeError(_TextError):
    """A rule file cannot be loaded. `problems` are all mistakes in it, in the order of the text."""

    def __init__(self, problems: Iterable[tuple[Problem, str]], source: str) -> None:
        found = sorted(problems, key=lambda pair: pair[0])
        self.problems = tuple(problem for problem, _ in found)
        count = f"{len(found)} problem{'s' if len(found) != 1 else ''}"
        shown = [_with_excerpt(problem, excerpt) for problem, excerpt in found[:MOST_SHOWN]]
        if len(found) > MOST_SHOWN:
            shown.append(f"… and {len(found) - MOST_SHOWN:,} more")
        super().__init__("\n".join((f"{source}: {count}", *shown)), found, source)


def _with_excerpt(problem: Problem, excerpt: str) -> str:
    return f"{problem}\n{excerpt}" if excerpt else str(problem)


def suggest(name: str, known: Iterable[str], *, alike: float = 0.6) -> str:
    """Return ` Did you mean ...?` with the known name most like this one, or nothing if none is.

    >>> suggest("Digti", ["Digit", "Sum"])
    ' Did you mean `Digit`?'
    """
    if len(name) > LONGEST_COMPARED:  # the comparison is quadratic in the length
        return ""
    by_lower: dict[str, str] = {}
    pairs = 0  # of characters: comparing takes time in proportion
    for word in itertools.islice(known, MOST_COMPARED):
        pairs += len(name) * len(word)
        if pairs > MOST_PAIRS:
            break
        by_lower[word.lower()] = word
    nearest = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=alike)
    return f" Did you mean `{by_lower[nearest[0]]}`?" if nearest else ""


def clipped(text: str) -> str:
    """Return a name or a label for a message, cut if it is long."""
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def listed(names: Iterable[object]) -> str:
    """Return the first few names or labels for a message, and `…` for the others.

    >>> listed(range(1_000_000))
    '0, 1, 2, 3, 4, 5, …'
    """
    first = [clipped(str(name)) for name in itertools.islice(names, MOST_LISTED + 1)]
    return ", ".join(first[:MOST_LISTED] + ["…"] * (len(first) > MOST_LISTED))


class _Shown(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 2 * LONGEST_SHOWN

    def repr_int(self, x: int, level: int) -> str:  # noqa: ARG002  # the base class names them
        # Python refuses to write integers of thousands of digits.
        return repr(x) if x.bit_length() < 200 else f"<integer of {x.bit_length():,} bits>"


_SHOWN = _Shown()


def shown(value: object) -> str:
    """Return the `repr` of a value for a message, cut if it is long.

    >>> shown(10**5000)
    '<integer of 16,610 bits>'
    """
    return _SHOWN.repr(value)
