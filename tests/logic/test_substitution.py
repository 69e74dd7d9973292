from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import meaning, scattered, value_of

from residuum.errors import InvalidNameError
from residuum.logic import (
    And,
    Atom,
    Comparison,
    Constant,
    Forall,
    Variable,
    atoms,
    free_variables,
    substitute,
)
from residuum.syntax import parse
from strategies import few, many, numeric_formulas, numeric_terms

P, Q = atoms("P Q")
x, y, z = (Variable(name) for name in "xyz")


def replaced(text: str, replacements) -> str:
    return str(substitute(parse(text), replacements))


environments = [
    dict(zip("xyz", values, strict=True)) for values in itertools.product((0, 1, 3), repeat=3)
]

# Against the meaning: a replaced variable means what its replacement means outside.


@many
@given(numeric_formulas, numeric_terms, numeric_terms, st.integers(0, 9))
def test_substituted_variables_mean_their_replacements(formula, for_x, for_y, seed):
    result = substitute(formula, {x: for_x, y: for_y})
    for environment in environments[seed::9]:
        moved = {
            **environment,
            "x": value_of(for_x, environment),
            "y": value_of(for_y, environment),
        }
        expected = meaning(formula, scattered(seed), moved)
        assert meaning(result, scattered(seed), environment) == expected


@many
@given(numeric_formulas, numeric_formulas, st.integers(0, 9))
def test_a_substituted_proposition_means_its_replacement_outside(formula, replacement, seed):
    result = substitute(formula, {P: replacement})
    for environment in environments[seed::9]:
        value = meaning(replacement, scattered(seed), environment)

        def moved(name, arguments, value=value):
            return value if (name, arguments) == ("P", ()) else scattered(seed)(name, arguments)

        expected = meaning(formula, moved, environment)
        assert meaning(result, scattered(seed), environment) == expected


@few
@given(numeric_formulas)
def test_replacing_nothing_changes_nothing(formula):
    assert substitute(formula, {}) is formula
    assert substitute(formula, {x: x, y: y, P: P}) is formula


@few
@given(numeric_formulas, numeric_terms)
def test_free_variables_after_are_those_of_what_is_left_and_what_came(formula, term):
    expected = free_variables(formula)
    if "x" in expected:
        expected = (expected - {"x"}) | free_variables(term)
    assert free_variables(substitute(formula, {x: term})) == expected


# Cases


def test_replacements_happen_all_at_once():
    assert replaced("P(x, y)", {x: y, y: x}) == "P(y, x)"
    assert replaced("P -> Q", {P: Q, Q: P}) == "Q -> P"


def test_a_bound_variable_is_not_replaced():
    assert replaced("forall x in D where x = y: P(x, y)", {x: Constant(1)}) == (
        "forall x in D where x = y: P(x, y)"
    )


def test_a_variable_is_replaced_beside_the_quantifier_that_shadows_it():
    assert replaced("P(x) & forall x in D: P(x)", {x: Constant(1)}) == "P(1) & forall x in D: P(x)"


def test_guards_are_substituted_into():
    assert replaced("forall x in D where x < y: P(x)", {y: Constant(3)}) == (
        "forall x in D where x < 3: P(x)"
    )


def test_a_capturing_variable_is_renamed_in_guard_and_body():
    assert replaced("forall y in D where y != x: P(x, y)", {x: y}) == (
        "forall y_1 in D where y_1 != y: P(y, y_1)"
    )


def test_a_fresh_name_avoids_every_name_around():
    assert replaced("forall y, y_1 in D: P(x, y, y_1, y_2)", {x: y}) == (
        "forall y_3, y_1 in D: P(y, y_3, y_1, y_2)"
    )


def test_a_fresh_name_avoids_variables_of_inner_quantifiers():
    result = substitute(parse("forall y in D: P(x) & forall y_1 in D: Q(y, y_1)"), {x: y})
    outer, inner = result.bindings[0].variable, result.body.operands[1].bindings[0].variable
    assert len({"y", outer, inner}) == 3
    assert str(result.body) == f"P(y) & forall {inner} in D: Q({outer}, {inner})"


def test_only_the_capturing_variable_is_renamed():
    assert replaced("forall y, z in D: P(x, y, z)", {x: z}) == "forall y, z_1 in D: P(z, y, z_1)"


def test_nothing_is_renamed_where_the_replaced_variable_does_not_occur():
    assert replaced("forall y in D: P(y)", {x: y}) == "forall y in D: P(y)"


def test_nothing_is_renamed_where_the_replaced_atom_does_not_occur():
    assert replaced("forall y in D: R(y)", {P: Atom("Q", y)}) == "forall y in D: R(y)"


def test_a_renamed_variable_that_is_bound_again_is_left_alone():
    assert replaced("forall y in D: P(x) & exists y in D: Q(y)", {x: y}) == (
        "forall y_1 in D: P(y) & exists y in D: Q(y)"
    )


def test_an_atom_is_replaced_under_binders_without_capture():
    assert replaced("forall x in D: P | Q(x)", {P: Atom("R", x)}) == (
        "forall x_1 in D: R(x) | Q(x_1)"
    )


def test_an_atom_with_terms_is_replaced_where_its_variables_are_free():
    assert replaced("P(x) & forall x in D: P(x)", {Atom("P", x): Q}) == "Q & forall x in D: P(x)"
    assert replaced("forall y in D: P(x) & P(y)", {Atom("P", x): Q}) == "forall y in D: Q & P(y)"


def test_replacing_an_atom_wins_over_replacing_its_variable():
    assert replaced("P(x) & Q(x)", {Atom("P", x): P, x: Constant(1)}) == "P & Q(1)"


def test_a_replacement_is_not_substituted_into_again():
    assert replaced("P", {P: And(P, P)}) == "P & P"


def test_a_conjunction_keeps_its_arity_around_a_conjunction_that_arrives():
    assert substitute(P & Q, {P: P & Q}) is And(And(P, Q), Q)


@pytest.mark.parametrize(
    "replacements",
    [{x: P}, {P: x}, {"x": y}, {x: 1}, {x: "y"}, {P & Q: P}, {Constant(1): x}, {P: True}],
)
def test_replacements_of_the_wrong_kind_are_refused(replacements):
    with pytest.raises(InvalidNameError, match="variables mapped to terms"):
        substitute(P, replacements)


def test_an_atom_may_become_a_comparison_whose_terms_are_not_captured():
    found = substitute(Forall([("x", "D")], P), {P: Comparison("=", x, 1)})
    assert str(found) == "forall x_1 in D: x = 1"
    assert str(substitute(found, {x: Variable("y")})) == "forall x_1 in D: y = 1"
