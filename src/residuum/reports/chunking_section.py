"""The section of the chunking study: claims, the paper's table, effects of rules, pictures."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from residuum.reports.blocks import Block, Fold, Heading, Picture, Section, Table, Text
from residuum.reports.chunking_figures import draw_chunking_weights, weigh
from residuum.reports.colours import looks
from residuum.reports.study_blocks import (
    broken_runs,
    claims_of,
    no_runs,
    numbers_of,
    report_table,
    run_counts,
    runs_of_study,
)
from residuum.reports.study_figures import (
    Curves,
    Mark,
    MeasurePanel,
    Points,
    draw_learning,
    draw_measures,
    mean_curve,
)
from residuum.results import Record
from residuum.study.chunking.claims import CORPUS, evaluate
from residuum.study.chunking.findings import Findings, of_presets, sift
from residuum.study.chunking.settings import SCHEME, STUDY, TUNING
from residuum.study.chunking.tables import NOTES, Differences, Figures, Row, Texts, tables_of
from residuum.study.common_settings import PAPER, SEEDS

COMMAND: Final = "residuum study chunking"
DRAWN_MEASURES: Final = {
    "f1": "F1, likeliest tags",
    "viterbi_f1": "F1, tags that obey the rules",
    "violations": "Transitions against the rules",
}
RULES: Final = {(False, False): "no rules", (True, False): "rules", (True, True): "+ unlabelled"}
"""Short words by whether a run learns from rules, and whether also on unlabelled sentences."""


def chunking_section(records: Sequence[Record]) -> Section:
    """Report the runs of the study among the records."""
    runs = runs_of_study(records, STUDY, TUNING, SCHEME, sift)
    title = "Chunking: tags of words, from labels and from rules between neighbours"
    intro = Text(
        "A tagger learns from labelled sentences which words begin a chunk, go on with it, or are "
        "outside; rules say which tags may follow each other. Rules are learnt with a weight λ "
        "beside the labels (+ C), also on sentences without labels (unlabelled), or not at all; "
        "they can be obeyed in decoding in any case."
    )
    if not runs.own:
        return Section("chunking", title, [intro, *no_runs(COMMAND)], runs.warnings)
    chosen = of_presets(runs.finished)
    findings = Findings(chosen.records)
    kinds = sorted({_texts(record) for record in runs.finished}, key=str)
    return Section(
        "chunking",
        title,
        [
            intro,
            run_counts(runs, len(chosen.records)),
            *broken_runs(findings),
            *_what_is_missing(findings),
            *claims_of(evaluate(findings, runs.own)),
            *(map(Text, NOTES) if chosen.records else []),
            *(block for texts in kinds for block in _report_texts(texts, findings, runs.finished)),
        ],
        runs.warnings,
    )


def _texts(record: Record) -> Texts:
    known: Any = record.configuration
    return Texts(known["corpus"], known["embeddings"] or "")


def _what_is_missing(findings: Findings) -> list[Block]:
    """Name the cells of the paper's table that have no run, or not all seeds."""
    seeds: dict[tuple[Row, str], int] = {}
    for setting in findings.settings:
        for system in findings.systems(setting):
            if setting.corpus == CORPUS:
                row = Row(setting.fraction, system.constraints, system.unlabelled)
                count = len(findings.values(setting, system, "f1"))
                cell = row, system.relaxation
                seeds[cell] = max(count, seeds.get(cell, 0))
    cells = [
        (Row(fraction, constraints, unlabelled=False), name)
        for constraints in (False, True)
        for fraction in (0.1, 1.0)
        for name in PAPER
    ]
    lacking = [f"{name}, {row.name}" for row, name in cells if (row, name) not in seeds]
    begun = [
        f"{name}, {row.name}" for row, name in cells if 0 < seeds.get((row, name), 0) < len(SEEDS)
    ]
    blocks: list[Block] = []
    if len(lacking) == len(cells):
        blocks.append(Text("Nothing of the paper's experiment on CoNLL-2000 stands in the tables."))
    elif lacking:
        words = "; ".join(lacking)
        blocks.append(Text(f"Of the paper's experiment on CoNLL-2000 these lack runs: {words}."))
    if begun:
        blocks.append(Text(f"With fewer than {len(SEEDS)} seeds so far: {'; '.join(begun)}."))
    return blocks


