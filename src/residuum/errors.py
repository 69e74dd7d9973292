"""One family of exceptions: everything residuum raises on purpose is a ResiduumError."""

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
    """Base of every error residuum raises on purpose; also a ValueError."""


class InvalidNameError(ResiduumError):
    """A name that could not be written in the text syntax, or a value that is no constant."""


class NotTextError(ResiduumError, TypeError):
    """Something other than text was given where text is read; also a TypeError."""


class UnsupportedNodeError(ResiduumError):
    """A pass met a kind of node it has no case for."""


class FormulaTooLargeError(ResiduumError):
    """A formula's text, or its expansion over a domain, would exceed a documented limit."""


class EvaluationError(ResiduumError):
    """A formula or term cannot be evaluated: a missing atom, `mod` by zero, an unknown domain."""


class UndecidedError(ResiduumError):
    """A yes-or-no question was used as a Boolean although its answer is unknown."""


class UnknownRelaxationError(ResiduumError):
    """No relaxation has this name, or a parameter is out of range."""


class RelaxationParameterError(UnknownRelaxationError):
    """A relaxation by a known name, with a parameter that it cannot have."""


class InexactError(ResiduumError):
    """Exact fractions were given to a relaxation that is not rational."""


class DegreeError(ResiduumError):
    """A degree of truth is missing, out of [0, 1], not a number, or of the wrong shape."""


class GroundingError(ResiduumError):
    """A rule cannot be grounded: an unknown domain, a term that leaves its domain, a bad shape."""


class InvalidGeneratorError(ResiduumError):
    """A function offered as an additive generator is not one."""


class PictureError(ResiduumError):
    """A picture cannot be drawn of this formula, or not be saved where it was asked for."""


class DataError(ResiduumError):
    """The data of a study are missing, damaged, or too few for what was asked of them."""


class RecordError(ResiduumError):
    """A value that no record can hold, or a store or archive that cannot be read or written."""


class ComparisonError(ResiduumError):
    """Runs that cannot be compared: too few, of different shapes, or not numbers."""


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong in a text: where (both counted from 1) and what."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


class FormulaSyntaxError(ResiduumError):
    """Text that is not a formula; the message ends with the line and a caret under it."""

    def __init__(self, problem: Problem, excerpt: str) -> None:
        super().__init__(f"{problem}\n{excerpt}" if excerpt else str(problem))
        self._arguments = problem, excerpt
        self.problem = problem
        self.line = problem.line
        self.column = problem.column

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments


class KnowledgeError(ResiduumError):
    """A rule file that cannot be loaded, with every problem found in it, in order."""

    def __init__(self, problems: Iterable[tuple[Problem, str]], source: str) -> None:
        found = sorted(problems, key=lambda pair: pair[0])
        self._arguments = found, source
        self.problems = tuple(problem for problem, _ in found)
        count = f"{len(found)} problem{'s' if len(found) != 1 else ''}"
        shown = [f"{problem}\n{excerpt}" for problem, excerpt in found[:MOST_SHOWN]]
        if len(found) > MOST_SHOWN:
            shown.append(f"… and {len(found) - MOST_SHOWN:,} more")
        super().__init__("\n".join((f"{source}: {count}", *shown)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments


def suggest(name: str, known: Iterable[str], *, alike: float = 0.6) -> str:
    """Return ` Did you mean ...?` for the known name nearest to this one, or nothing.

    >>> suggest("Digti", ["Digit", "Sum"])
    ' Did you mean `Digit`?'
    """
    if len(name) > LONGEST_COMPARED:  # the comparison is quadratic in the length
        return ""
    by_lower: dict[str, str] = {}
    pairs = 0  # of characters: what comparing costs
    for word in itertools.islice(known, MOST_COMPARED):
        pairs += len(name) * len(word)
        if pairs > MOST_PAIRS:
            break
        by_lower[word.lower()] = word
    nearest = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=alike)
    return f" Did you mean `{by_lower[nearest[0]]}`?" if nearest else ""


def clipped(text: str) -> str:
    """Return a name or a label as a message shows it: cut where it is long."""
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def listed(names: Iterable[object]) -> str:
    """Return the first few names or labels as a message lists them.

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
    """Return what `repr` says of a value that was found, cut where it is long.

    >>> shown(10**5000)
    '<integer of 16,610 bits>'
    """
    return _SHOWN.repr(value)
