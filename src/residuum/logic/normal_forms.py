"""The negation normal form: `~` stands only before atoms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from residuum.limits import LARGEST_INTEGER
from residuum.logic import formulas as fm
from residuum.logic.counting import Count, CountOf, CountQuantifier
from residuum.logic.formulas import Formula
from residuum.logic.nodes import Case, Node, fold

Pair = tuple[Formula, Formula]
"""The normal forms of a part of a formula, and of its negation."""


def negation_normal_form(formula: Formula) -> Formula:
    """Return a formula of literals, `&`, `|`, counts and quantifiers with the same Boolean truth.

    The result shares its parts, so that the number of its distinct nodes grows linearly, even with
    `<->`. Most relaxations give the two formulas different degrees.

    >>> from residuum.logic.formulas import atoms
    >>> P, Q = atoms("P Q")
    >>> str(negation_normal_form(~(P >> Q)))
    'P & ~Q'
    """
    cases: dict[Any, Case[Pair]] = {
        fm.Truth: lambda node, _: (node, fm.Truth(not node.value)),
        fm.Not: lambda _, parts: parts[0][::-1],
        fm.And: lambda _, parts: (fm.And(*_kept(parts)), fm.Or(*_negated(parts))),
        fm.Or: lambda _, parts: (fm.Or(*_kept(parts)), fm.And(*_negated(parts))),
        fm.Implies: _implies,
        fm.Iff: _iff,
        fm.Forall: lambda node, parts: _quantifier(node, parts, fm.Forall, fm.Exists),
        fm.Exists: lambda node, parts: _quantifier(node, parts, fm.Exists, fm.Forall),
        CountOf: lambda node, parts: _counted(
            node.count, lambda count: CountOf(count, _kept(parts))
        ),
        CountQuantifier: lambda node, parts: _counted(
            node.count,
            lambda count: CountQuantifier(
                count, node.bindings, parts[-1][0], parts[0][0] if len(parts) > 1 else None
            ),
        ),
    }
    return fold(formula, cases, default=_leaf)[0]


def _leaf(node: Node, _: Sequence[Pair]) -> Pair:
    # Terms stand below atoms and comparisons, so that they are folded. Nothing reads the results.
    return (node, fm.Not(node)) if isinstance(node, Formula) else (fm.TRUE, fm.FALSE)


def _kept(parts: Sequence[Pair]) -> list[Formula]:
    return [kept for kept, _ in parts]


def _negated(parts: Sequence[Pair]) -> list[Formula]:
    return [negated for _, negated in parts]


def _implies(_: Node, parts: Sequence[Pair]) -> Pair:
    (antecedent, no_antecedent), (consequent, no_consequent) = parts
    return fm.Or(no_antecedent, consequent), fm.And(antecedent, no_consequent)


def _iff(_: Node, parts: Sequence[Pair]) -> Pair:
    (left, no_left), (right, no_right) = parts
    both_or_neither = fm.Or(fm.And(left, right), fm.And(no_left, no_right))
    exactly_one = fm.Or(fm.And(left, no_right), fm.And(no_left, right))
    return both_or_neither, exactly_one


def _quantifier(
    node: fm.Quantifier, parts: Sequence[Pair], kept: type[fm.Quantifier], dual: type[fm.Quantifier]
) -> Pair:
    # A guard selects the groundings of either quantifier, so that it is not negated.
    body, no_body = parts[-1]
    guard = parts[0][0] if node.guard is not None else None
    return kept(node.bindings, body, guard), dual(node.bindings, no_body, guard)


def _counted(count: Count, build: Callable[[Count], Formula]) -> Pair:
    """Return a count, and its negation: of `at least k` it is `at most k − 1`, and so on."""
    fewer: Formula = build(Count("at most", count.number - 1)) if count.number else fm.FALSE
    more: Formula = fm.FALSE  # nothing has more members than the largest integer
    if count.number < LARGEST_INTEGER:
        more = build(Count("at least", count.number + 1))
    if count.relation == "at least":
        return build(count), fewer
    if count.relation == "at most":
        return build(count), more
    return build(count), fm.Or(*(part for part in (fewer, more) if part is not fm.FALSE))
