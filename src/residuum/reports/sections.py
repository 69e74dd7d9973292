"""The sections of the report, in their order: the one place where a section is registered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from residuum.analysis import Cell
from residuum.errors import RecordError
from residuum.relaxations import Relaxation
from residuum.reports.blocks import Section
from residuum.reports.chunking_section import chunking_section
from residuum.reports.digits_section import digits_section
from residuum.reports.environment_section import environment_section
from residuum.reports.field_section import field_section
from residuum.reports.theory_sections import (
    question_section,
    relaxations_section,
    tautologies_section,
)
from residuum.results import Record


@dataclass(frozen=True)
class ReportData:
    """All that sections are made from.

    `tautologies` are the rows of `tautology_table`. `damaged` are the errors of records that could
    not be read.
    """

    relaxations: Sequence[Relaxation]
    tautologies: Sequence[Sequence[Cell]]
    records: Sequence[Record]
    damaged: Sequence[RecordError] = ()


SECTIONS: Final[tuple[Callable[[ReportData], Section], ...]] = (
    lambda data: question_section(data.records),
    lambda data: relaxations_section(data.relaxations),
    lambda data: tautologies_section(data.tautologies),
    lambda data: digits_section(data.records),
    lambda data: chunking_section(data.records),
    lambda data: field_section(data.records),
    lambda data: environment_section(data.records, data.damaged),
)
"""What makes each section. To add a section, add a line here."""
