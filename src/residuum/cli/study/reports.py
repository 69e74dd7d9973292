"""Printing of tables and of verdicts on claims, for all studies."""

from __future__ import annotations

from collections.abc import Sequence

from residuum.cli.errors import warn
from residuum.cli.outputs import print_json, print_table, say, say_lines
from residuum.study.grouped_runs import Chosen
from residuum.study.skipped_records import Skipped, tell_skipped
from residuum.study.table_format import Table, to_markdown
from residuum.study.verdicts import Verdict, told


def print_report(
    tables: Sequence[Table],
    notes: Sequence[str],
    broken: str,
    chosen: Chosen,
    verdicts: Sequence[Verdict],
    skipped: Sequence[Skipped],
    *,
    as_json: bool,
    markdown: bool,
) -> None:
    """Print tables, the number of records outside them, and the verdicts on claims.

    `broken` says how many runs are broken; it is empty if none is. Skipped records are named on
    stderr.
    """
    if skipped:
        warn(tell_skipped(skipped))
    if as_json:
        print_json({
            "tables": [table.to_json() for table in tables],
            "claims": [verdict.as_dict() for verdict in verdicts],
            "left_out": chosen.left_out,
            "skipped": [one._asdict() for one in skipped],
        })  # fmt: skip
        return
    for table in tables:
        if markdown:
            say_lines(to_markdown(table))
        else:
            say(table.title)
            print_table(table.heads, table.lines(bold=""))
    remarks = [*notes, *([broken] if broken else [])]
    if chosen.left_out:
        count = chosen.left_out + len(chosen.records)
        remarks.append(
            f"{chosen.left_out} of {count} records have other settings than those chosen, and "
            "are in no table"
        )
    for remark in remarks:
        say(remark)
        if markdown:
            say()  # in Markdown a line alone is no paragraph
    say_lines(told(verdicts, markdown=markdown))
