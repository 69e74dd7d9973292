"""Clauses as lists of signed integers: their text in each format, and their truth."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

Clauses = Sequence[Sequence[int]]
"""Literals as in DIMACS: k is variable k, from 1, and −k its negation."""


def dimacs(clauses: Clauses, variables: int, gap: str = "\n") -> str:
    """Return the text of a DIMACS file; `gap` stands between the clauses."""
    spelt = [" ".join(map(str, [*clause, 0])) for clause in clauses]
    return f"c made up\np cnf {variables} {len(clauses)}\n{gap.join(spelt)}\n"


def named(literal: int, prefix: str) -> str:
    """Return `y_k` or `not y_k`, counted from 0."""
    return ("not " if literal < 0 else "") + f"{prefix}{abs(literal) - 1}"


def clause_list(clauses: Clauses, prefix: str = "y_") -> str:
    """Return one clause on each line; no clause may be empty."""
    return "\n".join(" or ".join(named(one, prefix) for one in clause) for clause in clauses)


def rules(clauses: Clauses, prefix: str = "y_") -> str:
    """Return one rule on each line, whose head is the first literal."""
    return "\n".join(
        f"{named(head, prefix)} :- {', '.join(named(-one, prefix) for one in body)}"
        for head, *body in clauses
    )


def predictions(variables: int) -> Iterator[tuple[bool, ...]]:
    """Yield every assignment of the variables."""
    return itertools.product([False, True], repeat=variables)


def holds(clause: Sequence[int], prediction: Sequence[bool]) -> bool:
    """Return whether a literal of a clause is true."""
    return any(prediction[abs(one) - 1] == (one > 0) for one in clause)
