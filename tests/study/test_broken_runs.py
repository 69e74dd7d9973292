"""Runs that diverged count at chance level, and broken runs are counted beside mean and median."""

from dataclasses import replace
from statistics import fmean, median

import numpy as np
import pytest
import torch

import made_up_chunk_runs
import made_up_runs
from residuum.reports.chunking_section import chunking_section
from residuum.reports.digits_section import digits_section
from residuum.results import Curve, Divergence, Ratio, paired_bootstrap
from residuum.study.broken_runs import CHANCE, Broken, count_broken, value_of
from residuum.study.chunking import findings as chunking
from residuum.study.chunking import tables as chunking_tables
from residuum.study.chunking.claims import evaluate as evaluate_chunking
from residuum.study.chunking.transitions import Violations, transitions_of
from residuum.study.digits import findings as digits
from residuum.study.digits import tables as digits_tables
from residuum.study.digits.claims import evaluate as evaluate_digits
from residuum.sweeps.tuned_studies import dev_value

DIVERGED = Divergence(7, ["joint: loss/total", "parameters"])
SEEDS = (1, 2, 3, 4, 5, 6)


def diverged(record):
    """The record of the same run, if it had diverged before it was judged."""
    return replace(record, measures={}, outcomes={}, curves={}, diverged=DIVERGED)


def with_values(*values):
    """Runs of digits that differ in the accuracy of the operators; None stands for divergence."""
    runs = [made_up_runs.run("r-product", seed, 90) for seed in range(len(values))]
    return [
        diverged(run)
        if value is None
        else replace(run, measures={**run.measures, "operator_accuracy": value})
        for run, value in zip(runs, values, strict=True)
    ]


@pytest.mark.parametrize(
    ("values", "broken"),
    [
        ((), 0),
        ((90.0, 90.0, 91.0, 92.0, 92.0), 0),
        ((90.0, 91.0, 92.0, 82.99, 92.0), 1),  # the median is 91
        ((90.0, 91.0, 92.0, 83.0, 92.0), 0),  # exactly 8 points
        ((90.0, 91.0, 92.0, None, 92.0), 1),
        ((90.0, 91.0, 50.0, None, 92.0, 93.0, None), 3),
        ((None, None, None, 90.0, 91.0), 3),  # a median at chance level breaks no one
        ((40.0, 60.0, 80.0), 0),  # too few for a median
        ((40.0, None, 80.0), 1),
        ((None,), 1),
    ],
)
def test_a_run_is_broken_if_it_diverged_or_ends_far_below_the_median(values, broken):
    found = count_broken(with_values(*values), "operator_accuracy")
    assert found == Broken(broken, len(values))
    assert str(found) == f"{broken} of {len(values)} broken"


def test_a_diverged_run_counts_at_chance_level_in_means():
    findings = digits.Findings(with_values(90.0, None, 92.0, 93.0, 91.0))
    [setting] = findings.settings
    [system] = findings.systems(setting)
    for measure in digits_tables.TITLES:
        assert findings.values(setting, system, measure)[1] == 10.0
    expected = [90.0, 10.0, 92.0, 93.0, 91.0]
    summary = findings.summary(setting, system, "operator_accuracy")
    assert (summary.mean, summary.count) == (pytest.approx(fmean(expected)), 5)
    assert findings.median(setting, system, "operator_accuracy") == median(expected)
    assert findings.broken(setting, system) == (1, 5)


def test_chance_is_what_random_answers_reach():
    rng = np.random.default_rng(0)
    truth, one, other = rng.integers(0, 10, (3, 200_000))
    for found in (one == truth, one == other, (one + other) % 10 == truth):
        assert 100 * found.mean() == pytest.approx(CHANCE["operator_accuracy"], abs=0.3)
    tags = torch.from_numpy(rng.integers(0, 23, (500, 100)))
    lengths = torch.full((500,), 100)
    hard, soft = (Violations(transitions_of("paper")) for _ in range(2))
    hard.add_tags(tags, lengths)
    soft.add_probabilities(torch.full((500, 100, 23), 1 / 23), lengths)
    assert hard.share == pytest.approx(CHANCE["violations"], abs=0.5)
    assert soft.share == pytest.approx(CHANCE["soft_violations"])


def test_every_measure_that_tables_show_has_a_chance_level():
    measures = {*digits_tables.TITLES, *chunking_tables.TITLES, "viterbi_violations"}
    assert measures <= CHANCE.keys()
    assert value_of(diverged(made_up_chunk_runs.run("r-product", 0, 80)), "f1") == 0.0


def test_the_bootstrap_takes_a_diverged_run_at_chance_level():
    runs = {
        name: [made_up_runs.run(name, seed, 90) for seed in SEEDS]
        for name in ("r-product", "s-product")
    }
    first, second = runs.values()
    findings = digits.Findings([diverged(first[0]), *first[1:], *second])
    [setting] = findings.settings
    one, other = (digits.System("joint", name) for name in runs)
    ours = np.array([100.0 * run.outcomes["digit"] for run in first])
    ours[0] = 10.0
    theirs = np.array([100.0 * run.outcomes["digit"] for run in second])
    expected = paired_bootstrap(ours, theirs, resamples=1000)
    found = findings.compare(setting, one, other, "digit_accuracy")
    assert found.difference == pytest.approx(expected.difference)
    pairs = findings.compare(setting, one, other, "operator_accuracy")
    means = [
        fmean(findings.values(setting, system, "operator_accuracy").values())
        for system in (one, other)
    ]
    assert pairs.difference == pytest.approx(means[0] - means[1])


