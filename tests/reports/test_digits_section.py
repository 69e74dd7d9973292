"""The section of the digits study is right if relaxations were run with different seeds."""

import pytest

from made_up_runs import run, runs
from residuum.reports.blocks import Picture, Table
from residuum.reports.digits_section import digits_section

FRESH = tuple(range(1001, 1011))


def fresh(relaxation, level, **others):
    return [run(relaxation, seed, level, **others) for seed in FRESH]


@pytest.fixture(scope="module")
def mixed():
    return digits_section([*fresh("r-product", 95), *fresh("s-product", 90), *runs("s-godel", 60)])


def test_tables_say_how_many_seeds_each_relaxation_has(mixed):
    table = next(table for table in mixed.all(Table) if table.heads[0] == "DIGIT")
    rows = {row[0].text: [entry.text for entry in row[-2:]] for row in table.rows}
    assert table.heads[-2:] == ["seeds", "broken"]
    assert rows["r-product"] == rows["s-product"] == ["10", "0 of 10"]
    assert rows["s-godel"] == ["3", "–"]


def test_r_product_is_compared_with_relaxations_of_the_same_and_of_other_seeds(mixed):
    [table] = [table for table in mixed.all(Table) if table.name.endswith("significance")]
    assert {row["second"] for row in table.numbers} == {"s-product", "s-godel"}
    assert all(row["low"] < row["difference"] < row["high"] for row in table.numbers)
    assert "without pairing" in table.notes[1]


@pytest.mark.parametrize(
    ("records", "end"),
    [
        (runs("r-product", 90), "--pair-size 5000"),
        ([*runs("r-product", 90), run("s-product", 0, 90)], "--pair-size 5000"),
        ([run("r-product", 3, 90), run("s-product", 3, 90)], "--seeds 3"),
        ([*fresh("r-product", 90), *runs("s-product", 90)], "--table"),
    ],
)
def test_the_command_beside_a_picture_makes_its_runs_or_prints_its_figures(records, end):
    section = digits_section(records)
    pictures = [one for one in section.all(Picture) if one.name.endswith("measures")]
    assert [one.command.endswith(f" {end}") for one in pictures] == [True]
