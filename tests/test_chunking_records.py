"""The figures on the pages about chunking are those of the records."""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import get_args

import pytest

from residuum.results.archive import read_archive
from residuum.results.records import run_id
from residuum.study.broken_runs import count_broken
from residuum.study.chunking.claims import About
from residuum.study.chunking.findings import Findings, of_presets
from residuum.study.chunking.published import published_f1
from residuum.study.chunking.settings import SCHEME, STUDY, preset
from residuum.study.chunking.tables import Differences, Figures, Row, tables
from residuum.study.common_settings import PAPER, SEEDS
from residuum.study.decisions import SIGNIFICANCE, Status
from residuum.study.shared_rules import over_weights

ROOT = Path(__file__).parents[1]
FRESH = tuple(range(1001, 1011))
PRODUCTS = ("r-product", "s-product")
LUKASIEWICZ = "lukasiewicz-maxsat"
UNLABELLED = (*PRODUCTS, LUKASIEWICZ)
KINDS = ("ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "VP")
NO_RULES, RULES, TEXT = (False, False), (True, False), (True, True)  # constraints, unlabelled
WEIGHTS = (0.0001, 0.001, 0.01, 0.1, 1, 10)
COLUMNS = (
    ("r-product", 0.1), ("s-product", 0.1), ("lukasiewicz-maxsat", 0.1),
    ("r-product", 1), ("s-product", 1),
)  # fmt: skip


def page(name):
    return (ROOT / name).read_text("utf-8")


CHUNKING = page("docs/studies/chunking.md")


@cache
def records():
    return read_archive(ROOT / "results" / "chunking.jsonl")


@cache
def trials():
    return read_archive(ROOT / "results" / "chunking-tuning.jsonl")


@cache
def findings():
    return Findings(of_presets(records()).records)


@cache
def tables_of_the_page():
    return tables(findings(), ("argmax", "viterbi"))


def seeds_expected(runs):
    """The ten fresh seeds, if the runs have the chosen settings of a relaxation of the paper."""
    are_chosen = {
        run.configuration["relaxation"] in PAPER and len(of_presets([run]).records) == 1
        for run in runs
    }
    assert len(are_chosen) == 1
    return FRESH if are_chosen.pop() else SEEDS


def runs_of(layers=2, **where):
    """The runs with these settings: all ten fresh seeds of them, or all three older ones."""
    where["layers"] = layers
    found = [run for run in records() if where.items() <= dict(run.configuration).items()]
    assert sorted(run.configuration["seed"] for run in found) == sorted(seeds_expected(found)), (
        where
    )
    return found


def mean(measure, layers=2, **where):
    """The mean of a measure over all seeds of the runs with these settings."""
    return fmean(run.measures[measure] for run in runs_of(layers, **where))


def shown(runs, decimals):
    """The mean F1 as the page shows it: with a median beside broken runs."""
    values = [run.measures["f1"] for run in runs]
    text = f"{fmean(values):.{decimals}f}"
    if count_broken(runs, "f1").broken:
        text += f", median {median(values):.{decimals}f}"
    return text


def mark(runs):
    return " (10)" if len(runs) == len(FRESH) else ""


def fresh_runs(relaxation, fraction, row):
    """The ten runs of a cell of the tables."""
    constraints, unlabelled = row
    return [
        run
        for run in of_presets(records()).records
        if {"relaxation": relaxation, "fraction": fraction, "constraints": constraints,
            "unlabelled": unlabelled}.items() <= dict(run.configuration).items()
    ]  # fmt: skip


def comparison(name, relaxation, fraction, row):
    """A cell of a table of differences, and whether it is significant after the correction."""
    [table] = [one for one in tables_of_the_page()
               if isinstance(one, Differences) and one.name == name]  # fmt: skip
    place = table.relaxations.index(relaxation)
    compared = table.rows[Row(fraction, *row)][place]
    return compared, table.p_values[Row(fraction, *row), place] <= SIGNIFICANCE


def evidence_of(claim):
    """The status of a claim and its evidence, as they stand on the page of tables."""
    line = next(line for line in page("docs/studies/chunking-tables.md").split("\n")
                if line.startswith("|") and f"| {claim} |" in line)  # fmt: skip
    return [cell.strip() for cell in line.split("|")][4:6]


def test_each_kind_of_run_has_the_ten_fresh_seeds_or_the_three_older_ones():
    kinds = defaultdict(list)
    for run in records():
        kind = tuple(entry for entry in run.configuration.items() if entry[0] != "seed")
        kinds[kind].append(run)
    fresh = 0
    for runs in kinds.values():
        expected = seeds_expected(runs)
        assert sorted(run.configuration["seed"] for run in runs) == sorted(expected)
        fresh += len(runs) if expected == FRESH else 0
    assert fresh == (4 * len(PAPER) + len(UNLABELLED)) * len(FRESH)


def test_no_seed_of_a_trial_is_a_fresh_seed():
    assert {run.configuration["seed"] for run in trials()} == {*SEEDS}
    assert not any(run.measures or run.outcomes for run in trials())
    assert f"has the {len(trials())} trials" in CHUNKING


def test_the_verdicts_are_counted_rightly():
    tables = page("docs/studies/chunking-tables.md")
    counts = [tables.count(f"| {status} |") for status in get_args(Status)]
    said = "{} are confirmed, {} refuted, {} open and {} undecidable".format(*counts)
    assert said in CHUNKING


def test_the_broken_runs_are_counted_rightly():
    broken = {}
    for setting in findings().settings:
        for system in findings().systems(setting):
            broken[setting.fraction, system.relaxation] = broken.get(
                (setting.fraction, system.relaxation), 0
            ) + findings().broken(setting, system).broken  # fmt: skip
    total = len(of_presets(records()).records)
    assert f"Of the {total} runs in the tables {sum(broken.values())} are broken" in CHUNKING
    # In words on the page: all of Łukasiewicz with a tenth of the sentences.
    assert broken[0.1, LUKASIEWICZ] == sum(broken.values())


def test_no_relaxation_gains_or_loses_significantly_by_rules():
    highest = {}
    for relaxation in PAPER:
        for fraction in (0.1, 1.0):
            compared, is_clear = comparison("f1-by-rules", relaxation, fraction, RULES)
            assert not is_clear
            highest[relaxation, fraction] = compared.high
            _, is_clear = comparison("viterbi_f1-by-rules", relaxation, fraction, RULES)
            assert not is_clear
    few, many = (max(highest[name, share] for name in PRODUCTS) for share in (0.1, 1.0))
    told = "the products gain at most {:.2f} points at 10% and {:.2f} at 100%, "
    told += "S-Gödel at most {:.2f} and {:.2f}"
    godel = (highest["s-godel", share] for share in (0.1, 1.0))
    assert told.format(few, many, *godel) in CHUNKING


def test_lukasiewicz_has_the_widest_interval_as_two_of_its_seeds_leave_a_plateau():
    widths = {}
    for relaxation in PAPER:
        for fraction in (0.1, 1.0):
            compared, _ = comparison("f1-by-rules", relaxation, fraction, RULES)
            widths[relaxation, fraction] = compared.high - compared.low
    assert max(widths, key=widths.get) == (LUKASIEWICZ, 0.1)
    compared, _ = comparison("f1-by-rules", LUKASIEWICZ, 0.1, RULES)
    told = "from {:+.2f} to {:+.2f} points around a mean of {:+.2f}"
    assert told.format(compared.low, compared.high, compared.difference) in CHUNKING
    without, with_rules = (
        {run.configuration["seed"]: run.measures["f1"] for run in fresh_runs(LUKASIEWICZ, 0.1, row)}
        for row in (NO_RULES, RULES)
    )
    gains = sorted(with_rules[seed] - without[seed] for seed in FRESH)
    # In words on the page: two leave a plateau, the other eight differ by less than 0.6 points.
    assert max(map(abs, gains[:8])) < 0.6
    assert min(gains[8:]) > 8


def test_that_rules_help_is_undecidable():
    status, evidence = evidence_of("Rules improve the results in all cases.")
    assert status == "undecidable"
    lowest, seeds = re.search(
        r"lowest (-[\d.]+): f1 of lukasiewicz-maxsat, 100%; (\d+) seeds would do", evidence
    ).groups()
    told = f"the lowest effect, {lowest} points for Łukasiewicz at 100%, is below 0 would take"
    assert f"{told} {seeds} seeds" in CHUNKING


@pytest.mark.parametrize("weight", [None, *WEIGHTS])
def test_what_weights_do(weight):
    cells = []
    for relaxation, fraction in COLUMNS:
        known = {
            "relaxation": relaxation, "fraction": fraction, "warm_up": 0, "unlabelled": False,
            "constraints": weight is not None, "weight": weight or 0,
        }  # fmt: skip
        runs = runs_of(**known)
        cells.append(f"{shown(runs, 2)}, {mean('violations', **known):.2f}%{mark(runs)}")
    name = "no rules" if weight is None else f"{weight:g}"
    assert f"| {name} | {' | '.join(cells)} |" in CHUNKING


def test_the_chosen_weights_of_the_products_hardly_change_what_is_broken():
    chosen = set()
    for name in PRODUCTS:
        for fraction in (0.1, 1.0):
            chosen |= {run.configuration["weight"] for run in fresh_runs(name, fraction, RULES)}
            ends = [
                fmean(run.measures["violations"] for run in fresh_runs(name, fraction, row))
                for row in (NO_RULES, RULES)
            ]
            assert abs(ends[0] - ends[1]) < 0.03  # in words on the page: about as often
    assert f"are small, {min(chosen):g} to {max(chosen):g}" in CHUNKING


def test_the_largest_weight_has_the_lowest_f1_of_the_products():
    gaps = []
    for relaxation, fraction in COLUMNS:
        if relaxation in PRODUCTS:
            known = {"relaxation": relaxation, "fraction": fraction, "unlabelled": False}
            f1, broken = (
                [mean(measure, constraints=True, weight=weight, **known) for weight in WEIGHTS]
                for measure in ("f1", "violations")
            )
            without = [
                mean(measure, constraints=False, **known) for measure in ("f1", "violations")
            ]
            gaps.append(min([without[0], *f1[:-1]]) - f1[-1])
            assert broken[-1] < broken[-2] < min([without[1], *broken[:-2]])
    told = "at 10 the products' F1 is lower than at any other weight, by {:.1f} to {:.1f} points"
    assert told.format(min(gaps), max(gaps)) in CHUNKING


def test_obeying_the_rules_in_decoding_gains_a_little():
    gains = {}
    for relaxation in PAPER:
        for fraction in (0.1, 1.0):
            for row in (NO_RULES, RULES):
                compared, is_clear = comparison("f1-by-decoding", relaxation, fraction, row)
                assert is_clear == (relaxation != LUKASIEWICZ)
                gains[relaxation, fraction, row] = compared.difference
    products, godel = (
        [gain for (name, *_), gain in gains.items() if name in names]
        for names in (PRODUCTS, ["s-godel"])
    )
    assert len(products) + len(godel) == 12  # in words on the page, and ten different ones
    told = "by {:.2f} to {:.2f} points for the products and {:.2f} to {:.2f} for S-Gödel"
    assert told.format(min(products), max(products), min(godel), max(godel)) in CHUNKING
    for fraction in (0.1, 1.0):
        first, second = (gains[name, fraction, NO_RULES] for name in PRODUCTS)
        assert first == second
    assert len({*products, *godel}) == 10


@pytest.mark.parametrize("weight", [0.1, 1, 10])
def test_what_text_without_labels_does(weight):
    known = {"fraction": 0.1, "warm_up": 0, "constraints": True, "weight": weight}
    cells = []
    for name in PRODUCTS:
        for unlabelled in (False, True):
            here = {"relaxation": name, "unlabelled": unlabelled, **known}
            runs = runs_of(**here)
            cells += [f"{shown(runs, 2)}{mark(runs)}", f"{mean('violations', **here):.2f}"]
        (labelled, everywhere) = (
            mean("violations", relaxation=name, unlabelled=unlabelled, **known)
            for unlabelled in (False, True)
        )
        assert everywhere < labelled
    assert f"| {weight:g} | {' | '.join(cells)} |" in CHUNKING


def test_text_without_labels_costs_r_product_and_changes_no_other():
    lost, is_clear = comparison("f1-by-rules", "r-product", 0.1, TEXT)
    assert is_clear
    obeying, is_clear = comparison("viterbi_f1-by-rules", "r-product", 0.1, TEXT)
    assert is_clear
    told = "R-Product loses {:.2f} points, and {:.2f} if tags obey the rules, both significantly"
    assert told.format(-lost.difference, -obeying.difference) in CHUNKING
    changes = []
    for name in ("s-product", LUKASIEWICZ):
        assert not comparison("viterbi_f1-by-rules", name, 0.1, TEXT)[1]
        change, is_clear = comparison("f1-by-rules", name, 0.1, TEXT)
        assert not is_clear
        changes.append(change.difference)
    told = "S-Product (weight 0.1) changes by {:+.2f} and Łukasiewicz (0.1) by {:+.2f}, neither"
    assert told.format(*changes) in CHUNKING
    weights = [{run.configuration["weight"] for run in fresh_runs(name, 0.1, TEXT)}
               for name in UNLABELLED]  # fmt: skip
    assert weights == [{1}, {0.1}, {0.1}]
    # In words on the page: on labelled sentences alone a weight of 1 is no better.
    known = {"relaxation": "r-product", "fraction": 0.1, "weight": 1, "constraints": True}
    assert mean("f1", unlabelled=False, **known) < mean("f1", unlabelled=True, **known)


def test_two_seeds_of_lukasiewicz_find_one_chunk_in_each_sentence():
    for row in (NO_RULES, RULES, TEXT):
        for run in fresh_runs(LUKASIEWICZ, 0.1, row):
            is_lost = run.configuration["seed"] in (1001, 1007)
            assert is_lost == (max(run.curves["dev/score"].values) == 0)
            if is_lost:
                assert {*run.outcomes["guessed"]} == {1}
                assert f"{run.measures['f1']:.2f}" == "0.12"
                assert run.measures["violations"] == 0
    assert "with the seeds 1001 and 1007 it finds one chunk in each sentence" in CHUNKING


def test_lukasiewicz_finds_chunks_of_three_kinds():
    cells = [(0.1, row) for row in (NO_RULES, RULES, TEXT)] + [(1.0, NO_RULES), (1.0, RULES)]
    runs = [run for fraction, row in cells for run in fresh_runs(LUKASIEWICZ, fraction, row)]
    found = [{kind for kind in KINDS if run.measures[f"f1/{kind}"] > 0} for run in runs]
    more = [kinds for kinds in found if not kinds <= {"NP", "PP", "VP"}]
    assert more == [{"NP", "PP", "VP", "ADVP"}]
    assert f"{len(runs) - len(more)} of its {len(runs)} fresh runs have no chunk right" in CHUNKING


def test_lukasiewicz_ends_on_three_levels():
    runs = {row: fresh_runs(LUKASIEWICZ, 0.1, row) for row in (NO_RULES, RULES, TEXT)}
    levels = defaultdict(list)
    for run in (run for cell in runs.values() for run in cell):
        levels[sum(run.measures["f1"] > bound for bound in (50, 75))].append(run)
    lost, middle, high = (levels[place] for place in range(3))
    assert f"{len(lost)} have an F1 of {lost[0].measures['f1']:.2f}" in CHUNKING

    def ends(level, measure):
        values = [run.measures[measure] for run in level]
        return min(values), max(values)

    told = "{} have from {:.1f} to {:.1f}, and {} from {:.1f} to {:.1f};"
    assert told.format(len(middle), *ends(middle, "f1"), len(high), *ends(high, "f1")) in CHUNKING
    told = "from {:.1f} to {:.1f} in the one and from {:.1f} to {:.1f} in the other"
    assert told.format(*ends(middle, "f1/VP"), *ends(high, "f1/VP")) in CHUNKING
    told = "{} of the runs without rules, {} of those with them, and {} of those with unlabelled"
    assert told.format(*(sum(run in middle for run in cell) for cell in runs.values())) in CHUNKING
    # In words on the page: the one with rules counts as broken.
    assert [count_broken(cell, "f1").broken for cell in runs.values()] == [2, 3, 2]


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
    cells = []
    for share, warm_up in zip((0.1, 1), warm_ups, strict=True):
        if warm_up is None:
            cells.append("–")
        else:
            runs = runs_of(relaxation=relaxation, fraction=share, warm_up=warm_up, weight=0)
            cells.append(f"{shown(runs, 1)}{mark(runs)}")
    assert f"| {name} | {' | '.join(cells)} |" in CHUNKING


def test_how_near_warm_ups_come_to_r_product():
    gaps = {}
    for name in (LUKASIEWICZ, "s-godel"):
        gaps[name] = max(
            mean("f1", relaxation="r-product", fraction=share, constraints=False)
            - mean("f1", relaxation=name, fraction=share, warm_up=warm_up, constraints=False)
            for share, warm_up in ((0.1, 10), (1, 5))
        )
    told = "Łukasiewicz to within {:.1f} points of R-Product (at 10% with half the rate), "
    told += "S-Gödel to within {:.1f}."
    assert told.format(*gaps.values()) in CHUNKING
    rates = [
        {
            run.configuration["learning_rate"]
            for run in runs_of(relaxation=LUKASIEWICZ, fraction=0.1, warm_up=warm_up, weight=0)
        }
        for warm_up in (0, 10)
    ]
    assert rates == [{0.004}, {0.002}]


@pytest.mark.parametrize(("name", "layers"), [("one", 1), ("two", 2)])
def test_what_a_second_layer_does(name, layers):
    known = {"relaxation": "r-product", "constraints": False}
    cells = [
        f"{mean(measure, layers, fraction=share, **known):.2f}"
        for share in (0.1, 1)
        for measure in ("f1", "violations", "viterbi_f1")
    ]
    assert f"| {name} | {' | '.join(cells)} |" in CHUNKING
    [epochs] = {run.configuration["epochs"] for run in runs_of(layers, fraction=1, **known)}
    assert epochs == {1: 15, 2: 20}[layers]  # in words on the page


def test_a_second_layer_makes_broken_transitions_rarer_and_the_gain_by_obeying_smaller():
    for share, rarer in ((0.1, 1 / 3), (1, 1 / 2)):  # in words on the page
        known = {"relaxation": "r-product", "constraints": False, "fraction": share}
        one, two = (mean("violations", layers, **known) for layers in (1, 2))
        assert 1 - two / one == pytest.approx(rarer, abs=0.05)
        assert two / one < 1 - rarer
        one, two = (
            mean("viterbi_f1", layers, **known) - mean("f1", layers, **known) for layers in (1, 2)
        )
        assert 0.5 < two / one < 0.6


def test_how_far_the_tables_are_from_the_printed_ones():
    gaps, medians = {}, {}
    for name in PAPER:
        for percent in (10, 100):
            for row in (NO_RULES, RULES):
                values = [run.measures["f1"] for run in fresh_runs(name, percent / 100, row)]
                printed = published_f1(
                    name.removesuffix("-maxsat"), percent, constraints=row[0]
                )  # the form of Łukasiewicz that the paper used
                gaps[name, percent, row] = fmean(values) - printed
                medians[name, percent, row] = f"{median(values):.2f}", f"{printed:.2f}"
    few, many = (gaps["r-product", percent, NO_RULES] for percent in (10, 100))
    assert f"by {few:.1f} points at 10% and {many:.1f} at 100% from labels alone" in CHUNKING
    own = {place: gap for place, gap in gaps.items() if place[0] == LUKASIEWICZ}
    assert min(gap for place, gap in gaps.items() if place not in own) > 4
    assert max(own.values()) < 0
    told = "by {:.1f} points without rules and {:.1f} with them"
    ends = (-own[LUKASIEWICZ, 100, row] for row in (NO_RULES, RULES))
    assert told.format(*ends) in CHUNKING
    (first, printed), (second, printed_too) = (
        medians[LUKASIEWICZ, 10, row] for row in (NO_RULES, RULES)
    )
    told = f"{first} without rules and {second} with them, where {printed} and {printed_too}"
    assert told in CHUNKING


def test_the_products_are_told_apart_with_unlabelled_text_alone():
    [table] = [one for one in tables_of_the_page()
               if isinstance(one, Figures) and one.measure == "f1"]  # fmt: skip
    best = {
        row: [name for name, cell in zip(table.relaxations, cells, strict=True) if cell.is_best]
        for row, cells in table.rows.items()
    }
    for fraction in (0.1, 1.0):
        for row in (NO_RULES, RULES):
            assert {*PRODUCTS} <= {*best[Row(fraction, *row)]}
    assert "s-product" in best[Row(0.1, *TEXT)]
    assert "r-product" not in best[Row(0.1, *TEXT)]


def test_the_searches_for_a_weight_are_counted_rightly():
    listed = [*records(), *trials()]
    vectors = records()[0].configuration["embeddings"]
    about = About(embeddings=vectors)
    counts = {}
    for name in PAPER:
        runs = about.with_rules(listed, name)
        counts[name] = len(over_weights(runs, about.dev_score))
        fresh = [run for run in runs if run.configuration["seed"] in FRESH]
        assert fresh
        assert not over_weights(fresh, about.dev_score)
    assert counts["r-product"] == counts["s-product"]
    told = "{} such searches for a weight: {} of each product, {} of Łukasiewicz, and {} of"
    ends = (counts[name] for name in ("r-product", LUKASIEWICZ, "s-godel"))
    assert told.format(sum(counts.values()), *ends) in CHUNKING


def test_every_run_of_the_tables_is_in_the_records():
    known = {run.id for run in records()}
    vectors = records()[0].configuration["embeddings"]
    cells = [
        (relaxation, fraction, constraints, False)
        for relaxation in PAPER
        for fraction in (0.1, 1.0)
        for constraints in (False, True)
    ] + [(relaxation, 0.1, True, True) for relaxation in UNLABELLED]
    for relaxation, fraction, constraints, unlabelled in cells:
        for seed in FRESH:
            run = preset(
                "conll2000", relaxation, fraction=fraction, constraints=constraints,
                unlabelled=unlabelled, seed=seed, embeddings=vectors,
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
