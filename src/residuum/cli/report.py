"""`residuum report`: all that was found, as one page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from residuum.analysis import Cell, catalogue, tautology_table
from residuum.cli.inputs import AsJson, NoCache
from residuum.cli.outputs import print_json, say
from residuum.cli.progress import with_progress
from residuum.errors import RecordError
from residuum.relaxations import Relaxation, default_relaxations
from residuum.reports.sections import Picture, Section, Table, count_of, with_safe_names
from residuum.results import Record, find_records


def report(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The page.")
    ] = Path("report.html"),
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The store of runs to report, alone. Without it: the usual one (RESIDUUM_STORE) "
            "and results/*.jsonl.",
        ),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Also write each picture there, as PNG and SVG, and each table, as CSV and LaTeX.",
        ),
    ] = None,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Write all that was found as one HTML page, which needs no network to be read.

    \b
    residuum report
    residuum report --files figures
    residuum report --store runs.sqlite -o findings.html
    """
    from residuum.reports.exports import count_files, make_folder, write_files
    from residuum.reports.page import check_page, render_page, write_page

    check_page(output)
    if files is not None:
        make_folder(files)
    damaged: list[RecordError] = []
    records = find_records(store, on_damage=damaged.append)
    chosen = default_relaxations(())
    table = tautology_table(chosen, cache=not no_cache)
    rows = list(with_progress(table, len(catalogue()), "integrating"))
    makers = _makers(chosen, rows, records, damaged)
    made = list(with_progress((make() for make in makers), len(makers), "drawing"))
    sections = with_safe_names(made)
    write_page(output, render_page(sections))
    written: list[Path] = []
    if files is not None:
        work = write_files(files, sections)
        written += with_progress(work, count_files(sections), "writing")
    warnings = [warning for section in sections for warning in section.warnings]
    for warning in warnings:
        say(f"residuum: {warning}", err=True)
    if as_json:
        print_json({
            "file": str(output),
            "runs": len(records),
            "warnings": warnings,
            "files": [str(path) for path in written],
            "sections": [_listed(one) for one in sections],
        })  # fmt: skip
    else:
        say(f"{output}: {count_of(len(records), 'run')} in {len(sections)} sections")
        if files is not None:
            say(f"{files}: {count_of(len(written), 'file')}")


def _makers(
    relaxations: Sequence[Relaxation],
    rows: Sequence[Sequence[Cell]],
    records: Sequence[Record],
    damaged: Sequence[RecordError],
) -> list[Callable[[], Section]]:
    from residuum.reports.chunking_section import chunking_section
    from residuum.reports.digits_section import digits_section
    from residuum.reports.environment_section import environment_section
    from residuum.reports.theory_sections import (
        question_section,
        relaxations_section,
        tautologies_section,
    )

    return [
        question_section,
        partial(relaxations_section, relaxations),
        partial(tautologies_section, rows),
        partial(digits_section, records),
        partial(chunking_section, records),
        partial(environment_section, records, damaged),
    ]


def _listed(section: Section) -> dict[str, object]:
    return {
        "name": section.name,
        "title": section.title,
        "tables": [one.name for one in section.all(Table)],
        "pictures": [one.name for one in section.all(Picture)],
    }
