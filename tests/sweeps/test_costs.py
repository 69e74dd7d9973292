"""The page on costs says what the arithmetic says, about the files that ship."""

from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from residuum.results import read_archive
from residuum.study.common_settings import SEEDS
from residuum.sweeps import cost_table, read_sweep
from residuum.sweeps.costs import H200, PAIRS, PAPER, seconds

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_table_that_is_computed():
    assert cost_table() in (ROOT / "docs" / "studies" / "cost.md").read_text(encoding="utf-8")


def rates(is_meant):
    """Run-epochs per second of the joint runs on a GPU whose settings are meant."""
    return [
        known["epochs"] * known["pair_size"] / PAIRS / run.seconds
        for run in read_archive(ROOT / "results" / "digits.jsonl")
        if (known := run.configuration)["protocol"] == "joint"
        and run.environment["device"] == "NVIDIA H200"
        and is_meant(known)
    ]


def test_the_rate_is_that_of_the_records_of_three_seeds():
    assert int(max(rates(lambda known: known["seed"] in SEEDS))) == H200


def test_the_page_tells_how_fast_later_runs_of_the_products_were():
    def is_later(known, size):
        of_products = known["relaxation"] in ("r-product", "s-product")
        return of_products and known["seed"] > 1000 and known["pair_size"] == size

    of_sizes = [int(max(rates(partial(is_later, size=size)))) for size in (5_000, 25_000)]
    told = "had {} with 5,000 pairs and {} with 25,000, by their records".format(*of_sizes)
    assert told in (ROOT / "docs" / "studies" / "cost.md").read_text(encoding="utf-8")


def test_the_work_is_that_of_the_papers_file_counted_run_by_run():
    sweep = read_sweep(ROOT / "examples" / "sweeps" / "paper-digits.toml")
    names = list(sweep.space)
    points = [
        dict(zip(names, point, strict=True))
        for point in product(*(dimension.values for dimension in sweep.space.values()))
    ]
    sizes = [one["pair_size"] for one in sweep.configurations]
    passes = sum(Fraction(size, 5_000) for size in sizes) * sweep.settings["epochs"]
    [_, tuning, _, winners] = PAPER
    assert tuning.all_runs == len(sizes) * len(points)
    assert tuning.run_epochs == pytest.approx(float(passes * len(points)), rel=1e-12)
    steps = sum(Fraction(64, point["batch"]) for point in points) / len(points)
    assert tuning.slowdown == pytest.approx(float(steps), rel=1e-12)
    final = sum(Fraction(size, 5_000) for size in sizes) * sweep.final["epochs"]
    assert winners.run_epochs == float(final * len(sweep.final_seeds))
    assert winners.all_runs == len(sizes) * len(sweep.final_seeds)


def test_eight_gpus_take_an_eighth():
    for work in PAPER:
        assert seconds(work, 8) * 8 == pytest.approx(seconds(work, 1))
        assert seconds(work, 1) == pytest.approx(work.run_epochs / H200)
