from __future__ import annotations

import copy
import itertools
import pickle

import pytest
from oracles import meaning, proposition_values, truth_table

from residuum.errors import EvaluationError, InvalidNameError
from residuum.limits import LARGEST_INTEGER
from residuum.logic import (
    FALSE,
    TRUE,
    And,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Count,
    CountOf,
    CountQuantifier,
    Not,
    Or,
    Variable,
    at_least,
    at_most,
    atoms,
    compute,
    depth,
    evaluate,
    exactly,
    expand,
    free_variables,
    is_satisfiable,
    is_tautology,
    negation_normal_form,
    size,
    substitute,
)
from residuum.syntax import parse

P, Q, R = atoms("P Q R")
x, y = Variable("x"), Variable("y")
RELATIONS = ["at least", "at most", "exactly"]


# Building


def test_python_and_text_build_the_same_counts():
    assert at_least(2, [P, Q, R]) is parse("at least 2 of (P, Q, R)")
    assert at_most(0, (P, Q)) is parse("at most 0 of (P, Q)")
    assert exactly(1, iter([P])) is parse("exactly 1 of (P)")
    bindings, guard = [("x", "D"), ("y", "E")], Comparison("!=", x, y)
    rule = at_most(3, bindings, Atom("P", x, y), guard)
    assert rule is parse("at most 3 x in D, y in E where x != y: P(x, y)")


@pytest.mark.parametrize(
    "text",
    ["exists! x in D: P(x)", "∃! x in D: P(x)", "∃!x∈D: P(x)", "exactly 1 x in D: P(x)",
     "∃=1 x in D: P(x)", "exists = 1 x in D: P(x)", "exactly 01 x in D: P(x)"],
)  # fmt: skip
def test_one_can_be_written_in_many_ways(text):
    assert parse(text) is exactly(1, [("x", "D")], Atom("P", x))


def test_the_words_of_counting_are_names_elsewhere():
    assert parse("at & least | most(exactly) -> of(div)") is parse("(at & least | most(exactly)) "
                                                                 "-> of(div)")  # fmt: skip
    of = CountQuantifier(Count("exactly", 2), [("of", "div")], Atom("exactly", Variable("of")))
    assert parse("exactly 2 of in div: exactly(of)") is of
    div = Variable("div")
    assert parse("P(div div div)") is Atom("P", Arithmetic("div", div, div))
    assert parse("at least 1 div, at in D: P(div(at), 2 div at)").count == Count("at least", 1)


@pytest.mark.parametrize("number", [-1, 1.0, "2", True, None, LARGEST_INTEGER + 1])
def test_a_count_needs_a_whole_number(number):
    with pytest.raises(InvalidNameError, match="at least: expected a number from 0"):
        at_least(number, [P, Q])


@pytest.mark.parametrize("of", [P, "PQ", 3, None])
def test_what_is_counted_is_a_list(of):
    with pytest.raises(InvalidNameError, match="expected a list of formulas, or of"):
        exactly(1, of)


def test_lists_of_something_else_are_refused():
    with pytest.raises(InvalidNameError, match="expected a formula, got 'P'"):
        exactly(1, ["P", "Q"])
    with pytest.raises(InvalidNameError, match=r"expected \(variable, domain\) pairs"):
        exactly(1, [P], Q)
    with pytest.raises(InvalidNameError, match="expected a body beside the guard"):
        exactly(1, [P], guard=Comparison("=", x, y))
    with pytest.raises(InvalidNameError, match="expected a relation among"):
        Count("about", 2)


def test_counts_of_nothing_are_constants():
    assert at_least(0, []) is TRUE
    assert at_least(1, []) is FALSE
    assert at_most(0, []) is TRUE
    assert exactly(2, []) is FALSE


def test_equal_counts_are_one_object_through_pickle_and_copy():
    rule = parse("at least 2 of (P, exactly 3 x in D where x < 2: Q(x))")
    assert pickle.loads(pickle.dumps(rule)) is rule
    assert copy.deepcopy(rule) is rule
    assert at_least(2, [P, Q]) is not at_least(1, [P, Q])


# Questions and rewriting


def test_counts_are_measured_like_other_nodes():
    rule = parse("exactly 2 x in D where x != z: P(x, y)")
    assert free_variables(rule) == {"y", "z"}
    assert depth(parse("at least 1 of (P, Q & R)")) == 3
    assert size(parse("at least 1 of (P, Q & R)")) == 5


def test_substitution_goes_into_counts_and_captures_nothing():
    rule = parse("exactly 2 y in D where y != x: Near(x, y)")
    assert str(substitute(rule, {x: y})) == "exactly 2 y_1 in D where y_1 != y: Near(y, y_1)"
    assert str(substitute(at_least(2, [P, Q]), {P: Q})) == "at least 2 of (Q, Q)"


def test_expansion_keeps_the_count():
    rule = parse("at least 2 x in D where x != 1: P(x + 1)")
    assert str(expand(rule, {"D": 4})) == "at least 2 of (P(1), P(3), P(4))"
    assert expand(rule, {"D": 0}) is FALSE
    assert expand(parse("at most 2 x in D: P(x)"), {"D": 0}) is TRUE
    assert str(expand(parse("exists! x in D: P(x)"), {"D": 1})) == "exactly 1 of (P(0))"


