"""Rules with `true` and `false`, simplified as far as all logics agree.

On tensors the logarithm of 0 is a finite number. Computing with it would give wrong penalties.
"""

from __future__ import annotations

from collections.abc import Sequence

from residuum.logic import (
    And,
    Count,
    CountOf,
    CountQuantifier,
    Formula,
    Iff,
    Implies,
    Node,
    Not,
    Or,
    Truth,
    fold,
)
from residuum.logic.nodes import replace_children


def settled(formula: Formula) -> Formula:
    """Return a formula without connectives between constants, and without `false` beside `<->`.

    On `true` and `false` every logic agrees with Boolean logic. An implication with the antecedent
    `false` stays as it is, because coverage counts it.
    """
    result = fold(
        formula,
        {
            **dict.fromkeys((Not, And, Or, Implies, Iff), _connected),
            CountOf: _counted,
            CountQuantifier: _counted_over,
        },
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
    """Return the truth of a connective between constants. An antecedent is `true` here."""
    if kind is And:
        return all(known)
    if kind is Or:
        return any(known)
    if kind is Not:
        return not known[0]
    return known[0] == known[1]


def _counted(node: CountOf, parts: Sequence[Node]) -> Node:
    """Return a count without constants: `true` counts as one, and `false` as none."""
    known = [part.value for part in parts if isinstance(part, Truth)]
    others = [part for part in parts if isinstance(part, Formula) and not isinstance(part, Truth)]
    count = node.count
    number = count.number - sum(known)
    if number >= 0:
        return CountOf(Count(count.relation, number), others)
    # More are true than are asked for. The other operands stay, because the rule still reads them.
    return CountOf(
        Count("at least", 0 if count.relation == "at least" else len(others) + 1), others
    )


def _counted_over(node: CountQuantifier, parts: Sequence[Node]) -> Node:
    """Return the truth of a count of what is false everywhere, and other counts as they are."""
    is_false = parts[-1] is Truth(False)
    return Truth(node.count.holds(0)) if is_false else replace_children(node, tuple(parts))
