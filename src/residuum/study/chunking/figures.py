"""The paper's table of text chunking, from records: means over seeds above the printed figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from residuum.results import Summary, find_best_of_each
from residuum.study.chunking.findings import F1, Findings
from residuum.study.chunking.published import published_f1
from residuum.study.chunking.table_rows import DECIMALS, TITLES, Row, Texts
from residuum.study.tables import MISSING, marked

_PRINTED: Final = {0.1: 10, 1.0: 100}
"""The shares of the sentences that the paper has, in percent."""


class Cell(NamedTuple):
    """A mean over seeds, whether no other is significantly better, and the printed figure."""

    summary: Summary | None
    printed: float | None
    is_best: bool


@dataclass(frozen=True)
class Figures:
    """One measure: shares of the sentences with and without rules, by relaxations."""

    texts: Texts
    measure: str
    relaxations: tuple[str, ...]
    rows: Mapping[Row, tuple[Cell, ...]]

    @property
    def title(self) -> str:
        """What it is of, with the number of the paper's table."""
        counts = {cell.summary.count for row in self.rows.values() for cell in row if cell.summary}
        seeds = "–".join(str(count) for count in sorted({min(counts), max(counts)}))
        has_printed = any(cell.printed is not None for row in self.rows.values() for cell in row)
        number = " (the paper's table 9)" if has_printed else ""
        noun = "seed" if seeds == "1" else "seeds"
        return f"{TITLES[self.measure]}: {self.texts}, {seeds} {noun}{number}"

    @property
    def heads(self) -> list[str]:
        """The names of the columns."""
        return ["sentences", *self.relaxations]

    def lines(self, bold: str) -> Iterator[list[str]]:
        """Yield the rows as text, each followed by what was printed, if anything was."""
        for row, cells in self.rows.items():
            yield [row.name, *(_shown(cell, bold) for cell in cells)]
            printed = [cell.printed for cell in cells]
            known = [figure for figure in printed if figure is not None]
            if known:
                yield [
                    "  printed",
                    *(
                        "" if figure is None
                        else marked(figure, None, figure == max(known), bold, DECIMALS)
                        for figure in printed
                    ),
                ]  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data, one object for each cell that was run."""
        cells = [
            {
                "relaxation": relaxation,
                **row._asdict(),
                "mean": cell.summary.mean,
                "deviation": cell.summary.deviation,
                "seeds": cell.summary.count,
                "is_best": cell.is_best,
                "printed": cell.printed,
            }
            for row, cells in self.rows.items()
            for relaxation, cell in zip(self.relaxations, cells, strict=True)
            if cell.summary
        ]
        return {**vars(self.texts), "measure": self.measure, "cells": cells}


def make_figures(
    findings: Findings, texts: Texts, measure: str, rows: Sequence[Row], names: tuple[str, ...]
) -> Figures:
    """Return the table of a measure; where a relaxation was not run, is a gap."""
    summaries = {
        row: {
            name: summary
            for name in names
            if (summary := findings.summary(texts.setting(row), row.system(name), measure))
        }
        for row in rows
    }
    best = {}
    if measure in F1.values():
        best = find_best_of_each(
            {
                row: {name: one.mean for name, one in found.items()}
                for row, found in summaries.items()
            },
            lambda row, one, other: findings.compare(
                texts.setting(row), row.system(one), row.system(other), measure
            ),
        )
    cells = {
        row: tuple(
            Cell(
                found.get(name),
                _printed(texts, measure, row, name),
                # A single relaxation is not better than others.
                row in best and len(found) > 1 and name in best[row].ties,
            )
            for name in names
        )
        for row, found in summaries.items()
    }
    return Figures(texts, measure, names, cells)


def _printed(texts: Texts, measure: str, row: Row, relaxation: str) -> float | None:
    """Return what was printed; what the paper calls Łukasiewicz is its MAX-SAT form."""
    percent = _PRINTED.get(row.fraction)
    is_the_papers = texts.corpus == "conll2000" and measure == "f1" and not row.unlabelled
    if percent is None or not is_the_papers or relaxation == "lukasiewicz":
        return None
    name = relaxation.removesuffix("-maxsat")
    return published_f1(name, percent, constraints=row.constraints)


def _shown(cell: Cell, bold: str) -> str:
    if cell.summary is None:
        return MISSING
    return marked(cell.summary.mean, cell.summary.deviation, cell.is_best, bold, DECIMALS)
