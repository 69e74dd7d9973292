"""The figures in the documentation are those of the records."""

import json
import random
import statistics
from pathlib import Path

import pytest

import analysis
import balancing
import residuum as rs
import study
from loss_contest import ablation
from loss_contest.tables import markdown

ROOT = Path(__file__).parents[1]
RECORDS = sorted((ROOT / "benchmarks" / "records").glob("losses-*.json"))


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_the_page_of_benchmarks_shows_the_record(record):
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert markdown(json.loads(record.read_text(encoding="utf-8"))) in page


def test_the_page_of_benchmarks_shows_what_devices_gain():
    record = json.loads((ROOT / "benchmarks/records/ablation-cpu.json").read_text(encoding="utf-8"))
    assert ablation.markdown(record) in (ROOT / "docs" / "benchmarks.md").read_text(
        encoding="utf-8"
    )


def test_the_page_of_benchmarks_shows_how_fast_the_study_trains():
    record = json.loads((ROOT / "benchmarks/records/study-h200.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert study.markdown(record) in page
    most = record["rows"][-1]
    step = most["runs"] * most["ms_per_run_and_step"]
    assert f"A step of {most['runs']} runs takes {step:.1f} ms" in page


def test_the_page_of_weights_shows_what_balancing_gained():
    record = json.loads((ROOT / "benchmarks/records/balancing.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "guide" / "weights.md").read_text(encoding="utf-8")
    assert balancing.table(record) in page
    best = {}
    for one in record["results"]:
        mean = statistics.fmean(score or 0.0 for score in one["scores"])
        row = best.setdefault((one["study"], one["relaxation"]), {"fixed": 0.0, "balanced": 0.0})
        row[one["kind"]] = max(row[one["kind"]], mean)
    assert len(best) == 6
    assert sum(row["balanced"] < row["fixed"] for row in best.values()) == 5


def test_there_are_records():
    assert RECORDS


def _times(name):
    """Return the milliseconds of each contender, by case."""
    record = json.loads((ROOT / "benchmarks/records" / name).read_text(encoding="utf-8"))
    times = {}
    for row in record["results"]:
        times.setdefault((row["workload"], row["relaxation"]), {})[row["contender"]] = row.get("ms")
    return times


def test_what_is_said_of_the_cpu_is_what_was_measured():
    times = _times("losses-cpu.json")
    of_plain = [one["residuum"] / one["plain"] for one in times.values()]
    near_best = sum(one["residuum"] <= 1.5 * one["best"] for one in times.values())
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert f"(at worst {max(of_plain) - 1:.0%} slower" in page
    assert f"within 1.5 times of *best* in {near_best} of {len(times)} cases" in page


def _of_compiled(times):
    """Return the mean ratio of both under torch.compile, and how many are at most 1.3."""
    names = ("residuum, torch.compile", "plain, torch.compile")
    ratios = [one[names[0]] / one[names[1]] for one in times.values()]
    return statistics.geometric_mean(ratios), sum(ratio <= 1.3 for ratio in ratios)


def test_what_is_said_of_torch_compile_is_what_was_measured():
    times = _times("losses-cpu.json")
    mean, within = _of_compiled(times)
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert f"takes {mean:.2f} times as long in the geometric mean" in page
    assert f"within 1.3 times in {within} of {len(times)}" in page


def test_what_is_said_of_the_gpu_is_what_was_measured():
    times = _times("losses-h200.json")
    faster = sum(one["residuum"] < one["plain"] for one in times.values())
    near_best = sum(one["residuum"] <= 1.5 * one["best"] for one in times.values())
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert f"faster than the plain reference in {faster} of {len(times)} cases" in page
    assert f"within 1.5 times of *best* in {near_best}. " in page
    assert f"{_of_compiled(times)[0]:.2f} times as long there as the plain reference" in page


def test_what_is_said_of_certified_bounds_is_what_was_measured():
    path = ROOT / "benchmarks/records/bounds.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    seeds = [row["seed"] for row in rows]
    assert seeds == list(range(seeds[0], seeds[-1] + 1))
    page = (ROOT / "docs" / "theory" / "consistency.md").read_text(encoding="utf-8")
    assert f": {analysis.summary(rows)}." in page
    assert f"--bounds {seeds[0]} {seeds[-1] + 1}`" in page


def test_recorded_bounds_are_those_of_the_formulas_that_seeds_draw():
    path = ROOT / "benchmarks/records/bounds.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines()[::10]:
        row = json.loads(line)
        drawn = analysis.random_formula(random.Random(row["seed"]), rs.atoms("P Q R"), 10)
        assert row["formula"] == str(drawn)
        sampled = rs.consistency(drawn, "r-product", method="sobol", tolerance=1e-4)
        assert row["low"] <= sampled.high
        assert sampled.low <= row["high"]
