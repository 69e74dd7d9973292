"""The tables and figures of the documentation are those of the records."""

import os
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from itertools import product
from math import inf
from pathlib import Path
from statistics import fmean, median
from typing import get_args

import pytest

from residuum.results.archive import read_archive
from residuum.results.records import run_id
from residuum.study.broken_runs import MARGIN, count_broken
from residuum.study.common_settings import SEEDS
from residuum.study.decisions import Status
from residuum.study.digits.claim_rules import About
from residuum.study.digits.findings import Findings, of_presets
from residuum.study.digits.published import published
from residuum.study.digits.settings import SCHEME, STUDY, preset
from residuum.study.shared_rules import outperforms

ROOT = Path(__file__).parents[1]
SIZES = (1000, 5000, 25_000)
CELLS = tuple(product(SIZES, SIZES))  # the sizes of PAIR and of DIGIT
PRODUCTS = ("r-product", "s-product")
OTHERS = ("s-godel", "lukasiewicz-maxsat")
FRESH = tuple(range(1001, 1011))
TRIED = (901, 902, 903, 904, 905)
# The columns beside joint learning: the protocol, the relaxation and the pool of pairs.
COLUMNS = (
    ("joint", "r-product", "original"),
    ("joint", "s-product", "original"),
    ("pipeline", "r-product", "paper"),
)
MEASURES = ("digit_accuracy", "operator_accuracy", "coherence")


def page(name):
    return (ROOT / name).read_text("utf-8")


DIGITS = page("docs/studies/digits.md")


@cache
def records():
    return read_archive(ROOT / "results" / "digits.jsonl")


@cache
def trials():
    return read_archive(ROOT / "results" / "digits-tuning.jsonl")


@cache
def runs_of_the_tables():
    return of_presets(records()).records


@cache
def findings():
    return Findings(runs_of_the_tables())


@cache
def runs_of(protocol, relaxation, pool, digit_size, pair_size):
    """The runs of a cell that have the settings chosen."""
    place = {
        "protocol": protocol, "relaxation": relaxation, "pair_pool": pool, "images": "mnist",
        "digit_size": digit_size, "pair_size": pair_size,
    }  # fmt: skip
    found = [r for r in runs_of_the_tables() if place.items() <= dict(r.configuration).items()]
    expected = FRESH if pool == "paper" else SEEDS
    assert sorted(run.configuration["seed"] for run in found) == sorted(expected)
    return found


def accuracies(*cell):
    return [run.measures["operator_accuracy"] for run in runs_of(*cell)]


def accuracy(*cell):
    return fmean(accuracies(*cell))


def printed(protocol, relaxation, digit_size, pair_size):
    name = relaxation.removesuffix("-maxsat")  # the form of Łukasiewicz that the paper used
    return published(protocol, "operator_accuracy", name, digit_size, pair_size).mean


def above(relaxation):
    """How far the ten seeds are above the paper, for each size of PAIR and DIGIT."""
    return [
        accuracy("joint", relaxation, "paper", digit, pair)
        - printed("joint", relaxation, digit, pair)
        for pair, digit in CELLS
    ]


def behind(relaxation):
    """How far the ten seeds are behind R-Product, for each size of PAIR and DIGIT."""
    return {
        (pair, digit): accuracy("joint", "r-product", "paper", digit, pair)
        - accuracy("joint", relaxation, "paper", digit, pair)
        for pair, digit in CELLS
    }


def broken(relaxation):
    """How many of the ten runs are broken, for each size of PAIR and DIGIT."""
    cells = [runs_of("joint", relaxation, "paper", digit, pair) for pair, digit in CELLS]
    return [count_broken(runs, "operator_accuracy").broken for runs in cells]


def dev_score(run):
    assert run.diverged is None
    return max(0.0, *run.curves["joint: dev/score"].values)  # -inf without a usable Digit


def trial_scores(relaxation, digit_size, pair_size, seeds):
    """The best scores on DEV of the trials of a cell, by the settings without the seed."""
    place = {"relaxation": relaxation, "digit_size": digit_size, "pair_size": pair_size,
             "protocol": "joint", "pair_pool": "paper"}  # fmt: skip
    kinds = defaultdict(dict)
    for run in trials():
        known = dict(run.configuration)
        if place.items() <= known.items() and known["seed"] in seeds:
            seed = known.pop("seed")
            kinds[tuple(known.items())][seed] = dev_score(run)
    return kinds


