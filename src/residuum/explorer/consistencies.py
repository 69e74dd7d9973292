"""Consistency and self-consistency of a formula under each relaxation, as they are found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from residuum.analysis import Consistency, consistency, self_consistency
from residuum.analysis.results import in_full
from residuum.errors import ResiduumError, UnknownRelaxationError
from residuum.explorer.formulas import why_no_degrees
from residuum.explorer.given import read_names, read_number, read_text
from residuum.explorer.limits import LONGEST_FORMULA
from residuum.relaxations import relaxation
from residuum.syntax import parse

LONGEST_EXACT = 200
"""The most characters of an exact value that the page shows."""


def measure_consistency(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield both numbers for each relaxation. `seconds` limits the time for each number."""
    formula = parse(read_text(given, "text", LONGEST_FORMULA))
    refused = why_no_degrees(formula)
    if refused:
        raise ResiduumError(refused)
    seconds = read_number(given, "seconds", 0.1, 60)
    for name in read_names(given):
        try:
            chosen = relaxation(name)
        except UnknownRelaxationError as error:
            yield {"relaxation": name, "problem": str(error)}
            continue
        for kind, measure in (("consistency", consistency), ("self", self_consistency)):
            found = measure(formula, chosen, seconds=seconds, cache=False)
            yield {"relaxation": name, "kind": kind, "found": _described(found)}


def _described(found: Consistency) -> dict[str, Any]:
    exact = None if found.exact is None else in_full(found.exact)
    return {
        "value": found.value,
        "decimal": found.decimal(8 if found.kind == "certified" else 6),
        "kind": found.kind,
        "exact": exact if exact is None or len(exact) <= LONGEST_EXACT else "too long to show",
        "low": found.low,
        "high": found.high,
        "method": found.method,
        "note": found.note,
    }