def test_the_bootstrap_of_f1_takes_a_diverged_run_as_one_that_finds_nothing():
    first = [made_up_chunk_runs.run("r-product", seed, 80) for seed in SEEDS]
    second = [made_up_chunk_runs.run("s-product", seed, 70) for seed in SEEDS]
    findings = chunking.Findings([diverged(first[0]), *first[1:], *second])
    [setting] = findings.settings
    outcomes = findings.outcomes("sentence", [diverged(first[0]), first[1]], second[0])["f1"]
    assert isinstance(outcomes, Ratio)
    assert outcomes.numerator[0].tolist() == [0.0] * made_up_chunk_runs.SENTENCES
    assert outcomes.denominator[0].tolist() == second[0].outcomes["gold"].tolist()
    systems = [chunking.System(name, constraints=False) for name in ("r-product", "s-product")]
    found = findings.compare(setting, *systems, "f1")
    means = [fmean(findings.values(setting, system, "f1").values()) for system in systems]
    assert found.difference == pytest.approx(means[0] - means[1])


def test_if_all_diverged_systems_are_compared_by_seeds():
    runs = [
        diverged(made_up_runs.run(name, seed, 90))
        for name in ("r-product", "s-product")
        for seed in SEEDS
    ]
    findings = digits.Findings(runs)
    [setting] = findings.settings
    one, other = findings.systems(setting)
    assert findings.compare(setting, one, other, "coherence").difference == 0.0
    assert findings.compare_measures(setting, one, "sum_accuracy", "coherence") is None
    assert digits_tables.tables(findings)
    assert "12 of 12 runs are broken" in findings.tell_broken()


def test_tables_of_digits_say_how_many_runs_are_broken():
    broken = [made_up_runs.run("r-product", seed, 90 if seed > 2 else 40) for seed in SEEDS]
    broken[0] = diverged(broken[0])
    calm = [made_up_runs.run("s-product", seed, 80) for seed in SEEDS]
    findings = digits.Findings([*broken, *calm])
    [table] = [one for one in digits_tables.tables(findings) if one.measure == "digit_accuracy"]
    lines = {line[0]: line[1] for line in table.lines("")}
    [setting] = findings.settings
    values = findings.values(setting, digits.System("joint", "r-product"), "digit_accuracy")
    assert f", median {median(values.values()):.1f}, 2 of 6 broken" in lines["r-product"]
    assert lines["r-product"].startswith(f"{fmean(values.values()):.1f} (")
    assert "broken" not in lines["s-product"]
    cells = {one["relaxation"]: one for one in table.to_json()["cells"]}
    assert (cells["r-product"]["broken"], cells["s-product"]["broken"]) == (2, 0)
    assert cells["r-product"]["median"] == median(values.values())
    assert findings.tell_broken().startswith("2 of 12 runs are broken: they diverged, or end")
    assert digits.Findings(calm).tell_broken() == ""
    assert digits.Findings([]).tell_broken() == ""


def test_tables_of_chunking_say_how_many_runs_are_broken():
    runs = [made_up_chunk_runs.run("r-product", seed, 80, constraints=True) for seed in SEEDS]
    findings = chunking.Findings([diverged(runs[0]), *runs[1:]])
    [table] = [
        one
        for one in chunking_tables.tables(findings, ["argmax"])
        if getattr(one, "measure", "") == "f1"
    ]
    [line, *_] = table.lines("")
    assert "1 of 6 broken" in line[table.heads.index("r-product")]
    [cell] = table.to_json()["cells"]
    assert cell["broken"] == 1


def everything(made_up, **others):
    runs = [
        made_up(name, seed, 80, **others)
        for name in ("r-product", "s-product", "s-godel", "lukasiewicz-maxsat")
        for seed in SEEDS
    ]
    return [diverged(run) if place % 4 == 1 else run for place, run in enumerate(runs)]


def test_a_diverged_run_is_sound_for_tables_claims_and_sections_of_digits():
    records = [
        *everything(made_up_runs.run),
        *everything(made_up_runs.run, weight=1.0),
        *everything(made_up_runs.run, weight=0.7, study="digits-tuning"),
        *everything(made_up_runs.run, protocol="pipeline"),
        *everything(made_up_runs.run, warm_up=0, epochs=3000, schedule="restarts", period=9.0),
    ]
    sound, skipped = digits.sift(dict.fromkeys(records))
    assert not skipped
    findings = digits.Findings(digits.of_presets(sound).records)
    assert evaluate_digits(findings, sound)
    section = digits_section(sound)
    assert "runs are broken" in str(section.blocks)
    assert {dev_value(record, "score") for record in sound if record.diverged} == {0.0}
    fault = digits.fault_of(replace(sound[1], configuration={}))
    assert fault.startswith("lacks the settings")


def test_a_diverged_run_is_sound_for_tables_claims_and_sections_of_chunking():
    records = [
        *everything(made_up_chunk_runs.run),
        *everything(made_up_chunk_runs.run, constraints=True),
        *everything(made_up_chunk_runs.run, constraints=True, weight=0.5),
        *everything(made_up_chunk_runs.run, constraints=True, warm_up=0),
    ]
    sound, skipped = chunking.sift(dict.fromkeys(records))
    assert not skipped
    findings = chunking.Findings(chunking.of_presets(sound).records)
    assert evaluate_chunking(findings, sound)
    assert "runs are broken" in str(chunking_section(sound).blocks)


def test_a_curve_that_ends_early_is_no_fault_of_a_diverged_run():
    run = diverged(made_up_runs.run("r-product", 0, 90))
    assert digits.fault_of(run) == ""
    partly = replace(run, curves={"joint: loss/total": Curve([7], [float("nan")])})
    assert digits.fault_of(partly) == ""
