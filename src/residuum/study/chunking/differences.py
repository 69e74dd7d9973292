"""What changes where rules are learnt, or obeyed in decoding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from residuum.results import Comparison, holm
from residuum.study.chunking.findings import F1, Findings, System
from residuum.study.chunking.table_rows import DECIMALS, TITLES, Row, Texts
from residuum.study.deciding import SIGNIFICANCE
from residuum.study.tables import MISSING


@dataclass(frozen=True)
class Differences:
    """What changes if rules are learnt, or obeyed: one comparison in each cell.

    `name` is short, and tells it from others of the same texts.
    """

    name: str
    texts: Texts
    subject: str
    relaxations: tuple[str, ...]
    rows: Mapping[Row, tuple[Comparison | None, ...]]

    @property
    def title(self) -> str:
        """What is subtracted from what."""
        return f"{self.subject}: {self.texts}"

    @property
    def heads(self) -> list[str]:
        """The names of the columns."""
        return ["sentences", *self.relaxations]

    def lines(self, bold: str) -> Iterator[list[str]]:
        """Yield the rows as text."""
        p_values = self.p_values
        for row, cells in self.rows.items():
            yield [
                row.name,
                *(
                    _difference(cell, p_values.get((row, place)), bold)
                    for place, cell in enumerate(cells)
                ),
            ]

    @property
    def p_values(self) -> dict[tuple[Row, int], float]:
        """Those of the cells that have any, by row and place, corrected for all of them."""
        found = {
            (row, place): cell.p_value
            for row, cells in self.rows.items()
            for place, cell in enumerate(cells)
            if cell is not None and cell.p_value is not None
        }
        return dict(zip(found, holm(list(found.values())), strict=True))

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data, one object for each comparison."""
        p_values = self.p_values
        cells = [
            {
                "relaxation": self.relaxations[place],
                **row._asdict(),
                "difference": cell.difference,
                "low": cell.low,
                "high": cell.high,
                "p_value": p_values.get((row, place)),
                "note": cell.note,
            }
            for row, cells in self.rows.items()
            for place, cell in enumerate(cells)
            if cell is not None
        ]
        return {**vars(self.texts), "difference": self.subject, "cells": cells}


def by_rules(
    findings: Findings, texts: Texts, measure: str, rows: Sequence[Row], names: tuple[str, ...]
) -> Differences:
    """Return what rules change in a measure, in the rows that have them."""

    def compare(row: Row, name: str) -> Comparison | None:
        without = System(name, constraints=False)
        return findings.compare(texts.setting(row), row.system(name), without, measure)

    with_rules = [row for row in rows if row.constraints]
    subject = f"{TITLES[measure]}: with rules, less without"
    cells = _compared(with_rules, names, compare)
    return Differences(f"{measure}-by-rules", texts, subject, names, cells)


def by_decoding(
    findings: Findings, texts: Texts, rows: Sequence[Row], names: tuple[str, ...]
) -> Differences:
    """Return what it changes to obey the rules in decoding."""

    def compare(row: Row, name: str) -> Comparison | None:
        measures = F1["viterbi"], F1["argmax"]
        return findings.compare_measures(texts.setting(row), row.system(name), *measures)

    subject = "F1 of the likeliest tags that obey the rules, less F1 of the likeliest tags"
    return Differences("f1-by-decoding", texts, subject, names, _compared(rows, names, compare))


def _compared(
    rows: Sequence[Row], names: Sequence[str], compare: Callable[[Row, str], Comparison | None]
) -> dict[Row, tuple[Comparison | None, ...]]:
    return {row: tuple(compare(row, name) for name in names) for row in rows}


def _difference(cell: Comparison | None, p_value: float | None, bold: str) -> str:
    if cell is None:
        return MISSING
    number = f"{cell.difference:+.{DECIMALS}f}"
    is_clear = p_value is not None and p_value <= SIGNIFICANCE
    if is_clear and bold:
        number = f"{bold}{number}{bold}"
    if cell.low is not None and cell.high is not None:
        number += f" ({cell.low:+.{DECIMALS}f} to {cell.high:+.{DECIMALS}f})"
    return number + ("*" if is_clear and not bold else "")
