"""The section of the digits study: claims, tables beside the paper's, pictures, significance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from residuum.reports.blocks import Block, Entry, Fold, Heading, Picture, Section, Table, Text
from residuum.reports.digits_figures import (
    draw_digits_learning,
    draw_digits_weights,
    measure_panel,
    scores_by_weight,
)
from residuum.reports.study_blocks import (
    broken_runs,
    claims_of,
    no_runs,
    numbers_of,
    report_table,
    run_counts,
    runs_of_study,
)
from residuum.reports.study_figures import draw_measures
from residuum.results import Record
from residuum.study.common_settings import SEEDS
from residuum.study.digits.claims import evaluate
from residuum.study.digits.data.sets import PAIR_SIZES
from residuum.study.digits.findings import LAWS, Findings, Setting, System, of_presets, sift
from residuum.study.digits.settings import PAPER_BY_PROTOCOL as PAPER
from residuum.study.digits.settings import SCHEME, STUDY, TUNING
from residuum.study.digits.tables import NOTES, TITLES, DigitsTable, tables

MAIN: Final = {
    "digit_accuracy": "Digit",
    "operator_accuracy": "Sum and Product",
    "coherence": "Coherence with Digit",
}
UNIT: Final = "percent of test examples"
COMMAND: Final = "residuum study digits"


def digits_section(records: Sequence[Record]) -> Section:
    """Report the runs of the study among the records."""
    runs = runs_of_study(records, STUDY, TUNING, SCHEME, sift)
    title = "Digits: sums and products learnt from rules alone"
    intro = Text(
        "One network learns digits from labels; two others learn what two digits add up to and "
        "multiply to, modulo 10, from a rule each over unlabelled pairs. DIGIT is how many images "
        "are labelled, PAIR how many pairs the rules are applied to."
    )
    if not runs.own:
        return Section("digits", title, [intro, *no_runs(COMMAND)], runs.warnings)
    chosen = of_presets(runs.finished)
    findings = Findings(chosen.records)
    kinds = [
        block
        for _, kind in groupby(tables(findings), _experiment_of_table)
        for block in _report_experiment(list(kind), findings, chosen.records)
    ]
    return Section(
        "digits",
        title,
        [
            intro,
            run_counts(runs, len(chosen.records)),
            *broken_runs(findings),
            *_what_is_missing(findings),
            *claims_of(evaluate(findings, runs.own)),
            *(map(Text, NOTES) if kinds else []),
            *kinds,
            *_report_weights(runs.own),
        ],
        runs.warnings,
    )


def _experiment_of_table(table: DigitsTable) -> tuple[str, str, str, int]:
    return table.images, table.pair_pool, table.protocol, table.pair_size


def _what_is_missing(findings: Findings) -> list[Block]:
    """Name the experiments of the paper that have no run."""
    run = {
        (system.protocol, setting.pair_size)
        for setting in findings.settings
        if (setting.images, setting.pair_pool) == ("mnist", "paper")
        for system in findings.systems(setting)
    }
    lacking = [
        f"{protocol} with PAIR {size:,}"
        for protocol in PAPER
        for size in PAIR_SIZES["mnist"]
        if (protocol, size) not in run
    ]
    if not lacking:
        return []
    return [Text(f"Of the paper's experiments on MNIST these were not run: {'; '.join(lacking)}.")]


def _report_experiment(
    found: Sequence[DigitsTable], findings: Findings, records: Iterable[Record]
) -> list[Block]:
    """Report one experiment: a protocol and a size of PAIR on one set of images."""
    first = found[0]
    name = _slug(first)
    by_measure = {table.measure: table for table in found}
    where = first.title.split(": ", 1)[1].split(" (the paper's")[0]
    here = _experiment_of_table(first)
    own = [record for record in records if _experiment_of_run(record) == here]
    command = _command_of_runs(first, own)
    axes = [f"{size:,}" for size in first.digit_sizes], "labelled images (DIGIT)", UNIT
    beside = Picture(
        f"{name}-measures",
        f"Accuracy and coherence: {where}",
        f"Accuracy of Digit, accuracy of Sum and Product, and coherence for {where}, by "
        "relaxation and size of DIGIT; the tables below have the same figures.",
        draw_measures(
            [measure_panel(label, by_measure[measure]) for measure, label in MAIN.items()], *axes
        ),
        command,
    )
    violations = Picture(
        f"{name}-violations",
        f"Violations: {where}",
        "How often Sum and Product break the rules, and the laws of arithmetic, in percent of the "
        f"test examples, for {where}, by relaxation and size of DIGIT.",
        draw_measures([
            measure_panel(f"Against {label}", by_measure[measure], lambda value: 100 - value)
            for measure, label in (("coherence", "the rules"), *((law, law) for law in LAWS))
        ], *axes),
        command,
    )  # fmt: skip
    runs: dict[int, dict[str, list[Record]]] = {}
    for record in sorted(own, key=_by_size_and_relaxation):
        known: Any = record.configuration
        by_name = runs.setdefault(known["digit_size"], {})
        by_name.setdefault(known["relaxation"], []).append(record)
    learning = Picture(
        f"{name}-learning",
        f"Learning curves: {where}",
        f"Accuracy of Digit and coherence of Sum and Product on DEV over the epochs of training, "
        f"for {where}, by relaxation and size of DIGIT.",
        draw_digits_learning(runs, first.protocol),
        command,
    )
    return [
        Heading(name, f"{where[0].upper()}{where[1:]}"),
        beside,
        _measure_table(by_measure["operator_accuracy"], name),
        violations,
        learning,
        Fold(
            "Digit, coherence, the laws of arithmetic, and how sure the differences are",
            [
                *(
                    _measure_table(by_measure[one], name)
                    for one in TITLES
                    if one != "operator_accuracy"
                ),
                _significance(first, findings, name),
            ],
        ),
    ]


def _measure_table(table: DigitsTable, name: str) -> Table:
    numbers = [_flat(cell) for cell in numbers_of(table)]
    return report_table(table, f"{name}-{table.measure}", f"{_command(table)} --table", numbers)


def _flat(cell: dict[str, Any]) -> dict[str, Any]:
    printed = cell.pop("printed") or (None, None)
    return {**cell, "printed_mean": printed[0], "printed_deviation": printed[1]}


def _significance(table: DigitsTable, findings: Findings, name: str) -> Table:
    """Compare R-Product with the other relaxations on sums and products.

    If R-Product was not run, the first relaxation of the table takes its place.
    """
    measure = "operator_accuracy"
    rows, numbers = [], []
    for size in table.digit_sizes:
        setting = Setting(table.images, table.pair_pool, size, table.pair_size)
        known = findings.systems(setting)
        named = [System(table.protocol, relaxation) for relaxation in table.rows]
        run = [system for system in named if system in known]
        best = System(table.protocol, "r-product")
        first = best if best in run or not run else run[0]
        for other in run:
            compared = findings.compare(setting, first, other, measure) if other != first else None
            if compared is None:
                continue
            between = "–"
            if compared.low is not None and compared.high is not None:
                between = f"{compared.low:+.1f} to {compared.high:+.1f}"
            p_value = "–" if compared.p_value is None else f"{compared.p_value:.2g}"
            pair = f"{first.relaxation} − {other.relaxation}"
            cells = (pair, f"{size:,}", f"{compared.difference:+.1f}", between, p_value)
            rows.append([Entry(cell) for cell in cells])
            numbers.append({
                "first": first.relaxation, "second": other.relaxation, "digit_size": size,
                "difference": compared.difference, "low": compared.low, "high": compared.high,
                "p_value": compared.p_value,
            })  # fmt: skip
    return Table(
        f"{name}-significance",
        f"Differences in the {TITLES[measure].lower()}, in points, by the bootstrap over seeds and "
        "test images",
        ["difference", "DIGIT", "points", "95% interval", "p"],
        rows,
        numbers,
        notes=[
            "p is two-sided, and not corrected for the number of comparisons here.",
            "Relaxations that share fewer than two seeds are compared without pairing their runs.",
        ],
    )


def _report_weights(records: Iterable[Record]) -> list[Block]:
    by_place: dict[tuple[str, str, str, int], list[Record]] = {}
    for record in records:
        by_place.setdefault(_experiment_of_run(record), []).append(record)
    blocks: list[Block] = []
    for (images, pool, protocol, size), found in sorted(by_place.items()):
        scores = scores_by_weight(found)
        if scores:
            where = f"{protocol}, {images}, PAIR {size:,}"
            where += "" if pool == "paper" else ", the authors' pool of pairs"
            blocks.append(
                Picture(
                    f"digits-{images}-{pool}-{size}-weights",
                    f"Scores of all runs by the weight λ of the rules: {where}",
                    "The score on DEV, which is the mean of Digit's accuracy and both coherences, "
                    f"against the weight of the rules for {where}, by relaxation and size of "
                    "DIGIT. Runs for tuning and finished ones, which differ in other settings too.",
                    draw_digits_weights(scores),
                )
            )
    return blocks or [Text("No relaxation was run with two weights λ of the rules or more.")]


def _experiment_of_run(record: Record) -> tuple[str, str, str, int]:
    known: Any = record.configuration
    return known["images"], known["pair_pool"], known["protocol"], known["pair_size"]


def _by_size_and_relaxation(record: Record) -> tuple[int, int, str, int]:
    """Return a sort key: by size, then the paper's relaxations in its order, then others."""
    known: Any = record.configuration
    usual, name = PAPER["joint"], known["relaxation"]
    place = usual.index(name) if name in usual else len(usual)
    return known["digit_size"], place, name, known["seed"]


def _slug(table: DigitsTable) -> str:
    pool = "" if table.pair_pool == "paper" else f"-{table.pair_pool}"
    return f"digits-{table.images}{pool}-{table.protocol}-{table.pair_size}"


def _command(table: DigitsTable) -> str:
    pool = "" if table.pair_pool == "paper" else f" --pair-pool {table.pair_pool}"
    return (
        f"{COMMAND} --images {table.images} --protocol {table.protocol} "
        f"--pair-size {table.pair_size}{pool}"
    )


def _command_of_runs(table: DigitsTable, records: Iterable[Record]) -> str:
    """Return the command that makes the runs again.

    If relaxations have different seeds, not only the usual ones, no single command does. Then it
    prints the figures.
    """
    seeds: dict[str, set[int]] = {}
    for record in records:
        known: Any = record.configuration
        seeds.setdefault(known["relaxation"], set()).add(known["seed"])
    found = sorted(set().union(*seeds.values()))
    if {*found} <= {*SEEDS}:
        return _command(table)
    if all(some == {*found} for some in seeds.values()):
        return f"{_command(table)} --seeds {','.join(map(str, found))}"
    return f"{_command(table)} --table"
