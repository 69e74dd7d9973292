"""A report of a few tautologies and of runs whose results are made up."""

from functools import cache

from made_up_chunk_runs import run as chunk_run
from made_up_chunk_runs import runs as chunk_runs
from made_up_runs import runs
from residuum.analysis import Cell, catalogue, consistency
from residuum.relaxations import default_relaxations
from residuum.reports.page import render_page
from residuum.reports.sections import SECTIONS, ReportData
from residuum.study.digits.settings import TUNING

ROWS = ("A1", "A3", "DM2")
ACCURACIES = {"s-godel": 60, "s-product": 80, "r-product": 95, "lukasiewicz-maxsat": 70}
F1S = {"s-godel": 60, "s-product": 78, "r-product": 80, "lukasiewicz-maxsat": 70}


def some_records():
    finished = [one for name, accuracy in ACCURACIES.items() for one in runs(name, accuracy)]
    finished += runs("r-product", 90, protocol="pipeline", pair_size=1000)
    finished += runs("s-product", 90, pair_pool="original", digit_size=25000)
    tried = [
        one
        for weight in (0.01, 0.1, 1.0)
        for one in runs("r-product", 60 + 30 * weight, study=TUNING, weight=weight)
    ]
    return [*finished, *tried, *some_chunking()]


def some_chunking():
    """Table 9 for a tenth of the sentences, other weights of one relaxation, and one of the sample.

    All sentences of CoNLL-2000 were used by one run alone.
    """
    without = [one for name, f1 in F1S.items() for one in chunk_runs(name, f1)]
    ruled = [one for name, f1 in F1S.items() for one in chunk_runs(name, f1, constraints=True)]
    weighed = [
        one
        for weight in (0.1, 10.0)
        for one in chunk_runs("r-product", 79, constraints=True, weight=weight)
    ]
    spread = chunk_runs("r-product", 81, constraints=True, unlabelled=True)
    lone = chunk_run("s-product", 20, 90, fraction=1.0)
    quick = chunk_run("r-product", 0, 70, corpus="sample", embeddings=None, fraction=1.0)
    return [*without, *ruled, *weighed, *spread, lone, quick]


def some_cells():
    chosen = default_relaxations(())
    return [
        [Cell(row, one, consistency(row.formula, one), row.printed.get(one.name)) for one in chosen]
        for row in catalogue()
        if row.name in ROWS
    ]


def some_sections(records):
    data = ReportData(default_relaxations(()), some_cells(), records)
    return [make(data) for make in SECTIONS]


@cache
def usual_sections():
    """The sections about `some_records`, drawn once for the tests of all files."""
    return some_sections(some_records())


@cache
def usual_page():
    return render_page(usual_sections())