def kind_of(run):
    return tuple(entry for entry in run.configuration.items() if entry[0] != "seed")


def test_no_trial_of_a_setting_was_measured_on_test():
    assert len(trials()) == 780
    assert f"has the trials, {len(trials())} runs, none of which was measured" in DIGITS
    assert not any(run.measures or run.outcomes for run in trials())


def test_no_seed_of_a_trial_is_a_fresh_seed():
    assert not {run.configuration["seed"] for run in trials()} & {*FRESH}
    of_products = [r for r in trials() if r.configuration["relaxation"] in PRODUCTS
                   and r.configuration["seed"] > max(SEEDS)]  # fmt: skip
    assert {run.configuration["clip"] for run in of_products} == {100}
    assert f"**: {len(of_products)} trials, all with gradients clipped" in DIGITS


def test_the_fresh_runs_have_the_settings_that_were_best_on_dev_in_16_of_18_cells():
    untried = []
    for relaxation, (pair, digit) in product(PRODUCTS, CELLS):
        chosen = kind_of(runs_of("joint", relaxation, "paper", digit, pair)[0])
        kinds = trial_scores(relaxation, digit, pair, TRIED)
        assert 2 <= len(kinds) <= 5
        assert all(sorted(scores) == [*TRIED] for scores in kinds.values())
        if chosen not in kinds:
            untried.append((relaxation, pair, digit))
            continue
        means = {kind: fmean(scores.values()) for kind, scores in kinds.items()}
        assert max(means, key=means.get) == chosen
        scores = kinds[chosen].values()
        assert min(scores) > median(scores) - MARGIN
    assert untried == [(name, 5000, 25_000) for name in PRODUCTS]
    assert "**This is so in 16 of 18 cells.**" in DIGITS


def test_the_two_settings_that_the_five_seeds_did_not_try_are_told_with_what_they_reached():
    chosen = kind_of(runs_of("joint", "r-product", "paper", 25_000, 5000)[0])
    [(kind, scores)] = trial_scores("r-product", 25_000, 5000, range(911, 931)).items()
    assert (kind, len(scores)) == (chosen, 20)
    assert f"with a mean score of {fmean(scores.values()):.1f} on DEV" in DIGITS
    for name, words in (("r-product", "have {} with five"), ("s-product", "variants have {}.")):
        kinds = trial_scores(name, 25_000, 5000, TRIED)
        assert len(kinds) == 3
        [figure] = {f"{fmean(scores.values()):.1f}" for scores in kinds.values()}
        assert words.format(figure) in DIGITS
    chosen = kind_of(runs_of("joint", "s-product", "paper", 25_000, 5000)[0])
    assert chosen not in {kind_of(run) for run in trials()}


def test_clipping_and_twice_the_rate_gained_little_for_the_other_relaxations():
    gains = {}
    for name, size in product(OTHERS, SIZES):
        first, second = trial_scores(name, size, size, TRIED).items()
        (usual, _), (changed, _) = sorted((first, second), key=lambda one: "clip" in dict(one[0]))
        rates = [dict(kind)["learning_rate"] for kind in (usual, changed)]
        assert rates[1] == pytest.approx(2 * rates[0])
        assert usual == kind_of(runs_of("joint", name, "paper", size, size)[0])
        means = [fmean(dict([first, second])[kind].values()) for kind in (usual, changed)]
        gains[name, size] = means[1] - means[0]
    told = "It gained {:.1f} points on DEV at most, and cost Łukasiewicz {:.1f} with 5,000"
    assert min(gains, key=gains.get) == ("lukasiewicz-maxsat", 5000)
    assert told.format(max(gains.values()), -min(gains.values())) in DIGITS


def test_the_findings_count_the_broken_fresh_runs():
    assert [sum(broken(name)) for name in PRODUCTS] == [0, 0]
    assert "**None of the 180 runs of the products is broken.**" in DIGITS
    told = f"180 runs {sum(sum(broken(name)) for name in OTHERS)} are broken, though none diverged"
    assert told in DIGITS
    for name, (pair, digit) in product(OTHERS, CELLS):
        assert not any(run.diverged for run in runs_of("joint", name, "paper", digit, pair))


