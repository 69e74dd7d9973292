"""Parts of a formula under R-Product that are distributed like an atom.

Let p and q be independent and uniform. Then q / p, where it is below 1, is uniform too: p -> q is
true half of the time and else distributed like an atom, and p <-> q is always distributed like one,
as is ~p. Where p and q occur nowhere else, such a part is independent of everything around it, and
an atom, or `true`, can stand for it without changing the mean degree.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from residuum.logic import (
    TRUE,
    And,
    Atom,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    atoms_of,
    distinct_nodes,
    fold,
)
from residuum.logic.nodes import Node, replace_children

MOST_ATOMS, MOST_FORMULAS = 32, 64
"""The most atoms of a formula that is split up, and the most formulas in a mixture."""


def mixture(formula: Formula) -> dict[Formula, Fraction]:
    """Return formulas over fewer atoms with weights: the mean is the weighted sum of theirs.

    >>> from residuum.syntax import parse
    >>> {str(one): str(weight) for one, weight in mixture(parse("R & (P -> Q)")).items()}
    {'R & P': '1/2', 'R': '1/2'}
    """
    if len(atoms_of(formula)) > MOST_ATOMS:
        return {formula: Fraction(1)}
    pending, finished = {formula: Fraction(1)}, dict[Formula, Fraction]()
    while pending:
        current, weight = pending.popitem()
        part = _find(current)
        if part is None:
            finished[current] = finished.get(current, Fraction(0)) + weight
            continue
        for replacement, share in _outcomes(part):
            simpler = _replaced(current, part, replacement)
            pending[simpler] = pending.get(simpler, Fraction(0)) + share * weight
        if len(pending) + len(finished) > MOST_FORMULAS:
            return {formula: Fraction(1)}
    return finished


def _find(formula: Formula) -> Formula | None:
    """Return a connective between atoms that occur nowhere else, if there is one."""
    parents: dict[Node, list[Formula]] = {}
    connectives = [
        node
        for node in distinct_nodes(formula)
        if isinstance(node, Formula) and not isinstance(node, Atom)
    ]
    for node in connectives:
        for child in set(node.children):
            parents.setdefault(child, []).append(node)
    for node in connectives:
        match node:
            case Not(Atom()):
                pass
            case Implies(Atom() as left, Atom() as right) | Iff(Atom() as left, Atom() as right):
                if left is right:
                    continue
            case _:
                continue
        if all(parents[child] == [node] for child in node.children):
            return node
    return None


def _outcomes(part: Formula) -> list[tuple[Formula, Fraction]]:
    atom = part.children[0]
    assert isinstance(atom, Atom)
    if isinstance(part, Implies):
        return [(TRUE, Fraction(1, 2)), (atom, Fraction(1, 2))]
    return [(atom, Fraction(1))]


def _replaced(formula: Formula, part: Formula, replacement: Formula) -> Formula:
    """Return the formula with a part replaced, and without the `true` that this may leave."""

    def build(node: Node, below: Sequence[Any]) -> Any:
        match node:
            case _ if node is part:
                return replacement
            case And():
                return And(*(one for one in below if one is not TRUE))
            case Or() if TRUE in below:
                return TRUE
            case Implies() if below[0] is TRUE or below[1] is TRUE:
                return below[1]
            case Iff() if TRUE in below:
                return below[1] if below[0] is TRUE else below[0]
        return replace_children(node, tuple(below))

    simpler = fold(formula, {}, default=build)
    assert isinstance(simpler, Formula)
    return simpler
