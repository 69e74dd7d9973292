"""Blocks that the sections of all studies have: their runs, tables and claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from residuum.reports.blocks import (
    Block,
    Claims,
    Commands,
    Entry,
    Judged,
    Table,
    Text,
    count_of,
)
from residuum.results import Record
from residuum.study import table_format as tables
from residuum.study.grouped_runs import GroupedRuns
from residuum.study.skipped_records import Sifted, tell_skipped
from residuum.study.verdicts import Verdict


class Runs(NamedTuple):
    """The runs of a study.

    `own` are all runs of the present version of the study, those of tuning included. `finished` are
    the ones measured on TEST. `outdated` counts the runs of other versions. `warnings` say which
    records are skipped, and why.
    """

    own: list[Record]
    finished: list[Record]
    outdated: int
    warnings: list[str]


def runs_of_study(
    records: Iterable[Record],
    study: str,
    tuning: str,
    scheme: int,
    sift: Callable[[Iterable[Record]], Sifted],
) -> Runs:
    """Return the runs of a study among records; runs of another version are only counted."""
    of_study = [record for record in records if record.study in (study, tuning)]
    present = [record for record in of_study if record.scheme == scheme]
    own, skipped = sift(present)
    finished = [record for record in own if record.study == study]
    warnings = [tell_skipped(skipped)] if skipped else []
    return Runs(own, finished, len(of_study) - len(present), warnings)


def no_runs(command: str) -> list[Block]:
    """Return blocks that say that there are no runs, and how to make some."""
    words = Text("No runs of this study were found. These commands make some:")
    return [words, Commands([f"{command} --quick", "residuum report"])]


def run_counts(runs: Runs, in_tables: int) -> Text:
    """Return a sentence with the number of runs of each kind."""
    return Text(
        f"{count_of(len(runs.finished), 'finished run')}, of which {in_tables:,} with the "
        "settings that were chosen on DEV stand in the tables; "
        f"{count_of(len(runs.own) - len(runs.finished), 'run')} of tuning; "
        f"{count_of(runs.outdated, 'run')} of another version of the study left out."
    )


def broken_runs(findings: GroupedRuns[Any, Any]) -> list[Block]:
    """Return a sentence with the number of broken runs, if there are any in the tables."""
    words = findings.tell_broken()
    return [Text(f"In the tables {words}")] if words else []


def claims_of(verdicts: Sequence[Verdict]) -> list[Block]:
    """Return the claims of the paper, each with its verdict."""
    return [
        Text("What the paper claims of this experiment, and what the runs say:"),
        Claims([
            Judged(v.status, v.claim.section, v.claim.claim, v.claim.test, v.evidence)
            for v in verdicts
        ]),
    ]  # fmt: skip


def report_table(
    table: tables.Table, name: str, command: str, numbers: Sequence[Mapping[str, object]]
) -> Table:
    """Return a table of a study as a block of the report."""
    rows = [
        [
            Entry(text.strip("* ") if number == 0 else text.replace("*", ""),
                  "**" in text, minor=line[0].startswith(" "))
            for number, text in enumerate(line)
        ]
        for line in table.lines("**")
    ]  # fmt: skip
    return Table(name, table.title, table.heads, rows, numbers, command)


def numbers_of(table: tables.Table) -> list[dict[str, Any]]:
    """Return the cells of a table as data, each with the entries that all cells share."""
    content = table.to_json()
    cells = content.pop("cells")
    return [{**content, **cell} for cell in cells]
