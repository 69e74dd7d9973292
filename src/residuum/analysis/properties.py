"""The three criteria of the paper, P1, P2 and P3, for one relaxation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from residuum.analysis.consistency import consistency, self_consistency
from residuum.analysis.results import Consistency
from residuum.analysis.tautologies import catalogue
from residuum.relaxations import Relaxation
from residuum.relaxations import relaxation as find_relaxation


@dataclass(frozen=True)
class Properties:
    """P1 (sub-differentiable), P2 (consistent) and P3 (self-consistent) of a relaxation.

    P1: `subdifferentiable` says for each connective whether it is on the open cube; None: unknown.
    P2: `preserved`, `not_preserved` and `undecided` name the tautologies of the paper's table whose
    consistency is 1, is less than 1, or is not known to be either. P3: `self_consistent` is True
    for every R-logic. For an S-logic it is False if the `self_consistency` of an atom is below 1.
    """

    subdifferentiable: Mapping[str, bool | None]
    discontinuities: Mapping[str, str]
    preserved: tuple[str, ...]
    not_preserved: tuple[str, ...]
    undecided: tuple[str, ...]
    self_consistent: bool | None
    self_consistency: Consistency


def properties(relaxation: str | Relaxation, *, seconds: float = 1.0) -> Properties:
    """Return P1, P2 and P3 of a relaxation. `seconds` limits the time for each tautology.

    >>> found = properties("s-godel")
    >>> found.preserved, found.self_consistent
    ((), False)
    """
    chosen = find_relaxation(relaxation)
    rows: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for row in catalogue():
        if row.is_tautology:
            rows[_is_one(consistency(row.formula, chosen, seconds=seconds))].append(row.name)
    of_an_atom = self_consistency("P", chosen, seconds=seconds)
    return Properties(
        subdifferentiable=chosen.is_subdifferentiable,
        discontinuities=chosen.discontinuities,
        preserved=tuple(rows[True]),
        not_preserved=tuple(rows[False]),
        undecided=tuple(rows[None]),
        self_consistent=_is_self_consistent(chosen, of_an_atom),
        self_consistency=of_an_atom,
    )


def _is_self_consistent(relaxation: Relaxation, of_an_atom: Consistency) -> bool | None:
    if relaxation.kind != "S":
        return True  # x → x is 1 in every R-logic
    return False if _is_one(of_an_atom) is False else None


def _is_one(result: Consistency) -> bool | None:
    """Return whether a value is 1, or None if neither a proof nor bounds decide."""
    if result.exact is not None:
        return result.exact == 1
    return False if result.kind == "certified" and result.high < 1 else None
