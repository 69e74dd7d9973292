"""Tables of tasks, worked by hand on made-up records."""

import pytest

from made_up_tasks import make_record, make_task
from residuum.field import Measure, Published, compare_tasks, tables_of
from residuum.results.records import Divergence


def rows(table):
    return {row.method: row for row in table.rows}


def test_a_row_has_the_mean_and_deviation_of_its_runs_and_the_median_time():
    task = make_task()
    [table] = tables_of(task, [make_record(task, "a", n, value) for n, value in ((1, 90), (2, 94))])
    row = rows(table)["a"]
    assert row.measures["right"].mean == 92
    assert row.measures["right"].deviation == pytest.approx(8**0.5)
    assert (row.runs, row.broken, row.seconds) == (2, 0, 4.5)


def test_diverged_runs_count_at_chance_and_as_broken():
    task = make_task()
    records = [
        make_record(task, "a", 1, 90.0),
        make_record(task, "a", 2, 0.0, diverged=Divergence(1, ["loss"])),
    ]
    row = rows(tables_of(task, records)[0])["a"]
    assert row.measures["right"].mean == 50  # of 90 and the chance of 10
    assert (row.runs, row.broken) == (2, 1)


@pytest.mark.parametrize(
    ("measure", "values", "broken"),
    [
        (Measure("x"), [90, 90, 90, 90, 81.9], 1),
        (Measure("x"), [90, 90, 90, 90, 82.1], 0),
        (Measure("x"), [90, 90, 90, 10], 0),  # of so few runs no one can say which is broken
        (Measure("x", 90, lower_is_better=True), [9, 9, 9, 9, 17.1], 1),
        (Measure("x", 90, lower_is_better=True), [9, 9, 9, 9, 0], 0),
        (Measure("x", unit="s"), [90, 90, 90, 90, 10], 0),  # points are percent
    ],
)
def test_runs_far_behind_the_median_are_broken(measure, values, broken):
    task = make_task(measures={"right": measure})
    records = [make_record(task, "a", n, value) for n, value in enumerate(values)]
    assert rows(tables_of(task, records)[0])["a"].broken == broken


def test_only_runs_with_the_settings_of_the_page_are_shown():
    task = make_task(settings={"rate": 1.0})
    records = [
        make_record(task, "a", 1, 90.0),
        make_record(task, "a", 2, 10.0, rate=2.0),
        make_record(task, "a", 3, 20.0, split="valid"),
        make_record(make_task(scheme=2, settings={"rate": 1.0}), "a", 4, 30.0),
        make_record(make_task(name="else", settings={"rate": 1.0}), "a", 5, 40.0),
    ]
    [table] = tables_of(task, records)
    assert rows(table)["a"].measures["right"].mean == 90
    [table] = tables_of(task, records, split="valid")
    assert rows(table)["a"].measures["right"].mean == 20


def test_published_figures_stand_beside_full_runs_on_test_and_never_in_bold():
    task = make_task()
    records = [make_record(task, m, 1, v, split=s) for s in ("test", "valid")
               for m, v in (("a", 40.0), ("b", 45.0))]  # fmt: skip
    [table] = tables_of(task, records)
    assert table.title == "Made up (TEST)"
    assert list(table.lines("**")) == [
        ["a", "40.0", "1", "4", "our runs"],
        ["b", "**45.0**", "1", "4", "our runs"],
        ["others", "50.0", "–", "–", "a book"],
    ]
    [table] = tables_of(task, records, split="valid")
    assert table.title == "Made up (validation)"
    assert [line[0] for line in table.lines("")] == ["a", "b"]


def test_the_lowest_value_stands_out_where_lower_is_better():
    task = make_task(measures={"right": Measure("time", chance=99, unit="s", lower_is_better=True)})
    [table] = tables_of(task, [make_record(task, m, 1, v) for m, v in (("a", 3.0), ("b", 2.0))])
    assert [line[1] for line in table.lines("")] == ["3.0", "2.0*", "50.0"]
    assert table.heads[1] == "time, s"


def test_a_part_without_runs_has_no_table():
    task = make_task(parts={"x": {}, "y": {}}, published=[Published("o", "x", {"right": 1}, "s")])
    [table] = tables_of(task, [make_record(task, "a", 1, 90.0, part="y")])
    assert (table.title, [row.method for row in table.rows]) == ("Made up, y (TEST)", ["a"])
    assert tables_of(task, []) == []


def test_tasks_are_compared_by_the_part_with_most_methods_and_by_shared_ranks():
    easy = make_task(name="easy", parts={"x": {}, "y": {}}, published=[],
                     methods={"a": {}, "b": {}, "c": {}})  # fmt: skip
    hard = make_task(
        name="hard", measures={"right": Measure("s", chance=99, unit="", lower_is_better=True)}
    )
    lone = make_task(name="lone")
    records = [
        *(make_record(easy, m, 1, v, part="x") for m, v in (("a", 90.0), ("b", 80.0))),
        *(make_record(easy, m, 1, v, part="y") for m, v in (("a", 90.0), ("b", 80.0), ("c", 99.0))),
        *(make_record(hard, m, 1, v) for m, v in (("a", 5.0), ("b", 4.0))),
        make_record(lone, "a", 1, 10.0),
    ]
    found = compare_tasks([easy, hard, lone], records)
    assert found.heads == ["method", "easy y: right", "hard: s", "mean rank"]
    assert list(found.lines("**")) == [
        ["a", "**90.0**", "5.0", "1.5"],
        ["b", "80.0", "**4.0**", "1.5"],
    ]  # "c" is in one task alone
    assert found.to_json()["rows"][0] == {"method": "a", "means": [90.0, 5.0], "mean rank": 1.5}


def test_equal_methods_share_a_rank():
    tasks = [make_task(name=name) for name in ("one", "two")]
    values = {"one": {"a": 3.0, "b": 3.0}, "two": {"a": 2.0, "b": 1.0}}
    records = [make_record(task, m, 1, v) for task in tasks for m, v in values[task.name].items()]
    found = compare_tasks(tasks, records)
    assert (found.rank("a"), found.rank("b"), found.rank("c")) == (1.25, 1.75, None)


def test_one_task_has_no_ranks_and_none_has_no_columns():
    task = make_task()
    records = [make_record(task, m, 1, 1.0) for m in "ab"]
    assert compare_tasks([task], records).rank("a") is None
    assert compare_tasks([task], []).columns == []


def test_a_method_that_shares_all_tasks_with_no_other_has_no_rank():
    methods = {name: {} for name in "abc"}
    one, two = (make_task(name=name, methods=methods) for name in ("one", "two"))
    records = [make_record(one, m, 1, 1.0) for m in "ab"]
    records += [make_record(two, m, 1, 1.0) for m in "ac"]
    assert compare_tasks([one, two], records).rank("a") is None
