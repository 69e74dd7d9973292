from __future__ import annotations

from hypothesis import given

from residuum.logic import (
    Application,
    Atom,
    Constant,
    Exists,
    Forall,
    Quantifier,
    Term,
    Variable,
    atoms,
    atoms_of,
    depth,
    free_variables,
    quantifiers_of,
    size,
)
from residuum.syntax import parse
from strategies import few, formulas

P, Q, R = atoms("P Q R")
x, y = Variable("x"), Variable("y")


def free_by_recursion(node, bound=frozenset()) -> set[str]:
    if isinstance(node, Variable):
        return {node.name} - bound
    if isinstance(node, Quantifier):
        bound = bound | {variable for variable, _ in node.bindings}
    return {name for child in node.children for name in free_by_recursion(child, bound)}


def test_atoms_come_in_order_of_first_occurrence_without_repeats():
    assert atoms_of(parse("R -> (P & R | Q) & P")) == (R, P, Q)


def test_atoms_with_different_terms_are_different_atoms():
    assert atoms_of(parse("P(x) & P(y) & P(x) & P")) == (Atom("P", x), Atom("P", y), P)


def test_atoms_below_quantifiers_are_found():
    assert atoms_of(parse("forall x in D where x = 1: P(x)")) == (Atom("P", x),)


def test_truth_constants_have_no_atoms():
    assert atoms_of(parse("true -> false")) == ()


@few
@given(formulas)
def test_free_variables_agree_with_plain_recursion(formula):
    assert free_variables(formula) == free_by_recursion(formula)


def test_bound_variables_are_not_free():
    assert free_variables(parse("forall x in D where x < z: P(x, y)")) == {"y", "z"}


def test_a_variable_is_free_beside_the_quantifier_that_binds_it():
    assert free_variables(parse("P(x) & exists x in D: Q(x)")) == {"x"}


def test_terms_have_free_variables_too():
    assert free_variables(Application("f", x, Constant("y"))) == {"x"}


def test_quantifiers_are_found_inner_ones_first():
    inner = Exists([("y", "D")], Q)
    outer = Forall([("x", "D")], inner & P)
    assert quantifiers_of(outer | inner) == (inner, outer)


def test_depth_counts_nodes_on_the_longest_path():
    assert depth(P) == 1
    assert depth(parse("P & ~Q")) == 3
    assert depth(parse("P(x + 1)")) == 3


def test_size_counts_shared_parts_each_time():
    assert size(P & P) == 3
    assert size(parse("forall x in D where x = 1: P(x)")) == 6


@few
@given(formulas)
def test_depth_and_size_agree_with_plain_recursion(formula):
    def depth_of(node):
        return 1 + max(map(depth_of, node.children), default=0)

    def size_of(node):
        return 1 + sum(map(size_of, node.children))

    assert (depth(formula), size(formula)) == (depth_of(formula), size_of(formula))


def test_children_are_the_parts_in_the_order_of_the_text():
    rule = parse("forall x in D where x = 1: P(x)")
    assert rule.children == (rule.guard, rule.body)
    assert all(isinstance(child, Term) for child in Atom("P", x, y).children)
