"""`residuum report`: all findings as one HTML page, or a page about a user's own rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from residuum.analysis import catalogue, tautology_table
from residuum.cli.errors import warn
from residuum.cli.inputs import AsJson, NoCache, RelaxationNames, read_relaxations
from residuum.cli.outputs import print_json, say
from residuum.cli.progress import with_progress
from residuum.errors import RecordError, ResiduumError
from residuum.relaxations import default_relaxations
from residuum.reports.blocks import Picture, Section, Table, count_of, with_safe_names
from residuum.results import find_records
from residuum.syntax import load

if TYPE_CHECKING:
    from residuum.reports.own_rules.gathering import Asked


def report(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.")
    ] = Path("report.html"),
    rules: Annotated[
        Path | None,
        typer.Option(metavar="FILE.rsd", help="Report your own rules instead of the studies."),
    ] = None,
    sample: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="With --rules: predictions of your model, an array for each tensor that the "
            "rules take.",
        ),
    ] = None,
    inputs: Annotated[
        str,
        typer.Option(
            metavar="FORM", help="The form of the predictions: probs, log_probs or logits."
        ),
    ] = "probs",
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --rules: your training log of their metrics, a JSON object for each line, "
            "or the CSV that Lightning writes.",
        ),
    ] = None,
    relaxation: RelaxationNames = None,
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
    """Write all findings, or those about your own rules, as one HTML page without a network.

    \b
    residuum report
    residuum report --files figures
    residuum report --store runs.sqlite -o findings.html
    residuum report --rules rules.rsd --sample predictions.npz --run log.jsonl
    """
    from residuum.reports.exports import make_folder
    from residuum.reports.own_rules.gathering import Asked
    from residuum.reports.page import check_page

    if rules is not None and store is not None:
        raise ResiduumError(
            "expected --store or --rules, got both; a page about your own rules has no runs"
        )
    if rules is None and (sample or run or relaxation):
        raise ResiduumError(
            "expected --rules FILE.rsd beside --sample, --run or --relaxation, got none; name the "
            "file of the rules that they are about"
        )
    check_page(output)
    if files is not None:
        make_folder(files)
    if rules is not None:
        asked = Asked(rules, sample, inputs, run, read_relaxations(relaxation))
        found = _report_own_rules(asked)
    else:
        found = _report_studies(store, cache=not no_cache)
    _write(found, output, files, as_json=as_json)


class _Report(NamedTuple):
    """The sections of a page, its title, what it is about in words, and data for `--json`."""

    sections: Sequence[Section]
    title: str
    about: str
    data: Mapping[str, Any]


def _report_studies(store: Path | None, *, cache: bool) -> _Report:
    from residuum.reports.page import TITLE
    from residuum.reports.sections import SECTIONS, ReportData

    damaged: list[RecordError] = []
    records = find_records(store, on_damage=damaged.append)
    chosen = default_relaxations(())
    table = tautology_table(chosen, cache=cache)
    rows = list(with_progress(table, len(catalogue()), "integrating"))
    data = ReportData(chosen, rows, records, damaged)
    made = with_progress((make(data) for make in SECTIONS), len(SECTIONS), "drawing")
    return _Report(list(made), TITLE, count_of(len(records), "run"), {"runs": len(records)})


def _report_own_rules(asked: Asked) -> _Report:
    from residuum.reports.own_rules.gathering import as_data, count_steps, gather
    from residuum.reports.own_rules.sections import own_sections

    knowledge = load(asked.rules)
    steps = gather(knowledge, asked)
    *_, facts = with_progress(steps, count_steps(knowledge, asked), "measuring")
    assert facts is not None
    about = count_of(len(knowledge.rules), "rule")
    title = f"The rules of {asked.rules.name}"
    return _Report(own_sections(facts), title, about, as_data(facts))


def _write(found: _Report, output: Path, files: Path | None, *, as_json: bool) -> None:
    """Write the page and the other files, and print what was written."""
    from residuum.reports.exports import count_files, write_files
    from residuum.reports.page import render_page, write_page

    sections = with_safe_names(found.sections)
    write_page(output, render_page(sections, found.title))
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
            **found.data,
            "warnings": warnings,
            "files": [str(path) for path in written],
            "sections": [_contents_of(one) for one in sections],
        })  # fmt: skip
    else:
        say(f"{output}: {found.about} in {len(sections)} sections")
        if files is not None:
            say(f"{files}: {count_of(len(written), 'file')}")


def _contents_of(section: Section) -> dict[str, object]:
    return {
        "name": section.name,
        "title": section.title,
        "tables": [one.name for one in section.all(Table)],
        "pictures": [one.name for one in section.all(Picture)],
    }
