"""Tables of the chunking study from records: means over seeds, and differences.

`Figures` is a table like the paper's. `Differences` shows what changes if rules are learnt, or
obeyed in decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from residuum.results import Comparison, Summary, find_best_of_each, holm
from residuum.study.broken_runs import Broken
from residuum.study.chunking.findings import F1, Decoding, Findings, Setting, System, label
from residuum.study.chunking.published import published_f1
from residuum.study.common_settings import PAPER
from residuum.study.decisions import SIGNIFICANCE
from residuum.study.table_format import MISSING, Table, beside_broken, marked

NOTES: Final = (
    (
        "Means in percent, with deviations over seeds (divided by n − 1), above what was printed; "
        "+ C: with rules, unlabelled: rules also on sentences without labels. Bold or *: not "
        "significantly worse than the best relaxation of the row (p > 0.05) by the bootstrap over "
        "seeds and test sentences. Differences are in points, with intervals of 95% by the same "
        "bootstrap; bold or *: not 0 (p ≤ 0.05). All is corrected by Holm for all comparisons of "
        "its table."
    ),
    (
        "Tags that obey the rules break none. The printed figures are of one seed, of vectors of "
        "300 dimensions and of rules that related a word to itself; bold there means best. "
        f"{MISSING}: not run."
    ),
)
"""What the tables mean, in paragraphs."""

TITLES: Final = {
    "f1": "F1 of the likeliest tags",
    "viterbi_f1": "F1 of the likeliest tags that obey the rules",
    "violations": "Transitions of the likeliest tags that break the rules",
    "soft_violations": "Transitions that break the rules, by their probability",
}

DECIMALS: Final = 2
"""Decimals of a percentage, as many as the paper prints."""

_PRINTED: Final = {0.1: 10, 1.0: 100}
"""The fractions of the sentences that the paper has, in percent."""


class Row(NamedTuple):
    """A row: a fraction of the sentences, and what is learnt beside their labels."""

    fraction: float
    constraints: bool
    unlabelled: bool

    @property
    def name(self) -> str:
        """The name of the row, as in the paper."""
        return f"{100 * self.fraction:g}%{label(self.system(''))}"

    def system(self, relaxation: str) -> System:
        """Return the system of this row with a relaxation."""
        return System(relaxation, self.constraints, self.unlabelled)


@dataclass(frozen=True)
class Texts:
    """The corpus and the word vectors of the runs in a table."""

    corpus: str
    embeddings: str

    def setting(self, row: Row) -> Setting:
        """Return the setting of a row."""
        return Setting(self.corpus, self.embeddings, row.fraction)

    def __str__(self) -> str:
        return f"{self.corpus}, {f'vectors {self.embeddings}' if self.embeddings else 'no vectors'}"


def tables(findings: Findings, decodings: Sequence[Decoding]) -> list[Table]:
    """Return the tables of all runs; a relaxation of the paper without runs has empty cells."""
    found: list[Table] = []
    for texts in sorted({(one.corpus, one.embeddings) for one in findings.settings}):
        found += tables_of(findings, Texts(*texts), decodings)
    return found


def tables_of(findings: Findings, texts: Texts, decodings: Sequence[Decoding]) -> Iterator[Table]:
    """Yield the tables of one corpus with one set of word vectors."""
    run = {
        (Row(setting.fraction, system.constraints, system.unlabelled), system.relaxation)
        for setting in findings.settings
        if (setting.corpus, setting.embeddings) == (texts.corpus, texts.embeddings)
        for system in findings.systems(setting)
    }
    rows = sorted({row for row, _ in run}, key=lambda row: (row[1:], row.fraction))
    names = (*PAPER, *sorted({name for _, name in run} - {*PAPER}))
    measures = [F1[decoding] for decoding in decodings]
    for measure in (*measures, "violations", "soft_violations"):
        yield make_figures(findings, texts, measure, rows, names)
    if any(row.constraints for row in rows):
        for measure in measures:
            yield by_rules(findings, texts, measure, rows, names)
    if len(decodings) > 1:
        yield by_decoding(findings, texts, rows, names)


class Cell(NamedTuple):
    """A mean over seeds, whether no other is significantly better, and the printed figure.

    `broken` counts the broken runs of the cell, in whatever measure the table shows.
    """

    summary: Summary | None
    printed: float | None
    is_best: bool
    median: float | None
    broken: Broken


@dataclass(frozen=True)
class Figures:
    """One measure: fractions of the sentences, with and without rules, by relaxations."""

    texts: Texts
    measure: str
    relaxations: tuple[str, ...]
    rows: Mapping[Row, tuple[Cell, ...]]

    @property
    def title(self) -> str:
        """The measure, the corpus and the number of seeds, and the number of the paper's table."""
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
        """Yield the rows as text, each followed by the figures that the paper printed, if any."""
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
        """Return the table as plain data, with one object for each cell that has runs."""
        cells = [
            {
                "relaxation": relaxation,
                **row._asdict(),
                "mean": cell.summary.mean,
                "deviation": cell.summary.deviation,
                "seeds": cell.summary.count,
                "median": cell.median,
                "broken": cell.broken.broken,
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
    """Return the table of a measure; a relaxation without runs has empty cells."""
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
                # With a single relaxation there is nothing to compare.
                row in best and len(found) > 1 and name in best[row].ties,
                findings.median(texts.setting(row), row.system(name), measure),
                findings.broken(texts.setting(row), row.system(name)),
            )
            for name in names
        )
        for row, found in summaries.items()
    }
    return Figures(texts, measure, names, cells)


def _printed(texts: Texts, measure: str, row: Row, relaxation: str) -> float | None:
    """Return the printed F1. The paper's Łukasiewicz is the MAX-SAT form."""
    percent = _PRINTED.get(row.fraction)
    is_the_papers = texts.corpus == "conll2000" and measure == "f1" and not row.unlabelled
    if percent is None or not is_the_papers or relaxation == "lukasiewicz":
        return None
    name = relaxation.removesuffix("-maxsat")
    return published_f1(name, percent, constraints=row.constraints)


def _shown(cell: Cell, bold: str) -> str:
    if cell.summary is None:
        return MISSING
    text = marked(cell.summary.mean, cell.summary.deviation, cell.is_best, bold, DECIMALS)
    return beside_broken(text, cell.median, cell.broken, DECIMALS)


@dataclass(frozen=True)
class Differences:
    """What changes if rules are learnt, or obeyed in decoding: a comparison in each cell.

    `name` is short, and unique among the tables of the same `texts`.
    """

    name: str
    texts: Texts
    subject: str
    relaxations: tuple[str, ...]
    rows: Mapping[Row, tuple[Comparison | None, ...]]

    @property
    def title(self) -> str:
        """The difference that the table shows, and the corpus."""
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
        """P-values by row and column, corrected by Holm for all cells of the table."""
        found = {
            (row, place): cell.p_value
            for row, cells in self.rows.items()
            for place, cell in enumerate(cells)
            if cell is not None and cell.p_value is not None
        }
        return dict(zip(found, holm(list(found.values())), strict=True))

    def to_json(self) -> dict[str, Any]:
        """Return the table as plain data, with one object for each comparison."""
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
    """Return how learning rules changes a measure, for the rows with rules."""

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
    """Return how obeying the rules in decoding changes F1."""

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
