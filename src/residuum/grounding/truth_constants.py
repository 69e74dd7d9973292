"""`true` and `false` in rules, in the simplest form that says the same in every logic.

Their logarithms have a floor, and what is computed from one may lie far below it.
"""

from __future__ import annotations

from collections.abc import Sequence

from residuum.logic import And, Formula, Iff, Implies, Node, Not, Or, Truth, fold
from residuum.logic.nodes import replace_children


def settled(formula: Formula) -> Formula:
    """Return a formula in which no constant stands for others, nor beside `<->` as `false`.

    What constants decide, every logic decides as Boolean logic does. An implication whose
    antecedent is `false` is left: it holds for want of anything to say.
    """
    result = fold(
        formula,
        dict.fromkeys((Not, And, Or, Implies, Iff), _connected),
        default=lambda node, parts: replace_children(node, tuple(parts)),
    )
    assert isinstance(result, Formula)
    return result


def _connected(node: Node, parts: Sequence[Node]) -> Node:
    known = [part.value for part in parts if isinstance(part, Truth)]
    if len(known) == len(parts) and not (isinstance(node, Implies) and not known[0]):
        return Truth(_decided(type(node), known))
    if isinstance(node, Iff) and False in known:
        other = parts[0] if isinstance(parts[1], Truth) else parts[1]
        assert isinstance(other, Formula)
        return Implies(other, Truth(False))
    return replace_children(node, tuple(parts))


def _decided(kind: type[Node], known: Sequence[bool]) -> bool:
    """Return what constants come to; an antecedent is true."""
    if kind is And:
        return all(known)
    if kind is Or:
        return any(known)
    if kind is Not:
        return not known[0]
    return known[0] == known[1]
