from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from oracles import distinct_nodes

from residuum.errors import ResiduumError, UnsupportedNodeError
from residuum.logic import And, Atom, Forall, Not, Or, Variable, atoms, fold, fold_scoped
from strategies import few, formulas

P, Q = atoms("P Q")


@few
@given(formulas)
def test_each_distinct_node_is_visited_once(formula):
    visits = Counter()
    fold(formula, {}, default=lambda node, _: visits.update([node]))
    assert set(visits.values()) == {1}
    assert visits.keys() == distinct_nodes(formula)


@few
@given(formulas)
def test_children_come_before_their_parents_in_order(formula):
    def rebuild(node, results):
        assert tuple(results) == node.children
        return node

    assert fold(formula, {}, default=rebuild) is formula


def test_shared_parts_are_visited_once_however_often_they_occur():
    formula = P
    for _ in range(200):
        formula = Or(formula, formula)
    visits = []
    fold(formula, {}, default=lambda node, _: visits.append(node))
    assert len(visits) == 201


def test_a_case_is_chosen_by_kind_and_the_rest_goes_to_the_default():
    count = fold(
        ~P & Q, {Not: lambda _, parts: 100 * parts[0]}, default=lambda _, parts: 1 + sum(parts)
    )
    assert count == 102


def test_a_missing_case_raises_and_names_the_kind():
    with pytest.raises(UnsupportedNodeError, match="no case for Not: <Not ~P>") as caught:
        fold(~P, {Atom: lambda *_: 0})
    assert isinstance(caught.value, ResiduumError)


def test_a_missing_case_on_a_huge_formula_raises_a_short_message():
    formula = P
    for _ in range(200):
        formula = Or(formula, formula)
    with pytest.raises(UnsupportedNodeError) as caught:
        fold(formula, {Atom: lambda *_: 0})
    assert len(str(caught.value)) < 500


def test_a_scoped_fold_visits_a_shared_part_once_for_each_scope():
    shared = Atom("P", Variable("x"))
    formula = And(shared, Forall([("x", "D")], And(shared, shared)))
    visits = Counter()

    def descend(node, scope):
        inner = scope + 1 if isinstance(node, Forall) else scope
        return [(child, inner) for child in node.children]

    def visit(node, _, scope):
        visits[node, scope] += 1

    fold_scoped(formula, {}, default=visit, scope=0, descend=descend)
    assert visits[shared, 0] == visits[shared, 1] == 1


def test_a_scoped_fold_without_a_case_raises():
    with pytest.raises(UnsupportedNodeError):
        fold_scoped(P, {}, scope=None, descend=lambda *_: [])
