"""Records of a task as tables: means over seeds, broken runs, and published figures beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, NamedTuple

from residuum.field.task import Task
from residuum.results import Record, Summary, mean_and_deviation
from residuum.results.records import canonical

MISSING: Final = "–"

MARGIN: Final = 8.0
"""Points. A run that ends further below the median of its cell is broken, as in the studies."""

LEAST_RUNS: Final = 5
"""In cells of fewer runs only those that diverged count as broken."""


class Row(NamedTuple):
    """A method: its measures, and how many of its runs broke; or figures that others printed."""

    method: str
    measures: dict[str, Summary]
    runs: int
    broken: int
    seconds: float | None
    source: str = ""


@dataclass(frozen=True)
class TaskTable:
    """The runs of one part of a task on one split, a row for each method."""

    task: Task
    part: str
    split: str
    is_quick: bool
    rows: Sequence[Row]

    @property
    def title(self) -> str:
        """The title of the table."""
        named = f"{self.task.title}, {self.part}" if self.part else self.task.title
        quick = ", quick" if self.is_quick else ""
        return f"{named} ({'TEST' if self.split == 'test' else 'validation'}{quick})"

    @property
    def heads(self) -> Sequence[str]:
        """The names of the columns."""
        measures = self.task.measures.values()
        named = [f"{one.words}, {one.unit}" if one.unit else one.words for one in measures]
        return ["method", *named, "runs", "seconds", "source"]

    def lines(self, bold: str) -> Iterable[Sequence[str]]:
        """Return the rows as text.

        `bold` is put around the best mean of our own. If `bold` is empty, a * follows instead.
        """
        best = {name: self._best(name) for name in self.task.measures}
        for row in self.rows:
            cells = []
            for name in self.task.measures:
                found = row.measures.get(name)
                is_best = not row.source and found is not None and found.mean == best[name]
                cells.append(shown_summary(found, bold if is_best else None))
            runs = f"{row.runs}, {row.broken} broken" if row.broken else f"{row.runs}"
            seconds = MISSING if row.seconds is None else f"{row.seconds:.0f}"
            source = row.source or "our runs"
            yield [row.method, *cells, MISSING if row.source else runs, seconds, source]

    def to_json(self) -> dict[str, Any]:
        """Return the table as plain data."""
        rows = [
            {
                "method": row.method,
                "measures": {name: one.mean for name, one in row.measures.items()},
                "deviations": {name: one.deviation for name, one in row.measures.items()},
                "runs": row.runs,
                "broken": row.broken,
                "seconds": row.seconds,
                "source": row.source,
            }
            for row in self.rows
        ]
        return {
            "task": self.task.name,
            "part": self.part,
            "split": self.split,
            "quick": self.is_quick,
            "rows": rows,
        }

    def _best(self, measure: str) -> float | None:
        """Return the best mean of our own; None where all are the same."""
        own = {row.measures[measure].mean for row in self.rows if not row.source}
        return self.task.measures[measure].best(own) if len(own) > 1 else None


def tables_of(
    task: Task, records: Iterable[Record], *, split: str = "test", is_quick: bool = False
) -> list[TaskTable]:
    """Return a table for each part of a task that has records with the settings of its page.

    Published figures stand beside runs on TEST that are not quick.
    Runs with other settings, such as trials on validation data, are left out.
    """
    own = [one for one in records if one.study == task.study and one.scheme == task.scheme]
    found = []
    for part in task.parts:
        rows = []
        for method in task.methods_of(part):
            wanted = canonical(
                {
                    **task.settings_of(method, part, is_quick=is_quick),
                    "method": method,
                    "part": part,
                    "split": split,
                    "quick": is_quick,
                },
                "settings",
            )
            cell = [one for one in own if _without_seed(one) == wanted]
            if cell:
                rows.append(_row(task, method, cell))
        if rows:
            are_comparable = split == "test" and not is_quick
            published = [
                _printed(one.method, one.figures, one.source)
                for one in task.published
                if are_comparable and one.part == part
            ]
            found.append(TaskTable(task, part, split, is_quick, [*rows, *published]))
    return found


def _without_seed(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record.configuration.items() if name != "seed"}


def _row(task: Task, method: str, cell: Sequence[Record]) -> Row:
    """Return the row of a method: runs that diverged count at chance level.

    Broken are the runs that diverged, and those whose first measure, if it is in percent, is far
    on the wrong side of the median.
    """
    values = {
        name: [r.measures[name] if r.diverged is None else measure.chance for r in cell]
        for name, measure in task.measures.items()
    }
    measure, first = next(iter(task.measures.values())), next(iter(values.values()))
    is_judged = measure.unit == "%" and len(cell) >= LEAST_RUNS
    broken = sum(
        run.diverged is not None or (is_judged and measure.behind(one, median(first)) > MARGIN)
        for run, one in zip(cell, first, strict=True)
    )
    summaries = {name: mean_and_deviation(ones) for name, ones in values.items()}
    seconds = median(run.seconds for run in cell)
    return Row(method, summaries, len(cell), broken, seconds)


def _printed(method: str, figures: Any, source: str) -> Row:
    measures = {name: Summary(value, None, 1) for name, value in figures.items()}
    return Row(method, measures, 0, 0, None, source)


def shown_summary(found: Summary | None, bold: str | None) -> str:
    """Return a mean and its deviation as text; the mean stands out unless `bold` is None."""
    if found is None:
        return MISSING
    spread = "" if found.deviation is None else f" ± {found.deviation:.1f}"
    if bold is None:
        return f"{found.mean:.1f}{spread}"
    return f"{bold}{found.mean:.1f}{bold}{spread}" + ("" if bold else "*")
