"""The section of the field's tasks: one table of all, the tables of each, and what is missing."""

import csv
import io

import pytest

from made_up_tasks import make_record, make_task
from residuum.errors import ResiduumError
from residuum.field import tables_of
from residuum.reports import field_section as section_of_field
from residuum.reports.blocks import Fold, Table
from residuum.reports.exports import to_csv
from residuum.reports.field_section import field_section
from residuum.reports.page import render_page

TASKS = [
    make_task(name="one", title="Task <one>", notes=["A note."]),
    make_task(name="two", title="Task two"),
    make_task(name="lone", title="Task three"),
]


@pytest.fixture
def tasks(monkeypatch):
    monkeypatch.setattr(section_of_field, "find_tasks", lambda: TASKS)


def some_records():
    return [
        *(make_record(TASKS[0], m, n, v + n) for m, v in (("a", 90), ("b", 80)) for n in (1, 2)),
        *(make_record(TASKS[1], m, 1, v) for m, v in (("a", 70.0), ("b", 60.0))),
    ]


@pytest.mark.usefixtures("tasks")
def test_all_tasks_stand_in_one_table_and_each_in_its_own():
    section = field_section(some_records())
    compared, *others = section.all(Table)
    assert list(compared.heads) == ["method", "one: right", "two: right", "mean rank"]
    rows = [[(cell.text, cell.stands_out) for cell in row] for row in compared.rows]
    assert rows == [
        [("a", False), ("91.5 ± 0.7", True), ("70.0", True), ("1.0", False)],
        [("b", False), ("81.5 ± 0.7", False), ("60.0", False), ("2.0", False)],
    ]
    assert [table.title for table in others] == [
        table.title for task in TASKS for table in tables_of(task, some_records())
    ]
    assert [one.title for one in section.blocks if isinstance(one, Fold)] == [
        "Task <one>", "Task two", "Task three",
    ]  # fmt: skip
    page = render_page([section])
    assert "Task &lt;one&gt;" in page
    assert "A note." in page


@pytest.mark.usefixtures("tasks")
def test_the_files_of_tables_hold_means():
    compared, first, *_ = field_section(some_records()).all(Table)
    rows = list(csv.DictReader(io.StringIO(to_csv(compared))))
    assert [(row["method"], row["task"], float(row["mean"])) for row in rows] == [
        ("a", "one", 91.5), ("a", "two", 70.0), ("b", "one", 81.5), ("b", "two", 60.0),
    ]  # fmt: skip
    assert [row["method"] for row in csv.DictReader(io.StringIO(to_csv(first)))] == [
        "a", "b", "others",
    ]  # fmt: skip


def test_without_runs_the_section_says_how_to_make_some():
    section = field_section([])
    assert not list(section.all(Table))
    assert "residuum field NAME" in render_page([section])


@pytest.mark.usefixtures("tasks")
def test_one_method_alone_is_compared_with_nothing():
    section = field_section(some_records()[:1])
    [table] = section.all(Table)
    assert table.title == "Task <one> (TEST)"


def test_pages_that_are_missing_are_a_warning(monkeypatch):
    def fail():
        raise ResiduumError("expected the folder examples/field")

    monkeypatch.setattr(section_of_field, "find_tasks", fail)
    section = field_section(some_records())
    assert section.warnings == [
        "The runs of the tasks are not shown: expected the folder examples/field"
    ]
