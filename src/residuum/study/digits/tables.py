"""Tables like the paper's from records: means over seeds, above the printed figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from residuum.results import Summary
from residuum.study.broken_runs import LEAST_RUNS, MARGIN, Broken
from residuum.study.digits.data.sets import DIGIT_SIZES
from residuum.study.digits.findings import OUTCOMES, Findings, Setting, System
from residuum.study.digits.published import Published, published
from residuum.study.digits.settings import PAPER_BY_PROTOCOL
from residuum.study.table_format import MISSING, beside_broken, marked

TITLES: Final = {
    "digit_accuracy": "Accuracy of Digit",
    "operator_accuracy": "Accuracy of Sum and Product",
    "coherence": "Coherence of Sum and Product with Digit",
    "commutativity": "Commutativity",
    "associativity": "Associativity",
    "distributivity": "Distributivity",
}
"""The measures that the paper has tables of."""

NOTES: Final = (
    (
        "Means in percent, with deviations over seeds (divided by n − 1), above what was printed. "
        "Bold or *: not significantly worse than the best (p > 0.05, corrected by Holm) by the "
        "bootstrap over seeds and test images, for the laws of arithmetic by t-tests over seeds. "
        "°: likewise by t-tests over seeds alone. Relaxations that share fewer than two seeds are "
        "compared without pairing their runs. Where seeds vary much, a few of them can show little."
    ),
    (
        "Printed in bold or with *: said to be significantly better than the others. "
        f"{MISSING}: not run. Broken: runs that diverged, or end more than {MARGIN:g} points below "
        f"the median of their cell; {MISSING} where cells of fewer than {LEAST_RUNS} runs cannot "
        "tell."
    ),
)
"""What the tables mean, in paragraphs."""

# The paper's tables 3 to 8 and 10 to 25, by protocol and size of PAIR.
_NUMBERS: Final[dict[tuple[str, int], tuple[int | None, ...]]] = {
    ("joint", 1_000): (10, 11, 12, 20, 20, 20),
    ("joint", 5_000): (3, 4, 5, 21, 21, 21),
    ("joint", 25_000): (13, 14, 15, 22, 22, 22),
    ("pipeline", 1_000): (6, 16, 17, 23, 23, 23),
    ("pipeline", 5_000): (6, 7, 8, 24, 24, 24),
    ("pipeline", 25_000): (6, 18, 19, 25, 25, 25),
}


class Cell(NamedTuple):
    """A mean over seeds, whether no other is significantly better, and the printed figure.

    `broken` counts the broken runs of the cell, in whatever measure the table shows.
    """

    summary: Summary | None
    printed: Published | None
    is_best: bool
    is_best_by_seeds: bool
    median: float | None
    broken: Broken


@dataclass(frozen=True)
class DigitsTable:
    """One measure for a protocol and a size of PAIR: relaxations by sizes of DIGIT."""

    images: str
    pair_pool: str
    protocol: str
    pair_size: int
    measure: str
    digit_sizes: tuple[int, ...]
    rows: dict[str, tuple[Cell, ...]]

    @property
    def title(self) -> str:
        """The measure, the data and the number of seeds; on MNIST also the number in the paper."""
        pool = "" if self.pair_pool == "paper" else ", the authors' pool of pairs"
        seeds = _seeds_of(cell for row in self.rows.values() for cell in row)
        return (
            f"{TITLES[self.measure]}: {self.protocol}, {self.images}{pool}, PAIR "
            f"{self.pair_size:,}, {seeds} {'seed' if seeds == '1' else 'seeds'}{self._number}"
        )

    @property
    def _number(self) -> str:
        numbers = _NUMBERS.get((self.protocol, self.pair_size))
        if self.images != "mnist" or numbers is None:
            return ""
        return f" (the paper's table {numbers[list(TITLES).index(self.measure)]})"

    @property
    def heads(self) -> list[str]:
        """The names of the columns."""
        return ["DIGIT", *(f"{size:,}" for size in self.digit_sizes), "seeds", "broken"]

    def lines(self, bold: str) -> Iterator[list[str]]:
        """Yield the rows as text, each followed by the figures that the paper printed, if any.

        `bold` is put before and after what stands out. If `bold` is empty, a * follows instead.
        """
        for relaxation, cells in self.rows.items():
            runs = [_seeds_of(cells), _broken_of(cells)]
            yield [self._row_name(relaxation), *(_own(cell, bold) for cell in cells), *runs]
            if any(cell.printed for cell in cells):
                yield ["  printed", *(_printed(cell.printed, bold) for cell in cells), "", ""]

    def to_json(self) -> dict[str, Any]:
        """Return the table as plain data, with one object for each cell that has runs."""
        cells = [
            {
                "relaxation": relaxation,
                "digit_size": size,
                "mean": cell.summary.mean,
                "deviation": cell.summary.deviation,
                "seeds": cell.summary.count,
                "median": cell.median,
                "broken": cell.broken.broken,
                "is_best": cell.is_best,
                "is_best_by_seeds": cell.is_best_by_seeds,
                "printed": None if cell.printed is None else [cell.printed.mean, cell.printed.std],
            }
            for relaxation, row in self.rows.items()
            for size, cell in zip(self.digit_sizes, row, strict=True)
            if cell.summary
        ]
        names = ("images", "pair_pool", "protocol", "pair_size", "measure")
        return {**{name: getattr(self, name) for name in names}, "cells": cells}

    def _row_name(self, relaxation: str) -> str:
        """Name S-Product beside R-Product, whose pipelines are equal, unless both were run."""
        stands_for_both = self.protocol == "pipeline" and "s-product" not in self.rows
        return (
            "r-product, s-product" if stands_for_both and relaxation == "r-product" else relaxation
        )


def tables(findings: Findings) -> list[DigitsTable]:
    """Return the tables of all runs; a relaxation of the paper without runs has empty cells."""
    found = []
    kinds = {
        (setting.images, setting.pair_pool, system.protocol, setting.pair_size)
        for setting in findings.settings
        for system in findings.systems(setting)
    }
    for kind in sorted(kinds, key=lambda kind: (kind[0], kind[1] != "paper", *kind[2:])):
        found += [_table(findings, *kind, measure) for measure in TITLES]
    return found


def _table(
    findings: Findings, images: str, pair_pool: str, protocol: str, pair_size: int, measure: str
) -> DigitsTable:
    usual: Any = DIGIT_SIZES
    run = {
        setting.digit_size: {
            system.relaxation for system in findings.systems(setting) if system.protocol == protocol
        }
        for setting in findings.settings
        if (setting.images, setting.pair_pool, setting.pair_size) == (images, pair_pool, pair_size)
    }
    sizes = tuple(sorted({*usual[images], *(size for size, names in run.items() if names)}))
    paper: Sequence[str] = PAPER_BY_PROTOCOL["joint" if protocol == "joint" else "pipeline"]
    names = [*paper, *sorted(set().union(*run.values()) - {*paper})]
    columns = [
        _column(
            findings,
            Setting(images, pair_pool, size, pair_size),
            [System(protocol, name) for name in names],
            measure,
        )
        for size in sizes
    ]
    rows = {name: tuple(column[place] for column in columns) for place, name in enumerate(names)}
    return DigitsTable(images, pair_pool, protocol, pair_size, measure, sizes, rows)


def _column(
    findings: Findings, setting: Setting, systems: Sequence[System], measure: str
) -> list[Cell]:
    run = [system for system in systems if findings.summary(setting, system, measure)]
    # With a single system there is nothing to compare.
    best = findings.best(setting, run, measure) if len(run) > 1 else None
    by_seeds = findings.best(setting, run, measure, by_seeds=True) if len(run) > 1 else None
    return [
        Cell(
            findings.summary(setting, system, measure),
            _figure(setting, system, measure),
            best is not None and system.relaxation in best.ties,
            measure in OUTCOMES and by_seeds is not None and system.relaxation in by_seeds.ties,
            findings.median(setting, system, measure),
            findings.broken(setting, system),
        )
        for system in systems
    ]


def _figure(setting: Setting, system: System, measure: str) -> Published | None:
    """Return the printed figure. The paper's Łukasiewicz is the MAX-SAT form."""
    if setting.images != "mnist" or system.relaxation == "lukasiewicz":
        return None
    name = system.relaxation.removesuffix("-maxsat")
    sizes: Any = system.protocol, measure, name, setting.digit_size, setting.pair_size
    return published(*sizes)


def _seeds_of(cells: Iterable[Cell]) -> str:
    """Return the number of seeds of the cells that have runs, from the least to the most."""
    counts = {cell.summary.count for cell in cells if cell.summary}
    ends = sorted({min(counts), max(counts)}) if counts else []
    return "–".join(map(str, ends)) or MISSING


def _broken_of(cells: Iterable[Cell]) -> str:
    """Return how many runs of a row are broken; MISSING if they are too few to tell."""
    run = [cell.broken for cell in cells if cell.summary]
    broken = sum(cell.broken for cell in run)
    if not broken and (not run or min(cell.runs for cell in run) < LEAST_RUNS):
        return MISSING
    return f"{broken} of {sum(cell.runs for cell in run)}"


def _own(cell: Cell, bold: str) -> str:
    if cell.summary is None:
        return MISSING
    mark = "°" if cell.is_best_by_seeds else ""
    text = marked(cell.summary.mean, cell.summary.deviation, cell.is_best, bold) + mark
    return beside_broken(text, cell.median, cell.broken)


def _printed(figure: Published | None, bold: str) -> str:
    return "" if figure is None else marked(figure.mean, figure.std, figure.bold, bold)
