"""A rule file that is typed: its mistakes, what it declares, and what its rules say together."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import Any, Final

from residuum.checks import check
from residuum.errors import KnowledgeError
from residuum.explorer.given import read_text
from residuum.explorer.limits import LONGEST_RULES
from residuum.limits import MOST_SHOWN
from residuum.syntax import Domain, Knowledge, loads

MOST_LABELS: Final = 12
"""The most labels of a domain that the page lists."""


@lru_cache(maxsize=4)
def load_rules(text: str) -> Knowledge:
    """Return the knowledge of a text."""
    return loads(text, source="rules")


def read_rules(given: dict[str, Any]) -> dict[str, Any]:
    """Return what the rules declare, or all their mistakes."""
    try:
        knowledge = load_rules(read_text(given, "text", LONGEST_RULES))
    except KnowledgeError as error:
        problems = error.problems[:MOST_SHOWN]
        return {
            "problems": [{"line": one.line, "column": one.column} for one in problems],
            "shown": str(error),
        }
    return {
        "domains": [
            {"name": one.name, "members": _members(one)} for one in knowledge.domains.values()
        ],
        "functions": [
            {"name": one.name, "from": list(one.domains), "to": one.result,
             "values": None if one.table is None else len(one.table)}
            for one in knowledge.functions.values()
        ],
        "predicates": [
            {"name": one.name, "domains": list(one.domains),
             "kind": "hidden" if one.is_hidden else "softmax" if one.domains
             and not one.is_independent else "sigmoid"}
            for one in knowledge.predicates.values()
        ],
        "rules": [
            {"name": one.name, "weight": one.weight, "ascii": str(one.formula),
             "unicode": f"{one.formula:unicode}"}
            for one in knowledge.rules.values()
        ],
    }  # fmt: skip


def _members(domain: Domain) -> str:
    if domain.labels is None:
        return "positions of a sequence" if domain.is_sequence else "open: as many as the data has"
    first = ", ".join(str(one) for one in islice(domain, MOST_LABELS))
    more = len(domain.labels) - MOST_LABELS
    return f"{first} and {more:,} more" if more > 0 else first


def check_rules(given: dict[str, Any]) -> dict[str, Any]:
    """Return which rules contradict each other, and which follow from others."""
    found = check(load_rules(read_text(given, "text", LONGEST_RULES)))
    return {
        "contradictions": [
            {"rules": list(one.rules), "lengths": list(one.lengths)} for one in found.contradictions
        ],
        "entailed": [{"rule": one.rule, "by": list(one.by)} for one in found.entailed],
        "unchecked": dict(found.unchecked),
    }
