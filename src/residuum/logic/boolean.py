"""Boolean evaluation: whether a formula is true or false."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from residuum.errors import EvaluationError
from residuum.logic import formulas as fm
from residuum.logic.counting import CountOf
from residuum.logic.formulas import Atom, Formula
from residuum.logic.nodes import Case, fold
from residuum.logic.questions import atoms_of, quantifiers_of, refuse_comparisons

V = TypeVar("V")

CONNECTIVES: Final[Mapping[Any, Case[bool]]] = {
    fm.Truth: lambda node, _: node.value,
    fm.Not: lambda _, parts: not parts[0],
    fm.And: lambda _, parts: all(parts),
    fm.Or: lambda _, parts: any(parts),
    fm.Implies: lambda _, parts: not parts[0] or parts[1],
    fm.Iff: lambda _, parts: parts[0] == parts[1],
    CountOf: lambda node, parts: node.count.holds(sum(map(bool, parts))),
}


def evaluate(
    formula: Formula,
    assignment: Mapping[str, bool] | Mapping[Atom, bool] | Mapping[str | Atom, bool],
) -> bool:
    """Return whether a formula is true. The assignment maps atoms, or their texts, to truth.

    >>> P, Q = fm.atoms("P Q")
    >>> evaluate(P >> Q, {"P": True, "Q": False})
    False
    """
    values = values_by_atom(formula, assignment)

    def atom(node: Atom, _: Sequence[bool]) -> bool:
        value = values[node]
        if not isinstance(value, numbers.Number) or value not in (0, 1):
            raise EvaluationError(
                f"`{node}`: expected True or False, got {value!r}; `truth` takes degrees"
            )
        return bool(value)

    return fold(formula, {**CONNECTIVES, Atom: atom}, default=_term)


def values_by_atom(formula: Formula, assignment: Mapping[Any, V]) -> dict[Atom, V]:
    """Return the value of every atom of a formula. The keys are atoms or their texts."""
    for quantifier in quantifiers_of(formula):
        _refuse_quantifier(quantifier, ())
    refuse_comparisons(formula)
    found: dict[Atom, V] = {}
    missing = []
    for atom in atoms_of(formula):
        key = atom if atom in assignment else str(atom)
        if key in assignment:
            found[atom] = assignment[key]
        else:
            missing.append(f"`{atom}`")
    if missing:
        given = ", ".join(f"`{key}`" for key in assignment) or "none"
        raise EvaluationError(f"no value is given for {', '.join(missing)}; given: {given}")
    return found


def _term(*_: object) -> bool:
    # Terms stand below atoms, so that they are folded. Nothing reads their results.
    return True


def _refuse_quantifier(node: fm.Quantifier, _: Sequence[object]) -> bool:
    domain = node.bindings[0].domain
    raise EvaluationError(
        f"a quantifier over `{domain}` cannot be evaluated without the domain's members; "
        f"spell it out first: expand(formula, {{{domain!r}: 10}})"
    )
