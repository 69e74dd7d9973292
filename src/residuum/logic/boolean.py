"""Boolean evaluation: the crisp meaning of a formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from residuum.errors import EvaluationError
from residuum.logic import formulas as fm
from residuum.logic.fold import Case, fold
from residuum.logic.formulas import Atom, Formula
from residuum.logic.questions import atoms_of

V = TypeVar("V")

CONNECTIVES: Final[Mapping[Any, Case[bool]]] = {
    fm.Truth: lambda node, _: node.value,
    fm.Not: lambda _, parts: not parts[0],
    fm.And: lambda _, parts: all(parts),
    fm.Or: lambda _, parts: any(parts),
    fm.Implies: lambda _, parts: not parts[0] or parts[1],
    fm.Iff: lambda _, parts: parts[0] == parts[1],
}


def evaluate(formula: Formula, assignment: Mapping[str | Atom, bool]) -> bool:
    """Return the Boolean truth of a formula whose atoms, or their texts, are assigned.

    >>> P, Q = fm.atoms("P Q")
    >>> evaluate(P >> Q, {"P": True, "Q": False})
    False
    """
    values = values_by_atom(formula, assignment)

    def atom(node: Atom, _: Sequence[bool]) -> bool:
        return bool(values[node])

    return fold(formula, {**CONNECTIVES, **QUANTIFIERS_REFUSED, Atom: atom}, default=_term)


def values_by_atom(formula: Formula, assignment: Mapping[Any, V]) -> dict[Atom, V]:
    """Return the value of every atom of the formula, named by itself or by its text."""
    found: dict[Atom, V] = {}
    missing = []
    for atom in atoms_of(formula):
        for key in (atom, str(atom)):
            if key in assignment:
                found[atom] = assignment[key]
                break
        else:
            missing.append(f"`{atom}`")
    if missing:
        given = ", ".join(f"`{key}`" for key in assignment) or "none"
        raise EvaluationError(f"no value is given for {', '.join(missing)}; given: {given}")
    return found


def _term(*_: object) -> bool:
    # Terms are folded below atoms; nothing reads what they become.
    return True


def _refuse_quantifier(node: fm.Quantifier, _: Sequence[object]) -> bool:
    domain = node.bindings[0].domain
    raise EvaluationError(
        f"a quantifier over `{domain}` cannot be evaluated without the domain's members; "
        f"spell it out first: expand(formula, {{{domain!r}: 10}})"
    )


QUANTIFIERS_REFUSED: Final[Mapping[Any, Case[bool]]] = {
    fm.Forall: _refuse_quantifier,
    fm.Exists: _refuse_quantifier,
}
