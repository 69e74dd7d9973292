"""All tables of all tasks as one page of Markdown, for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from residuum.field.comparing import compare_tasks
from residuum.field.tables import tables_of
from residuum.field.task import Task
from residuum.results import Record
from residuum.study.table_format import to_markdown

HEAD: Final = """\
# The field's tasks: tables

Printed by `residuum field --table --markdown` from the records in `results/`: runs on TEST with \
the settings of the pages. The best mean of our own is bold. [The field's own tasks](field.md) \
says how it is measured.
"""

NO_RUNS: Final = "There are no runs of all seeds yet."


def tables_page(tasks: Sequence[Task], records: Iterable[Record]) -> str:
    """Return the tables of full runs on TEST: all tasks in one, then a section for each task."""
    return "\n".join(_parts(tasks, list(records))).rstrip("\n")


def _parts(tasks: Sequence[Task], records: Sequence[Record]) -> Iterator[str]:
    yield HEAD
    compared = compare_tasks(tasks, records)
    if compared.columns:
        yield to_markdown(compared)
    for task in tasks:
        tables = tables_of(task, records)
        yield f"## {task.title}\n"
        yield f"{task.shows[:1].upper()}{task.shows[1:]}: `residuum field {task.name}`.\n"
        yield from (to_markdown(table) for table in tables)
        if not tables:
            yield f"{NO_RUNS}\n"
        elif task.notes:
            yield "".join(f"- {note}\n" for note in task.notes)
