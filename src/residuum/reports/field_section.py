"""The section of the field's own tasks: all of them in one table, and the tables of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from residuum.errors import ResiduumError
from residuum.field import Comparison, Task, TaskTable, compare_tasks, find_tasks, tables_of
from residuum.field.task import PREFIX
from residuum.reports.blocks import Block, Commands, Fold, Items, Section, Text
from residuum.reports.study_blocks import report_table
from residuum.results import Record

TITLE: Final = "The field's tasks: addition, paths, hierarchies, citations, requirements"


def field_section(records: Sequence[Record]) -> Section:
    """Report the runs of tasks of the field among the records."""
    own = [record for record in records if record.study.startswith(PREFIX)]
    if not own:
        words = Text("No runs of these tasks were found. These commands make some:")
        commands = Commands(["residuum field --list", "residuum field NAME", "residuum report"])
        return Section("field", TITLE, [words, commands])
    try:
        tasks = find_tasks()
    except ResiduumError as error:
        return Section("field", TITLE, [], [f"The runs of the tasks are not shown: {error}"])
    words = Text(
        "Each method learns each task; a cell has the mean and the deviation of the first measure "
        "over seeds, on TEST. The mean rank counts the methods that all tasks have."
    )
    compared = compare_tasks(tasks, own)
    shown = [_table_of_all(compared)] if compared.columns else []
    return Section("field", TITLE, [words, *shown, *(_folded(task, own) for task in tasks)])


def _table_of_all(compared: Comparison) -> Block:
    rows: list[dict[str, Any]] = compared.to_json()["rows"]
    numbers = [
        {"method": row["method"], **_task_of(column), "mean": mean}
        for row in rows
        for column, mean in zip(compared.columns, row["means"], strict=True)
    ]
    return report_table(compared, "field", "residuum field --compare", numbers)


def _task_of(table: TaskTable) -> dict[str, Any]:
    return {"task": table.task.name, "part": table.part}


def _folded(task: Task, records: Sequence[Record]) -> Block:
    """Return the tables of a task below its title."""
    blocks: list[Block] = [Text(f"{task.shows[:1].upper()}{task.shows[1:]}.")]
    for number, table in enumerate(tables_of(task, records), start=1):
        numbers = [{**_task_of(table), **row} for row in table.to_json()["rows"]]
        name, command = f"field-{task.name}-{number}", f"residuum field {task.name} --table"
        blocks.append(report_table(table, name, command, numbers))
    notes = [Items(task.notes)] if task.notes else []
    return Fold(task.title, [*blocks, *notes])
