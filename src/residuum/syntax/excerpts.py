"""Where something is in a text, shown as the line with a caret under it."""

from __future__ import annotations

from collections.abc import Sequence

from residuum.errors import Problem

WIDEST_EXCERPT = 76


def locate(text: str, offset: int) -> tuple[int, int]:
    """Return the line and column of a character, both counted from 1.

    >>> locate("a\\nbc", 3)
    (2, 2)
    """
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


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
