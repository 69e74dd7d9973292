"""One table across all tasks: each method's first measure, and its mean rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from residuum.field.tables import MISSING, Row, TaskTable, shown_summary, tables_of
from residuum.field.task import Task
from residuum.results import Record

FEWEST: Final = 2
"""A part of a task is compared if at least this many methods have runs there."""


@dataclass(frozen=True)
class Comparison:
    """A row for each method, a column for each task: the mean of the task's first measure.

    `columns` has, for each task, the table of the part in which most methods were tried. Methods of
    one task alone are in its own table. Ranks count the methods that all columns have, so that no
    method gains by missing a hard task.
    """

    columns: Sequence[TaskTable]

    @property
    def title(self) -> str:
        """The title of the table."""
        return "All tasks (TEST)"

    @property
    def heads(self) -> Sequence[str]:
        """The names of the columns."""
        return ["method", *map(_head, self.columns), "mean rank"]

    @property
    def methods(self) -> Sequence[str]:
        """The methods that two tasks or more have, if there are two, the most frequent first."""
        named = [row.method for table in self.columns for row in _own(table)]
        least = min(2, len(self.columns))
        shared = [one for one in dict.fromkeys(named) if named.count(one) >= least]
        return sorted(shared, key=lambda one: (-named.count(one), named.index(one)))

    def rank(self, method: str) -> float | None:
        """Return the mean rank of a method that all tasks have, 1 if it is the best everywhere.

        Returns None for other methods, and where there is no other method or task to compare with.
        """
        shared = [one for one in self.methods if all(_find(table, one) for table in self.columns)]
        if method not in shared or min(len(shared), len(self.columns)) < FEWEST:
            return None
        places = []
        for table in self.columns:
            values = {one: _mean(table, one) for one in shared}
            measure = table.task.measures[_first(table)]
            behind = [measure.behind(values[method], value) for value in values.values()]
            better, equal = sum(by > 0 for by in behind), behind.count(0)
            places.append(better + (equal + 1) / 2)
        return fmean(places)

    def lines(self, bold: str) -> Iterable[Sequence[str]]:
        """Return the rows as text.

        `bold` is put around the best mean of a column. If `bold` is empty, a * follows instead.
        """
        methods = self.methods
        best = [
            table.task.measures[_first(table)].best(
                _mean(table, method) for method in methods if _find(table, method)
            )
            for table in self.columns
        ]
        for method in methods:
            cells = []
            for table, most in zip(self.columns, best, strict=True):
                row = _find(table, method)
                summary = row and row.measures[_first(table)]
                is_best = summary is not None and summary.mean == most
                broken = f", {row.broken} of {row.runs} broken" if row and row.broken else ""
                cells.append(shown_summary(summary, bold if is_best else None) + broken)
            rank = self.rank(method)
            yield [method, *cells, MISSING if rank is None else f"{rank:.1f}"]

    def to_json(self) -> dict[str, Any]:
        """Return the table as plain data."""
        return {
            "tasks": [{"task": one.task.name, "part": one.part} for one in self.columns],
            "rows": [
                {
                    "method": method,
                    "means": [
                        _mean(table, method) if _find(table, method) else None
                        for table in self.columns
                    ],
                    "mean rank": self.rank(method),
                }
                for method in self.methods
            ],
        }


def compare_tasks(tasks: Iterable[Task], records: Iterable[Record]) -> Comparison:
    """Return the table across tasks, by their runs on TEST with the settings of their pages."""
    listed, columns = list(records), []
    for task in tasks:
        tables = [one for one in tables_of(task, listed) if len(_own(one)) >= FEWEST]
        if tables:
            columns.append(max(tables, key=lambda one: len(_own(one))))
    return Comparison(columns)


def _own(table: TaskTable) -> Sequence[Row]:
    """Return the rows of our own runs; published figures are no part of the comparison."""
    return [row for row in table.rows if not row.source]


def _find(table: TaskTable, method: str) -> Row | None:
    return next((row for row in _own(table) if row.method == method), None)


def _mean(table: TaskTable, method: str) -> float:
    row = _find(table, method)
    assert row is not None
    return row.measures[_first(table)].mean


def _first(table: TaskTable) -> str:
    return next(iter(table.task.measures))


def _head(table: TaskTable) -> str:
    part = f" {table.part}" if table.part else ""
    return f"{table.task.name}{part}: {table.task.measures[_first(table)].words}"
