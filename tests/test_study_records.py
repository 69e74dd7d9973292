"""The tables and figures of the documentation are those of the records."""

import os
import subprocess
import sys
from collections import defaultdict
from functools import cache
from itertools import product
from pathlib import Path
from statistics import fmean

import pytest

from residuum.results.archive import read_archive
from residuum.results.records import run_id
from residuum.study.broken_runs import count_broken
from residuum.study.common_settings import SEEDS
from residuum.study.digits.findings import of_presets
from residuum.study.digits.published import published
from residuum.study.digits.settings import SCHEME, STUDY, preset

ROOT = Path(__file__).parents[1]
SIZES = (1000, 5000, 25_000)
# What stands in a column of the page: the protocol, the relaxation and the pool of pairs.
COLUMNS = (
    ("joint", "r-product", "paper"),
    ("joint", "s-product", "paper"),
    ("joint", "r-product", "original"),
    ("joint", "s-product", "original"),
    ("pipeline", "r-product", "paper"),
)


def page(name):
    return (ROOT / name).read_text("utf-8")


@cache
def records():
    return read_archive(ROOT / "results" / "digits.jsonl")


@cache
def accuracy(protocol, relaxation, pool, digit_size, pair_size):
    """The mean accuracy of the operators over the runs with the settings chosen."""
    place = {
        "protocol": protocol, "relaxation": relaxation, "pair_pool": pool, "images": "mnist",
        "digit_size": digit_size, "pair_size": pair_size,
    }  # fmt: skip
    found = [
        run
        for run in of_presets(records()).records
        if place.items() <= dict(run.configuration).items()
    ]
    assert sorted(run.configuration["seed"] for run in found) == sorted(SEEDS)
    return fmean(run.measures["operator_accuracy"] for run in found)


def printed(protocol, relaxation, digit_size, pair_size):
    return published(protocol, "operator_accuracy", relaxation, digit_size, pair_size).mean


def test_no_fresh_run_of_the_products_is_broken():
    cells = defaultdict(list)
    for run in records():
        given = run.configuration
        if given["seed"] in range(1001, 1011):
            cells[given["relaxation"], given["digit_size"], given["pair_size"]].append(run)
    assert set(cells) == set(product(("r-product", "s-product"), SIZES, SIZES))
    for runs in cells.values():
        assert count_broken(runs, "operator_accuracy") == (0, 10)


@pytest.mark.parametrize("study", ["digits", "chunking"])
def test_the_page_of_tables_is_what_the_records_say(study, tmp_path):
    shown = subprocess.run(
        [sys.executable, "-m", "residuum", "study", study, "--table", "--markdown"],
        cwd=ROOT,
        env={**os.environ, "RESIDUUM_STORE": str(tmp_path / "none.sqlite")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert page(f"docs/{study}-tables.md").split("\n\n", 2)[2] == shown, (
        f"run `residuum study {study} --table --markdown` and put what it prints on the page"
    )


def test_the_figures_of_the_readme_are_those_of_the_records():
    readme = page("README.md")
    for name, relaxation in (("R-Product learns", "r-product"), ("S-Product", "s-product")):
        found = readme.index(name, readme.index("5,000"))
        ours = accuracy("joint", relaxation, "paper", 1000, 5000)
        figures = f"to {ours:.1f}% ({printed('joint', relaxation, 1000, 5000):.1f}%"
        assert readme.index(figures, found) - found < 80


@pytest.mark.parametrize("pair_size", SIZES)
@pytest.mark.parametrize("digit_size", SIZES)
def test_the_findings_show_how_far_above_the_paper_operators_are(digit_size, pair_size):
    cells = [f"{pair_size:,}", f"{digit_size:,}"]
    for protocol, relaxation, pool in COLUMNS:
        ours = accuracy(protocol, relaxation, pool, digit_size, pair_size)
        cells.append(
            f"{ours:.1f} ({ours - printed(protocol, relaxation, digit_size, pair_size):+.1f})"
        )
    assert f"| {' | '.join(cells)} |" in page("docs/digits.md")


def test_the_findings_count_the_cells_above_the_paper():
    counts = {
        column: sum(
            accuracy(*column, digit, pair) > printed(column[0], column[1], digit, pair)
            for digit in SIZES
            for pair in SIZES
        )
        for column in COLUMNS
    }
    # In words on the page: seven, eight, four, all nine and three.
    assert list(counts.values()) == [7, 8, 4, 9, 3]


def test_the_findings_show_lukasiewicz_in_pipelines_with_and_without_a_warm_up():
    by_id = {run.id: run.measures["operator_accuracy"] for run in records()}

    def ours(warm_ups, digit_size):
        runs = [
            preset("mnist", "pipeline", "lukasiewicz-maxsat", digit_size=digit_size, seed=seed,
                   pair_size=5000, warm_ups=warm_ups, precision="bfloat16")
            for seed in SEEDS
        ]  # fmt: skip
        return fmean(by_id[run_id(STUDY, run.configuration, SCHEME)] for run in runs)

    for name, figures in (
        ("from scratch", [ours("paper", size) for size in SIZES]),
        ("after a warm-up", [ours("original", size) for size in SIZES]),
        ("printed", [printed("pipeline", "lukasiewicz", size, 5000) for size in SIZES]),
    ):
        row = " | ".join(f"{figure:.1f}" for figure in figures)
        assert f"| {name} | {row} |" in page("docs/digits.md")


def test_the_findings_count_the_claims():
    tables = page("docs/digits-tables.md")
    counts = [tables.count(f" | {status} | ") for status in ("confirmed", "refuted", "open")]
    told = "{} are confirmed, {} refuted and {} open".format(*counts)
    assert told in page("docs/digits.md")
