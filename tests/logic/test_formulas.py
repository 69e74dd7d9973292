from __future__ import annotations

import pytest

from residuum.errors import InvalidNameError
from residuum.logic import (
    FALSE,
    TRUE,
    And,
    Comparison,
    Exists,
    Forall,
    Iff,
    Implies,
    Not,
    Or,
    Variable,
    atoms,
)
from residuum.syntax import parse

P, Q, R = atoms("P Q R")
x, y = Variable("x"), Variable("y")
different = Comparison("!=", x, y)

# Operators


def test_python_conjunction_of_three_is_the_parsed_ternary():
    assert (P & Q & R) is And(P, Q, R) is parse("P & Q & R")


def test_python_disjunction_of_three_is_the_parsed_ternary():
    assert (P | Q | R) is Or(P, Q, R) is parse("P | Q | R")


def test_brackets_on_the_right_keep_nesting():
    assert (P & (Q & R)) is And(P, And(Q, R)) is parse("P & (Q & R)")
    assert (P | (Q | R)) is Or(P, Or(Q, R)) is parse("P | (Q | R)")


def test_constructors_nest_on_the_left():
    assert And(And(P, Q), R) is parse("(P & Q) & R") is not And(P, Q, R)


def test_other_operators_build_what_they_say():
    assert ~P is Not(P)
    assert (P >> Q) is Implies(P, Q)
    assert P.iff(Q) is Iff(P, Q)


def test_python_shift_associates_to_the_left_as_in_python():
    assert (P >> Q >> R) is Implies(Implies(P, Q), R)


def test_conjunction_of_nothing_is_true_and_of_one_is_itself():
    assert And() is TRUE
    assert And(P) is P


def test_disjunction_of_nothing_is_false_and_of_one_is_itself():
    assert Or() is FALSE
    assert Or(P) is P


def test_repeated_operands_are_kept():
    assert And(P, P).operands == (P, P)


@pytest.mark.parametrize("formula", [P, TRUE, FALSE, P & Q])
def test_a_formula_is_not_a_python_truth_value(formula):
    with pytest.raises(TypeError, match="not a Python truth value"):
        bool(formula)


def test_python_and_between_formulas_is_refused():
    with pytest.raises(TypeError):
        P and Q  # noqa: B018


@pytest.mark.parametrize("other", [1, True, "Q", None, Variable("x")])
def test_operators_refuse_what_is_no_formula(other):
    for operation in ("__and__", "__or__", "__rshift__"):
        assert getattr(P, operation)(other) is NotImplemented
    with pytest.raises(TypeError):
        P & other
    with pytest.raises(InvalidNameError, match="expected a formula"):
        P.iff(other)
    with pytest.raises(InvalidNameError, match="expected a formula"):
        And(P, other)


# Comparisons and quantifiers


def test_comparisons_stand_in_guards():
    assert Forall([("x", "D")], P, ~different & TRUE).guard is And(Not(different), TRUE)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Exists([("x", "D")], P, Forall([("y", "D")], Q)),
        lambda: Forall([("x", "D")], P, different & ~Exists([("y", "D")], Q)),
    ],
)
def test_guards_have_no_quantifiers(build):
    with pytest.raises(InvalidNameError, match=r"guard"):
        build()


def test_guards_may_read_relations():
    assert Forall([("x", "D")], P, different & Q).guard is And(different, Q)


def test_a_quantifier_binds_at_least_one_variable():
    with pytest.raises(InvalidNameError, match="got none"):
        Forall([], P)


def test_a_quantifier_binds_a_variable_once():
    with pytest.raises(InvalidNameError, match="`x` is bound twice"):
        Exists([("x", "D"), ("y", "D"), ("x", "E")], P)


def test_a_quantifier_needs_a_formula_as_body_and_guard():
    with pytest.raises(InvalidNameError, match="expected a formula"):
        Forall([("x", "D")], x)
    with pytest.raises(InvalidNameError, match="expected a formula"):
        Forall([("x", "D")], P, guard=True)
