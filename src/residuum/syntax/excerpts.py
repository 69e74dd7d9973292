"""Where something is wrong in a text, shown as the line with a caret under it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from residuum.errors import Problem
from residuum.limits import MOST_SHOWN

WIDEST_EXCERPT = 76


class Mistake(NamedTuple):
    """One thing wrong in a text: at which character, and what."""

    offset: int
    message: str


class Misread(Exception):  # noqa: N818  # never reaches a user: it becomes an error in words
    """What keeps a text from being read any further."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.mistake = Mistake(offset, message)


def explain(text: str, mistakes: Iterable[Mistake]) -> list[tuple[Problem, str]]:
    """Return each mistake once, in the order of the text, with its line, column and excerpt.

    Those past the ones that an error message shows have no excerpt.

    >>> [(problem, _)] = explain("a\\nbc", [Mistake(3, "no")])
    >>> print(problem)
    line 2, column 2: no
    """
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    explained: list[tuple[Problem, str]] = []
    for offset, message in sorted(set(mistakes)):
        line = bisect_right(starts, offset)
        problem = Problem(line, offset - starts[line - 1] + 1, message)
        is_shown = len(explained) < MOST_SHOWN
        explained.append((problem, excerpt(lines, problem) if is_shown else ""))
    return explained


def excerpt(lines: Sequence[str], problem: Problem) -> str:
    """Return the problem's line and a caret under its column, cut to a readable width.

    >>> print(excerpt(["P =>", "  Q Q"], Problem(2, 5, "")))
          Q Q
            ^
    """
    line = lines[problem.line - 1] if problem.line <= len(lines) else ""
    column = problem.column - 1
    start = max(0, column - WIDEST_EXCERPT // 2) if len(line) > WIDEST_EXCERPT else 0
    shown = "".join(_visible(character) for character in line[start : start + WIDEST_EXCERPT])
    dots = "…" if start else ""
    return f"    {dots}{shown.rstrip()}\n    {' ' * (len(dots) + column - start)}^"


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"
