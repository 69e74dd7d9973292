"""`residuum report`: all findings as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from residuum.analysis import catalogue, tautology_table
from residuum.cli.errors import warn
from residuum.cli.inputs import AsJson, NoCache
from residuum.cli.outputs import print_json, say
from residuum.cli.progress import with_progress
from residuum.errors import RecordError
from residuum.relaxations import default_relaxations
from residuum.reports.blocks import Picture, Section, Table, count_of, with_safe_names
from residuum.results import find_records


def report(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.")
    ] = Path("report.html"),
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Report the runs of this store alone. Without it: those of the default store "
            "(RESIDUUM_STORE) and of results/*.jsonl.",
        ),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Also write each picture as PNG and SVG, and each table as CSV and LaTeX, here.",
        ),
    ] = None,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Write all findings as one HTML page, which can be read without a network.

    \b
    residuum report
    residuum report --files figures
    residuum report --store runs.sqlite -o findings.html
    """
    from residuum.reports.exports import count_files, make_folder, write_files
    from residuum.reports.page import check_page, render_page, write_page
    from residuum.reports.sections import SECTIONS, ReportData

    check_page(output)
    if files is not None:
        make_folder(files)
    damaged: list[RecordError] = []
    records = find_records(store, on_damage=damaged.append)
    chosen = default_relaxations(())
    table = tautology_table(chosen, cache=not no_cache)
    rows = list(with_progress(table, len(catalogue()), "integrating"))
    data = ReportData(chosen, rows, records, damaged)
    made = with_progress((make(data) for make in SECTIONS), len(SECTIONS), "drawing")
    sections = with_safe_names(list(made))
    write_page(output, render_page(sections))
    written: list[Path] = []
    if files is not None:
        work = write_files(files, sections)
        written += with_progress(work, count_files(sections), "writing")
    warnings = [warning for section in sections for warning in section.warnings]
    for warning in warnings:
        warn(warning)
    if as_json:
        print_json({
            "file": str(output),
            "runs": len(records),
            "warnings": warnings,
            "files": [str(path) for path in written],
            "sections": [_contents_of(one) for one in sections],
        })  # fmt: skip
    else:
        say(f"{output}: {count_of(len(records), 'run')} in {len(sections)} sections")
        if files is not None:
            say(f"{files}: {count_of(len(written), 'file')}")


def _contents_of(section: Section) -> dict[str, object]:
    return {
        "name": section.name,
        "title": section.title,
        "tables": [one.name for one in section.all(Table)],
        "pictures": [one.name for one in section.all(Picture)],
    }