def test_all_but_the_fresh_runs_have_three_seeds_at_most():
    fresh = [run for run in records() if run.configuration["seed"] not in SEEDS]
    shown = {run.id for run in runs_of_the_tables()}
    of_tables = sum(run.id in shown for run in fresh)
    # Seven rows of nine sizes, and S-Product in one pipeline, which R-Product is compared with.
    assert of_tables == (7 * len(CELLS) + 1) * len(FRESH)
    rest = [dict(run.configuration) for run in fresh if run.id not in shown]
    unfrozen = sorted(run["seed"] for run in rest if run["schedule"] != "restarts")
    restarted = sorted(run["seed"] for run in rest if run["schedule"] == "restarts")
    assert unfrozen == list(range(1001, 1015))
    assert restarted == sorted(3 * FRESH)
    assert "fourteen runs of S-Gödel whose `Digit` is not frozen (1001 to 1014)" in DIGITS
    assert "ten with restarts every 55 epochs under three relaxations" in DIGITS


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
    assert page(f"docs/studies/{study}-tables.md").split("\n\n", 2)[2] == shown, (
        f"run `residuum study {study} --table --markdown` and put what it prints on the page"
    )


def test_the_figures_of_the_readme_are_those_of_the_records():
    readme = page("README.md")
    for name, relaxation in (("R-Product learns", "r-product"), ("S-Product", "s-product")):
        found = readme.index(name, readme.index("5,000"))
        ours = accuracy("joint", relaxation, "paper", 1000, 5000)
        figures = f"to {ours:.1f}% ({printed('joint', relaxation, 1000, 5000):.1f}%"
        assert readme.index(figures, found) - found < 80
    first, second = (fmean(above(name)) for name in PRODUCTS)
    told = f"R-Product is {first:.1f} points above the paper in the mean, S-Product {second:.1f}"
    assert told in readme
    assert "none of the products' 180 runs broken" in readme
    for name in ("s-product", *OTHERS):
        assert min(behind(name).values()) > 0


@pytest.mark.parametrize("pair_of_relaxations", [PRODUCTS, OTHERS])
@pytest.mark.parametrize("place", range(len(CELLS)))
def test_the_findings_show_mean_and_median_of_ten_seeds_and_the_distance_to_the_paper(
    place, pair_of_relaxations
):
    pair, digit = CELLS[place]
    cells = [f"{pair:,}", f"{digit:,}"]
    for name in pair_of_relaxations:
        values = accuracies("joint", name, "paper", digit, pair)
        cells += [f"{fmean(values):.1f}", f"{median(values):.1f}", f"{above(name)[place]:+.1f}",
                  f"{broken(name)[place]} of 10"]  # fmt: skip
    assert f"| {' | '.join(cells)} |" in DIGITS


@pytest.mark.parametrize(("pair", "digit"), CELLS)
def test_the_findings_show_how_far_above_the_paper_the_other_protocols_are(pair, digit):
    cells = [f"{pair:,}", f"{digit:,}"]
    for protocol, relaxation, pool in COLUMNS:
        ours = accuracy(protocol, relaxation, pool, digit, pair)
        cells.append(f"{ours:.1f} ({ours - printed(protocol, relaxation, digit, pair):+.1f})")
    assert f"| {' | '.join(cells)} |" in DIGITS


def test_the_findings_tell_the_mean_distance_to_the_paper_and_where_it_is_negative():
    for names in (PRODUCTS, OTHERS):
        ends = [f"{fmean(above(name)):+.1f} | {sum(broken(name))} of 90" for name in names]
        assert f"| all | all | | | {' | | | '.join(ends)} |" in DIGITS
    first, second = above("r-product"), above("s-product")
    assert f"R-Product is {fmean(first):.1f} points above in the mean" in DIGITS
    assert f"S-Product is {fmean(second):.1f} points above in the mean" in DIGITS
    # In words on the page: above in eight, and in all nine.
    assert [cell for cell, gap in zip(CELLS, first, strict=True) if gap <= 0] == [(1000, 25_000)]
    assert min(second) > 0
    ours = accuracy("joint", "r-product", "paper", 25_000, 1000)
    told = f"{ours:.1f}, where {printed('joint', 'r-product', 25_000, 1000):.1f} is printed"
    assert told in DIGITS
    few = [gap for (_, digit), gap in zip(CELLS, second, strict=True) if digit == 1000]
    assert (round(min(few)), round(max(few))) == (9, 12)  # in words on the page
    godel, lukasiewicz = map(above, OTHERS)
    assert f"Łukasiewicz is {fmean(lukasiewicz):.1f} points above in the mean" in DIGITS
    # In words on the page: Łukasiewicz in seven sizes, S-Gödel in none.
    assert sum(gap > 0 for gap in lukasiewicz) == 7
    assert max(godel) < 0


