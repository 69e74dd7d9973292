"""The section that says how the page was made: files, commands, versions of libraries."""

from __future__ import annotations

from residuum.reports.blocks import Commands, Section, Text
from residuum.reports.environment_section import libraries_table
from residuum.reports.own_rules.gathering import OwnRules


def made_section(facts: OwnRules) -> Section:
    """Name the commands that make the page again, and the versions of libraries."""
    asked = facts.asked
    return Section(
        "made",
        "How this page was made",
        [
            Text("These commands print its parts again:"),
            Commands([asked.report_command, asked.advise_command, asked.check_command]),
            libraries_table(),
        ],
    )
