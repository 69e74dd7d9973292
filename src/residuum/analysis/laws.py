"""Rewriting a formula without changing its degree, by laws of all S-logics or all R-logics.

In every logic here ∧ is commutative and associative with neutral element 1, ¬ is an involution
and ∨ is dual to ∧. In an S-logic x → y is ¬x ∨ y. In an R-logic x → y is 1 exactly where x ≤ y,
x ∧ (x → y) ≤ y, and x → (y → z) is (x ∧ y) → z. So a
formula that is rewritten to `true` has the mean degree 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from residuum.logic import FALSE, TRUE, And, Formula, Iff, Implies, Not, Or, Truth, fold
from residuum.logic.nodes import Case, Node, replace_children

MOST_FLAT = 200
"""The most operands to which nested conjunctions are flattened.

Without it a formula that shares its parts could become exponentially large.
"""


def rewrite(formula: Formula, *, residuated: bool) -> Formula:
    """Return a formula of the same degree everywhere, in ∧, ¬ and (if residuated) →.

    Operands of ∧ are flattened and sorted by first occurrence, so that formulas equal by
    commutativity, associativity, duality or double negation become the same object.

    >>> from residuum.logic import atoms
    >>> P, Q = atoms("P Q")
    >>> rewrite(P >> (Q >> P), residuated=True)
    <Truth true>
    """
    order: dict[Node, int] = {}

    def conjoin(*operands: Formula) -> Formula:
        flat: list[Formula] = []
        for operand in operands:
            nested = isinstance(operand, And) and len(flat) + len(operand.operands) <= MOST_FLAT
            flat.extend(operand.operands if nested and isinstance(operand, And) else (operand,))
        if FALSE in flat or (residuated and _holds_both_orders(flat)):
            return FALSE
        kept = [operand for operand in flat if operand is not TRUE]
        for operand in kept:
            order.setdefault(operand, len(order))
        return And(*sorted(kept, key=order.__getitem__))

    def disjoin(*operands: Formula) -> Formula:
        return _negate(conjoin(*map(_negate, operands)))

    def imply(antecedent: Formula, consequent: Formula) -> Formula:
        if not residuated:
            return disjoin(_negate(antecedent), consequent)
        if _is_below(antecedent, consequent):
            return TRUE
        if isinstance(consequent, Implies):
            antecedent = conjoin(antecedent, consequent.antecedent)
            consequent = consequent.consequent
        if _is_below(antecedent, consequent):
            return TRUE
        return consequent if antecedent is TRUE else Implies(antecedent, consequent)

    cases: Mapping[Any, Case[Any]] = {
        Not: lambda _, parts: _negate(*parts),
        And: lambda _, parts: conjoin(*parts),
        Or: lambda _, parts: disjoin(*parts),
        Implies: lambda _, parts: imply(*parts),
        Iff: lambda _, parts: conjoin(imply(*parts), imply(*reversed(parts))),
    }
    result = fold(formula, cases, default=_keep)
    assert isinstance(result, Formula)
    return result


def _keep(node: Node, parts: Sequence[Node]) -> Node:
    return replace_children(node, tuple(parts))


def _negate(formula: Formula) -> Formula:
    if isinstance(formula, Truth):
        return Truth(not formula.value)
    return formula.operand if isinstance(formula, Not) else Not(formula)


def _is_below(left: Formula, right: Formula) -> bool:
    """Return whether left ≤ right follows from T(x, y) ≤ x and T(x, x → y) ≤ y.

    The left is at most each x of `above`, and the right at least ¬x for each x of `denied`.
    """
    if left is FALSE or right is TRUE:
        return True
    not_right = _negate(right)
    above, denied = _detached(left), _detached(not_right)
    return any(_operands(_negate(x)) <= above for x in (not_right, *denied)) or any(
        _operands(_negate(x)) <= denied for x in (left, *above)
    )


def _detached(formula: Formula) -> Counter[Formula]:
    """Return operands whose conjunction is not smaller: x and x → y are replaced by y."""
    operands = _operands(formula)
    for implication in list(operands):
        if isinstance(implication, Implies):
            needed = _operands(implication.antecedent) + Counter([implication])
            if needed <= operands:
                operands = operands - needed + _operands(implication.consequent)
    return operands


def _holds_both_orders(operands: Sequence[Formula]) -> bool:
    """Return whether ¬(x → y) and ¬(y → x) both occur: one of them is 0, as x ≤ y or y ≤ x."""
    denied = {o.operand for o in operands if isinstance(o, Not) and isinstance(o.operand, Implies)}
    return any(
        Implies(d.consequent, d.antecedent) in denied for d in denied if isinstance(d, Implies)
    )


def _operands(formula: Formula) -> Counter[Formula]:
    return Counter(formula.operands if isinstance(formula, And) else (formula,))