def _report_texts(texts: Texts, findings: Findings, finished: Iterable[Record]) -> list[Block]:
    """Report the runs on one text with one set of word vectors."""
    records = [record for record in finished if _texts(record) == texts]
    chosen = of_presets(records).records
    name = "-".join(filter(None, ("chunking", texts.corpus, texts.embeddings)))
    command = f"{COMMAND} --corpus {shlex.quote(texts.corpus.partition('-')[0])}"
    again = f"{command} --embeddings FILE" if texts.embeddings else command
    blocks: list[Block] = [Heading(name, str(texts))]
    if chosen:
        found = list(tables_of(findings, texts, ("argmax", "viterbi")))
        figures = {one.measure: one for one in found if isinstance(one, Figures)}
        changes = [one for one in found if isinstance(one, Differences)]
        table_of = partial(_measure_table, name=name, command=f"{command} --table")
        blocks += [
            _measures_picture(figures, name, again),
            table_of(figures["f1"]),
            *map(table_of, changes[:1]),
            _learning_picture(texts, chosen, name, again),
            Fold(
                "Tags that obey the rules, violations, and what obeying changes",
                [
                    *(table_of(one) for measure, one in figures.items() if measure != "f1"),
                    *map(table_of, changes[1:]),
                ],
            ),
        ]
    else:
        blocks.append(Text("No run has the settings that were chosen on DEV."))
    return [*blocks, *_weights_pictures(texts, records, name, again)]


def _measure_table(table: Figures | Differences, *, name: str, command: str) -> Table:
    own = table.measure if isinstance(table, Figures) else table.name
    return report_table(table, f"{name}-{own}", command, numbers_of(table))


def _measures_picture(figures: Mapping[str, Figures], name: str, command: str) -> Picture:
    texts = figures["f1"].texts
    panels = [
        MeasurePanel(label, {
            relaxation: [Mark(cells[place].summary, cells[place].printed)
                         for cells in figures[measure].rows.values()]
            for place, relaxation in enumerate(figures[measure].relaxations)
        })
        for measure, label in DRAWN_MEASURES.items()
    ]  # fmt: skip
    places = [row.name.replace(" + C", "\n+ C").replace(", ", "\n") for row in figures["f1"].rows]
    return Picture(
        f"{name}-measures",
        f"F1 and violations: {texts}",
        "F1 of the likeliest tags and of those that obey the rules, and the share of transitions "
        f"of the former that break them, for {texts}, by relaxation, share of the sentences and "
        "rules; the tables below have the same figures.",
        draw_measures(panels, places, "share of the sentences; + C: with rules", "percent"),
        command,
    )


def _learning_picture(texts: Texts, records: Iterable[Record], name: str, command: str) -> Picture:
    curves: dict[Row, dict[str, list[Points]]] = {}
    for record in records:
        known: Any = record.configuration
        row = Row(known["fraction"], known["constraints"], known["unlabelled"])
        of_row = curves.setdefault(row, {})
        of_row.setdefault(known["relaxation"], []).append(mean_curve(record, ["dev/f1"]))
    columns: dict[str, dict[str, Curves]] = {}
    for row, by_name in sorted(curves.items()):
        column = columns.setdefault(f"{100 * row.fraction:g}% of the sentences", {})
        rules = RULES[row.constraints, row.unlabelled]
        ordered = {one: by_name[one] for one in looks(by_name) if one in by_name}
        column[f"F1 on DEV, %\n{rules}"] = ordered
    return Picture(
        f"{name}-learning",
        f"Learning curves: {texts}",
        f"F1 of the likeliest tags on DEV over the epochs of training, for {texts}, by relaxation, "
        "share of the sentences and rules.",
        draw_learning(columns),
        command,
    )


def _weights_pictures(
    texts: Texts, records: Iterable[Record], name: str, command: str
) -> list[Block]:
    by_share: dict[float, list[Record]] = {}
    for record in records:
        known: Any = record.configuration
        by_share.setdefault(known["fraction"], []).append(record)
    blocks: list[Block] = []
    for fraction, of_share in sorted(by_share.items()):
        weighed = weigh(of_share)
        if weighed:
            where = f"{100 * fraction:g}% of the sentences, {texts}"
            blocks.append(
                Picture(
                    f"{name}-{100 * fraction:g}-weights",
                    f"How much the weight λ of the rules matters: {where}",
                    "F1 of the likeliest tags and of those that obey the rules, and the share of "
                    "transitions of the former that break them, against the weight of the rules, "
                    f"for {where}, by relaxation. Runs of a relaxation differ in nothing else; a "
                    "warm-up has the same weight.",
                    draw_chunking_weights(weighed),
                    f"{command} --fraction {fraction:g} --weight WEIGHT",
                )
            )
    return blocks or [Text("No relaxation was run with two weights λ of the rules or more.")]
