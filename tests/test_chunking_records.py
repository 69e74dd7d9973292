"""The figures on the pages about chunking are those of the records."""

from functools import cache
from pathlib import Path
from statistics import fmean
from typing import get_args

import pytest

from residuum.results.archive import read_archive
from residuum.results.records import run_id
from residuum.study.chunking.published import published_f1
from residuum.study.chunking.settings import SCHEME, STUDY, preset
from residuum.study.common_settings import PAPER, SEEDS
from residuum.study.decisions import Status

ROOT = Path(__file__).parents[1]
WEIGHTS = (0.0001, 0.001, 0.01, 0.1, 1, 10)
COLUMNS = (
    ("r-product", 0.1), ("s-product", 0.1), ("lukasiewicz-maxsat", 0.1),
    ("r-product", 1), ("s-product", 1),
)  # fmt: skip


def page(name):
    return (ROOT / name).read_text("utf-8")


@cache
def records():
    return read_archive(ROOT / "results" / "chunking.jsonl")


def mean(measure, layers=2, **where):
    """The mean of a measure over the three seeds of runs with these settings."""
    where["layers"] = layers
    found = [run for run in records() if where.items() <= dict(run.configuration).items()]
    assert sorted(run.configuration["seed"] for run in found) == sorted(SEEDS), where
    return fmean(run.measures[measure] for run in found)


def test_the_verdicts_are_counted_rightly():
    tables = page("docs/studies/chunking-tables.md")
    counts = [tables.count(f"| {status} |") for status in get_args(Status)]
    said = "{} are confirmed, {} refuted, {} open and {} undecidable".format(*counts)
    assert said in page("docs/studies/chunking.md")


@pytest.mark.parametrize("weight", [None, *WEIGHTS])
def test_what_weights_do(weight):
    cells = []
    for relaxation, fraction in COLUMNS:
        known = {
            "relaxation": relaxation, "fraction": fraction, "warm_up": 0, "unlabelled": False,
            "constraints": weight is not None, "weight": weight or 0,
        }  # fmt: skip
        f1, broken = (mean(measure, **known) for measure in ("f1", "violations"))
        cells.append(f"{f1:.2f}, {broken:.2f}%")
    name = "no rules" if weight is None else f"{weight:g}"
    assert f"| {name} | {' | '.join(cells)} |" in page("docs/studies/chunking.md")


@pytest.mark.parametrize("weight", [0.1, 1, 10])
def test_what_text_without_labels_does(weight):
    known = {"fraction": 0.1, "warm_up": 0, "constraints": True, "weight": weight}
    cells = [
        f"{mean(measure, relaxation=name, unlabelled=unlabelled, **known):.2f}"
        for name in ("r-product", "s-product")
        for unlabelled in (False, True)
        for measure in ("f1", "violations")
    ]
    assert f"| {weight:g} | {' | '.join(cells)} |" in page("docs/studies/chunking.md")


@pytest.mark.parametrize(
    ("name", "relaxation", "warm_ups"),
    [
        ("Łukasiewicz from scratch", "lukasiewicz-maxsat", (0, 0)),
        ("Łukasiewicz after a warm-up", "lukasiewicz-maxsat", (10, 5)),
        ("S-Gödel from scratch", "s-godel", (0, None)),
        ("S-Gödel after a warm-up", "s-godel", (10, 5)),
        ("R-Product", "r-product", (0, 0)),
    ],
)
def test_what_warm_ups_do(name, relaxation, warm_ups):
    cells = [
        "–" if warm_up is None
        else f"{mean('f1', relaxation=relaxation, fraction=share, warm_up=warm_up, weight=0):.1f}"
        for share, warm_up in zip((0.1, 1), warm_ups, strict=True)
    ]  # fmt: skip
    assert f"| {name} | {' | '.join(cells)} |" in page("docs/studies/chunking.md")


@pytest.mark.parametrize(("name", "layers"), [("one", 1), ("two", 2)])
def test_what_a_second_layer_does(name, layers):
    known = {"relaxation": "r-product", "constraints": False}
    cells = [
        f"{mean(measure, layers, fraction=share, **known):.2f}"
        for share in (0.1, 1)
        for measure in ("f1", "violations", "viterbi_f1")
    ]
    assert f"| {name} | {' | '.join(cells)} |" in page("docs/studies/chunking.md")


def test_every_run_of_the_tables_is_in_the_records():
    known = {run.id for run in records()}
    vectors = records()[0].configuration["embeddings"]
    for relaxation in PAPER:
        for fraction in (0.1, 1.0):
            for constraints in (False, True):
                for seed in SEEDS:
                    run = preset(
                        "conll2000", relaxation, fraction=fraction, constraints=constraints,
                        seed=seed, embeddings=vectors,
                    )  # fmt: skip
                    assert run_id(STUDY, run.configuration, SCHEME) in known


def test_the_figures_of_the_readme_are_those_of_the_records():
    known = {"relaxation": "r-product", "warm_up": 0, "constraints": False}
    few, many = (mean("f1", fraction=share, **known) for share in (0.1, 1))
    printed = [published_f1("r-product", percent, constraints=False) for percent in (10, 100)]
    readme = page("README.md")
    assert f"an F1 of {few:.1f} with a tenth of the sentences and {many:.1f} with all" in readme
    assert "({:.1f} and {:.1f} in the paper)".format(*printed) in readme
    obeying = mean("viterbi_f1", fraction=0.1, **known)
    assert f"from {few:.1f} to {obeying:.1f}" in readme
