"""The format of tables: what every table offers, and its form as text and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from residuum.results import Summary
from residuum.study.broken_runs import Broken

MISSING: Final = "–"


class Table(Protocol):
    """A title, the names of columns, and rows of text that begin with a name."""

    @property
    def title(self) -> str:
        """The title of the table."""

    @property
    def heads(self) -> Sequence[str]:
        """The names of the columns."""

    def lines(self, bold: str) -> Iterable[Sequence[str]]:
        """Return the rows as text.

        `bold` is put before and after what stands out. If `bold` is empty, a * follows instead.
        """

    def to_json(self) -> dict[str, Any]:
        """Return the table as plain data."""


def to_markdown(table: Table) -> str:
    """Return a table in Markdown, its title in front."""
    lines = [table.heads, ["---"] + ["---:"] * (len(table.heads) - 1), *table.lines("**")]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    title = re.sub(
        r"([\\`*_{}\[\]<>|~&])", r"\\\1", table.title
    )  # the name of a corpus may hold any character
    return f"{title}\n\n{body}\n"


def shown(summary: Summary | None, decimals: int = 1) -> str:
    """Return a mean, and a deviation if it is known, as text."""
    if summary is None:
        return MISSING
    return marked(summary.mean, summary.deviation, False, "", decimals)


def beside_broken(text: str, median: float | None, broken: Broken, decimals: int = 1) -> str:
    """Return the text of a cell, with the median and the number of broken runs if there are any."""
    if median is None or not broken.broken:
        return text
    return f"{text}, median {median:.{decimals}f}, {broken}"


def marked(
    mean: float, deviation: float | None, stands_out: bool, bold: str, decimals: int = 1
) -> str:
    """Return a mean and a deviation as text, marked by `bold` or by a * if it stands out."""
    number = f"{mean:.{decimals}f}"
    if stands_out and bold:
        number = f"{bold}{number}{bold}"
    spread = "" if deviation is None else f" ({deviation:.{decimals}f})"
    return f"{number}{spread}" + ("*" if stands_out and not bold else "")
