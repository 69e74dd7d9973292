"""A report of a few tautologies and of runs whose results are made up."""

from made_up_runs import runs
from residuum.analysis import Cell, catalogue, consistency
from residuum.relaxations import default_relaxations
from residuum.reports.digits_section import digits_section
from residuum.reports.environment_section import environment_section
from residuum.reports.theory_sections import (
    question_section,
    relaxations_section,
    tautologies_section,
)
from residuum.study.digits.settings import TUNING

ROWS = ("A1", "A3", "DM2")
ACCURACIES = {"s-godel": 60, "s-product": 80, "r-product": 95, "lukasiewicz-maxsat": 70}


def some_records():
    finished = [one for name, accuracy in ACCURACIES.items() for one in runs(name, accuracy)]
    finished += runs("r-product", 90, protocol="pipeline", pair_size=1000)
    finished += runs("s-product", 90, pair_pool="original", digit_size=25000)
    tried = [
        one
        for weight in (0.01, 0.1, 1.0)
        for one in runs("r-product", 60 + 30 * weight, study=TUNING, weight=weight)
    ]
    return finished + tried


def some_cells():
    chosen = default_relaxations(())
    return [
        [Cell(row, one, consistency(row.formula, one), row.printed.get(one.name)) for one in chosen]
        for row in catalogue()
        if row.name in ROWS
    ]


def some_sections(records):
    return [
        question_section(),
        relaxations_section(default_relaxations(())),
        tautologies_section(some_cells()),
        digits_section(records),
        environment_section(records),
    ]