NEGATIONS = {
    "at least 2 of (P, Q)": "at most 1 of (P, Q)",
    "at least 0 of (P, Q)": "false",
    "at most 2 of (P, Q)": "at least 3 of (P, Q)",
    f"at most {LARGEST_INTEGER} of (P, Q)": "false",
    "exactly 1 of (P, ~~Q)": "at most 0 of (P, Q) | at least 2 of (P, Q)",
    "exactly 0 x in D where x > 1: P(x)": "at least 1 x in D where x > 1: P(x)",
    "at most 1 x in D: ~P(x)": "at least 2 x in D: ~P(x)",
}


@pytest.mark.parametrize("text", NEGATIONS)
def test_the_negation_of_a_count_is_another_count(text):
    assert str(negation_normal_form(Not(parse(text)))) == NEGATIONS[text]


# Truth and satisfiability


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("number", range(6))
def test_boolean_truth_is_plain_counting(relation, number):
    formula = CountOf(Count(relation, number), [P, Q, P, Not(R)])
    for values in itertools.product([False, True], repeat=3):
        row = dict(zip("PQR", values, strict=True))
        found = 2 * row["P"] + row["Q"] + (not row["R"])
        expected = {"at least": found >= number, "at most": found <= number}
        assert evaluate(formula, row) is expected.get(relation, found == number)


def test_a_counting_quantifier_has_no_truth_before_it_is_expanded():
    with pytest.raises(EvaluationError, match="cannot be evaluated without the domain's members"):
        evaluate(parse("exactly 1 x in D: P(x)"), {})


LAWS = [
    "at least 2 of (P, Q, R) <-> P & Q | P & R | Q & R",
    "at least 1 of (P, Q, R) <-> P | Q | R",
    "at least 3 of (P, Q, R) <-> P & Q & R",
    "exactly 1 of (P, Q) <-> ~(P <-> Q)",
    "at most 1 of (P, P) <-> ~P",
    "exactly 2 of (P, Q, R) <-> at least 2 of (P, Q, R) & at most 2 of (P, Q, R)",
    "at least 0 of (P) & at most 1 of (P)",
    "~at least 2 of (P, Q, R) <-> at least 2 of (~P, ~Q, ~R)",
]


@pytest.mark.parametrize("text", LAWS)
def test_laws_of_counting_are_tautologies(text):
    assert is_tautology(parse(text))
    assert all(truth_table(parse(text)))


MANY = atoms(" ".join(f"A{i}" for i in range(15)))


@pytest.mark.parametrize("text", LAWS)
def test_the_solver_knows_the_laws_as_well(text):
    wide = parse(text) & Or(*MANY, Not(Or(*MANY)))
    assert is_tautology(wide)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("number", [0, 1, 2, 7, 14, 15, 16, LARGEST_INTEGER])
@pytest.mark.parametrize("is_denied", [False, True])
def test_the_solver_finds_a_model_of_a_count_exactly_if_there_is_one(relation, number, is_denied):
    count = Count(relation, number)
    formula = CountOf(count, MANY)
    verdict = is_satisfiable(Not(formula) if is_denied else formula)
    possible = [n for n in range(16) if count.holds(n) is not is_denied]
    assert verdict.answer is bool(possible)
    if possible:
        row = {atom.predicate: value for atom, value in verdict.witness.items()}
        assert sum(row.values()) in possible
        assert meaning(formula, proposition_values(row)) is not is_denied


def test_the_solver_counts_parts_that_share_atoms():
    pairs = [And(one, other) for one, other in itertools.pairwise(MANY)]
    formula = at_least(10, pairs) & at_most(11, MANY) & Not(MANY[7])
    assert is_satisfiable(formula).answer is False
    looser = at_least(9, pairs) & at_most(11, MANY) & Not(MANY[3])
    row = {atom.predicate: value for atom, value in is_satisfiable(looser).witness.items()}
    assert meaning(looser, proposition_values(row))


def test_a_count_over_a_domain_leaves_the_answer_open():
    assert is_satisfiable(parse("P & exactly 2 x in D: Q(x)")).answer is None
    assert is_satisfiable(parse("P & ~P & exactly 2 x in D: Q(x)")).answer is False


# div


@pytest.mark.parametrize(
    ("left", "right", "quotient"), [(7, 2, 3), (-7, 2, -4), (7, -2, -4), (-7, -2, 3), (0, 5, 0)]
)
def test_division_rounds_down_as_the_remainder_needs(left, right, quotient):
    term = Arithmetic("div", Constant(left), Constant(right))
    assert compute(Atom("P", term)) is Atom("P", Constant(quotient))
    assert quotient * right + left % right == left


def test_division_by_zero_is_an_error():
    with pytest.raises(EvaluationError, match="`7 div 0`: the right-hand side of `div` is zero"):
        compute(Atom("P", Arithmetic("div", Constant(7), Constant(0))))


def test_division_binds_like_multiplication():
    assert parse("P(1 + x div 2 * y)") is parse("P(1 + ((x div 2) * y))")
    assert str(parse("P(x div (y div 2))")) == "P(x div (y div 2))"
    assert f"{parse('P(x div 2)'):latex}" == r"P(x \mathbin{\mathrm{div}} 2)"