def lead(worse, measures):
    """How often R-Product leads in joint learning, and how often significantly, in words."""
    about = About(better=["r-product"], worse=worse, measures=measures)
    evidence = outperforms(findings(), [], about).evidence
    return re.fullmatch(
        r"positive in (\d+ of \d+) comparisons, (significantly in \d+), .*", evidence
    ).groups()


def test_the_findings_count_the_comparisons_that_r_product_leads():
    count, clearly = lead(["s-product", *OTHERS], MEASURES)
    told = f"it leads in {count} comparisons with the others (three measures, nine sizes)"
    assert f"{told}, {clearly}." in DIGITS
    count, clearly = lead(["s-product"], ["operator_accuracy"])
    ends = [(min(gaps), max(gaps)) for gaps in (
        behind(name).values() for name in ("s-product", "lukasiewicz-maxsat", "s-godel")
    )]  # fmt: skip
    told = (
        "For `Sum` and `Product` it leads S-Product in {}, {}, by {:.1f} to {:.1f} points; "
        "Łukasiewicz by {:.1f} to {:.1f}; S-Gödel by {:.1f} to {:.1f}."
    )
    assert told.format(count, clearly, *ends[0], *ends[1], *ends[2]) in DIGITS


def test_the_findings_count_the_cells_above_the_paper():
    counts = {
        column: sum(
            accuracy(*column, digit, pair) > printed(column[0], column[1], digit, pair)
            for pair, digit in CELLS
        )
        for column in COLUMNS
    }
    # In words on the page: four, all nine and three.
    assert list(counts.values()) == [4, 9, 3]


def test_the_findings_say_how_far_below_joint_learning_pipelines_are():
    gaps = {
        (pair, digit): accuracy("joint", "r-product", "paper", digit, pair)
        - accuracy("pipeline", "r-product", "paper", digit, pair)
        for pair, digit in CELLS
    }
    few = [gap for (pair, _), gap in gaps.items() if pair == 1000]
    more = [gap for (pair, _), gap in gaps.items() if pair > 1000]
    assert min(gaps.values()) > 0
    told = (
        "by {:.1f} to {:.1f} points with 5,000 pairs and more, and by {:.1f} to {:.1f} with 1,000"
    )
    assert told.format(min(more), max(more), min(few), max(few)) in DIGITS


def test_the_findings_count_the_broken_pipelines():
    def count(relaxation):
        cells = [runs_of("pipeline", relaxation, "paper", digit, pair) for pair, digit in CELLS]
        return sum(count_broken(runs, "operator_accuracy").broken for runs in cells)

    assert count("r-product") == 0
    assert "None of R-Product's 90 runs is broken." in DIGITS
    assert f"{count('lukasiewicz-maxsat')} of its 90 runs are broken, measured against" in DIGITS


def test_lukasiewicz_is_two_to_four_points_behind_with_enough_data():
    gaps = behind("lukasiewicz-maxsat")
    enough = [place for place, cell in enumerate(CELLS) if min(cell) > 1000]
    rounded = [round(gaps[CELLS[place]]) for place in enough]
    assert (min(rounded), max(rounded)) == (2, 4)
    assert min(above("lukasiewicz-maxsat")[place] for place in enough) > 0
    few = [gap for (_, digit), gap in gaps.items() if digit == 1000]
    assert f"With 1,000 labels it is {min(few):.0f} to {max(few):.0f} points behind." in DIGITS


def test_the_findings_count_the_runs_of_lukasiewicz_that_lose_digit():
    lost = defaultdict(list)
    for pair, digit in CELLS:
        for run in runs_of("joint", "lukasiewicz-maxsat", "paper", digit, pair):
            if run.curves["joint: dev/score"].values[-1] == -inf:
                lost[pair, digit].append(run.measures["operator_accuracy"])
    assert f"{sum(map(len, lost.values()))} of its 90 runs lose `Digit`" in DIGITS
    values = sorted(accuracies("joint", "lukasiewicz-maxsat", "paper", 5000, 5000))
    assert sorted(lost[5000, 5000]) == values[:2]
    last, next_to_last = (median(values) - value for value in values[:2])
    told = f"with 5,000 of both, are {next_to_last:.0f} and {last:.0f} points below the median"
    assert told in DIGITS


