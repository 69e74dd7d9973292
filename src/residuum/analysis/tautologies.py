"""The table of tautologies of the paper, and the same table computed here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from residuum.analysis.consistency import consistency
from residuum.analysis.results import Consistency
from residuum.logic import Formula, is_tautology
from residuum.relaxations import Relaxation
from residuum.syntax import parse


@dataclass(frozen=True)
class Row:
    """A formula of the table, and the figures that the paper printed for it, by relaxation."""

    name: str
    section: str
    formula: Formula
    printed: Mapping[str, float]

    @property
    def is_tautology(self) -> bool:
        """Whether the formula, as printed, is a tautology."""
        return bool(is_tautology(self.formula))


@cache
def catalogue() -> tuple[Row, ...]:
    """Return the rows of the paper's table, as printed."""
    text = resources.files("residuum.data").joinpath("tautologies.json").read_text("utf-8")
    return tuple(
        Row(row["name"], row["section"], parse(row["formula"]), row["printed"])
        for row in json.loads(text)["rows"]
    )


@dataclass(frozen=True)
class Cell:
    """A row under one relaxation: the computed value, and the printed one or None."""

    row: Row
    relaxation: Relaxation
    computed: Consistency
    printed: float | None

    @property
    def disagrees(self) -> bool:
        """Whether no value within the bounds is rounded to the printed one, with two decimals."""
        if self.printed is None:
            return False
        rounding = 0.005 + 1e-12  # a tie may be rounded up or down
        return not (self.computed.low - rounding <= self.printed <= self.computed.high + rounding)


def tautology_table(
    relaxations: Sequence[Relaxation], *, cache: bool = True
) -> Iterator[list[Cell]]:
    """Yield the cells of each row of the table, row by row as they are computed."""
    for row in catalogue():
        yield [
            Cell(row, one, consistency(row.formula, one, cache=cache), row.printed.get(one.name))
            for one in relaxations
        ]
