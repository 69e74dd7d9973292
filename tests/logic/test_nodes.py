"""Equal nodes are one object, nodes cannot be changed, and a fold visits each of them once."""

from __future__ import annotations

import copy
import enum
import gc
import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from oracles import distinct_nodes

from residuum.errors import ResiduumError, UnsupportedNodeError
from residuum.logic import (
    TRUE,
    And,
    Atom,
    Comparison,
    Constant,
    Exists,
    Forall,
    Implies,
    Not,
    Or,
    Truth,
    Variable,
    atoms,
    fold,
    fold_scoped,
)
from strategies import few, formulas

P, Q, R = atoms("P Q R")
x, y = Variable("x"), Variable("y")
different = Comparison("!=", x, y)

# Identity


def test_equal_content_is_the_same_object():
    assert And(Atom("P"), Not(Atom("Near", x, 3))) is And(P, ~Atom("Near", x, Constant(3)))


def test_quantifiers_with_equal_content_are_the_same_object():
    assert Forall([("x", "D")], P) is Forall((("x", "D"),), P)


def test_different_kinds_with_equal_fields_differ():
    assert And(P, Q) is not Or(P, Q)
    assert Forall([("x", "D")], P) is not Exists([("x", "D")], P)


def test_an_integer_and_its_digits_are_different_constants():
    assert Constant(1) is not Constant("1")


def test_true_is_not_the_constant_one():
    assert Truth(True) is TRUE
    assert Constant(1) != TRUE


def test_order_of_operands_matters():
    assert And(P, Q) is not And(Q, P)


def test_formulas_are_dictionary_keys():
    assert {P & Q: 1}[And(Atom("P"), Atom("Q"))] == 1


def test_threads_share_one_copy():
    def build(_: int) -> list[Atom]:
        return [Atom(f"Threaded_{number}") for number in range(200)]

    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(build, range(8))
    assert all(a is b for other in others for a, b in zip(first, other, strict=True))


def test_unused_formulas_are_forgotten():
    from residuum.logic.nodes import _table

    kept = [Atom(f"Forgotten_{number}") for number in range(1000)]
    before = len(_table)
    del kept
    gc.collect()
    assert len(_table) <= before - 1000


def test_a_constant_from_an_enumeration_is_the_plain_integer():
    class Colour(int, enum.Enum):
        RED = 1_234_567

    assert str(Atom("P", Constant(Colour.RED))) == "P(1234567)"
    assert type(Constant(1_234_567).value) is int


# Immutability, copies and pickles


@pytest.mark.parametrize("node", [P, P & Q, Forall([("x", "D")], P), x, Constant(1), TRUE])
def test_nodes_cannot_be_changed(node):
    field = (*node.__match_args__, "children")[0]
    with pytest.raises(AttributeError, match="immutable"):
        setattr(node, field, None)
    with pytest.raises(AttributeError, match="immutable"):
        delattr(node, field)
    with pytest.raises(AttributeError):
        node.something_new = 1


def test_copies_are_the_same_object():
    formula = Forall([("x", "D")], Atom("P", x) >> Q, different)
    assert copy.copy(formula) is formula
    assert copy.deepcopy({"rule": [formula]})["rule"][0] is formula


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_unpickling_gives_the_same_object_in_every_protocol(protocol):
    formula = Forall([("x", "D"), ("y", "E")], Atom("P", x, 0, 1, -1, "NP" and x) >> Q, different)
    assert pickle.loads(pickle.dumps(formula, protocol)) is formula


@few
@given(formulas)
def test_unpickling_any_formula_gives_the_same_object(formula):
    assert pickle.loads(pickle.dumps(formula)) is formula


def test_fields_can_be_matched_by_position():
    match Forall([("x", "D")], P >> Q, different):
        case Forall(
            ((variable, domain),), Comparison("!=", _, Variable(other)), Implies(_, Atom(q))
        ):
            assert (variable, domain, other, q) == ("x", "D", "y", "Q")
        case _:
            pytest.fail("did not match")


# Folds


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