def test_the_findings_tell_what_the_claims_on_the_warm_up_rest_on():
    tables = page("docs/studies/digits-tables.md")

    def found(pattern):
        return re.search(pattern, tables).groups()

    told = "rises by {} points at most after the warm-up, and by {} if the minimum"
    rises = found(r"rises by ([\d.]+) points at most with batches, by ([\d.]+) with all the data")
    assert told.format(*rises) in DIGITS
    share = found(r"of the states chosen, from (\d+)% to (\d+)% in \d+ runs")
    assert "the warm-up alone reaches {} to {}% of the coherence on DEV".format(*share) in DIGITS
    joint = found(r"joint: 20 epochs; ([\d.]+)% with 1, .*?, ([\d.]+)% with 20; pipeline")
    told = "operators reach {:.0f}% after one epoch, {:.0f}% after twenty"
    assert told.format(*map(float, joint)) in DIGITS
    before, after, runs = found(r"DEV: ([\d.]+)% after the warm-up, ([\d.]+)% at the end, in (\d+)")
    rise = float(after) - float(before)
    assert f"in {runs} runs it rises by {rise:.1f} points after the warm-up" in DIGITS
    pipeline = found(r"pipeline: 16 epochs; ([\d.]+)% with 1, .*?, ([\d.]+)% with 16")
    assert "{}% after one, {}% after sixteen".format(*pipeline) in DIGITS


def test_the_findings_tell_what_runs_with_restarts_and_without_come_to():
    ends = defaultdict(lambda: defaultdict(list))
    for run in records():
        known = dict(run.configuration)
        if known["protocol"] == "joint" and known["pair_pool"] == "paper" and not run.diverged:
            period, _ = known.pop("period"), (known.pop("seed"), known.pop("schedule"))
            is_lost = run.curves["joint: dev/score"].values[-1] == -inf
            ends[tuple(known.items())][period].append(is_lost)
    with_restarts = [by_period for by_period in ends.values() if {*by_period} - {None}]
    lost = {
        period: [one for by_period in with_restarts for one in by_period.get(period, [])]
        for period in (55, 200, None)
    }
    counts = [(sum(lost[period]), len(lost[period])) for period in (55, 200)]
    told = "{} of {} runs with restarts every 55 epochs, and {} of {} with restarts every 200"
    assert told.format(*counts[0], *counts[1]) in DIGITS
    assert f"with one decay {sum(lost[None])} of {len(lost[None])} do." in DIGITS
    tables = page("docs/studies/digits-tables.md")
    told = (
        "vary by {1:.1f} points with restarts and by {0:.1f} without (p = {2}), and about {3:.0f}"
    )
    pattern = (
        r"they vary by ([\d.]+) points, with them by ([\d.]+) \(p = ([\d.]+), .*?; (\d+) seeds"
    )
    assert told.format(*map(float, re.search(pattern, tables).groups())) in DIGITS


def test_the_findings_show_lukasiewicz_in_pipelines_with_and_without_a_warm_up():
    by_id = {run.id: run.measures["operator_accuracy"] for run in records()}

    def ours(warm_ups, digit_size):
        runs = [
            preset("mnist", "pipeline", "lukasiewicz-maxsat", digit_size=digit_size, seed=seed,
                   pair_size=5000, warm_ups=warm_ups, precision="bfloat16")
            for seed in (FRESH if warm_ups == "paper" else SEEDS)
        ]  # fmt: skip
        return fmean(by_id[run_id(STUDY, run.configuration, SCHEME)] for run in runs)

    for name, figures in (
        ("from scratch", [ours("paper", size) for size in SIZES]),
        ("after a warm-up", [ours("original", size) for size in SIZES]),
        ("printed", [printed("pipeline", "lukasiewicz", size, 5000) for size in SIZES]),
    ):
        row = " | ".join(f"{figure:.1f}" for figure in figures)
        assert f"| {name} | {row} |" in DIGITS


def test_the_findings_count_the_claims():
    tables = page("docs/studies/digits-tables.md")
    counts = [tables.count(f" | {status} | ") for status in get_args(Status)]
    told = "{} are confirmed, {} refuted, {} open and {} undecidable".format(*counts)
    assert told in DIGITS
