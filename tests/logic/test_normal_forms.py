from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from oracles import distinct_nodes, meaning, scattered, truth_table

from residuum.logic import (
    Atom,
    Comparison,
    Iff,
    Implies,
    Not,
    atoms,
    negation_normal_form,
    size,
)
from residuum.syntax import parse
from strategies import few, formulas, many, numeric_formulas, propositional_formulas

P, Q = atoms("P Q")


def normal(text: str) -> str:
    return str(negation_normal_form(parse(text)))


@many
@given(propositional_formulas)
def test_the_normal_form_has_the_same_truth_table(formula):
    assert truth_table(negation_normal_form(formula)) == truth_table(formula)


@few
@given(numeric_formulas, st.integers(0, 9))
def test_the_normal_form_of_quantifiers_has_the_same_meaning(formula, seed):
    environment = {"x": 0, "y": 1, "z": 3}
    expected = meaning(formula, scattered(seed), environment)
    assert meaning(negation_normal_form(formula), scattered(seed), environment) == expected


@few
@given(formulas)
def test_negation_stands_only_before_atoms_and_comparisons(formula):
    for node in distinct_nodes(negation_normal_form(formula)):
        assert not isinstance(node, Implies | Iff)
        if isinstance(node, Not):
            assert isinstance(node.operand, Atom | Comparison)


@few
@given(formulas)
def test_a_normal_form_is_its_own_normal_form(formula):
    once = negation_normal_form(formula)
    assert negation_normal_form(once) is once


def test_nested_equivalences_stay_linear_in_distinct_nodes():
    formula = Atom("A0")
    for number in range(1, 300):
        formula = Iff(formula, Not(Atom(f"A{number}")))
    result = negation_normal_form(formula)
    assert len(distinct_nodes(result)) < 8 * len(distinct_nodes(formula))
    assert size(result) > 2**250


def test_connectives_are_spelt_out():
    assert normal("P -> Q") == "~P | Q"
    assert normal("~(P -> Q)") == "P & ~Q"
    assert normal("P <-> Q") == "P & Q | ~P & ~Q"
    assert normal("~(P <-> Q)") == "P & ~Q | ~P & Q"
    assert normal("~(P & Q & R)") == "~P | ~Q | ~R"
    assert normal("~true") == "false"
    assert normal("~~~P") == "~P"


def test_negated_quantifiers_become_their_duals_with_the_same_guard():
    assert normal("~forall x in D where x != y: P(x)") == "exists x in D where x != y: ~P(x)"
    assert normal("~exists x in D: P(x) & Q") == "forall x in D: ~P(x) | ~Q"


def test_guards_are_normalised_too():
    assert normal("forall x in D where ~(x = 1 | x = 2): P") == (
        "forall x in D where ~x = 1 & ~x = 2: P"
    )
