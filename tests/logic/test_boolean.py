from __future__ import annotations

import pytest
from hypothesis import given
from oracles import assignments, meaning, proposition_values

from residuum.errors import EvaluationError, ResiduumError
from residuum.logic import FALSE, TRUE, Atom, Comparison, Constant, Variable, atoms, evaluate
from residuum.syntax import parse
from strategies import many, propositional_formulas

P, Q = atoms("P Q")


@many
@given(propositional_formulas)
def test_evaluation_agrees_with_plain_recursion_in_every_row(formula):
    for row in assignments("PQRS"):
        assert evaluate(formula, row) is meaning(formula, proposition_values(row))


def table_of(text: str) -> str:
    rows = [(False, False), (False, True), (True, False), (True, True)]
    values = (evaluate(parse(text), {"P": left, "Q": right}) for left, right in rows)
    return "".join("1" if value else "0" for value in values)


@pytest.mark.parametrize(
    ("text", "table"),
    [("P & Q", "0001"), ("P | Q", "0111"), ("P -> Q", "1101"), ("P <-> Q", "1001"),
     ("~P & (Q | ~Q)", "1100"), ("true | P & Q", "1111"), ("false & P & Q", "0000")],
)  # fmt: skip
def test_connectives_have_their_truth_tables(text, table):
    assert table_of(text) == table


def test_constants_need_no_assignment():
    assert evaluate(TRUE, {}) is True
    assert evaluate(FALSE, {}) is False


def test_atoms_are_assigned_by_themselves_or_by_their_text():
    atom = Atom("Tag", Variable("i"), Constant("B-NP"))
    assert evaluate(atom, {atom: True})
    assert evaluate(atom, {'Tag(i, "B-NP")': True})


def test_an_atom_itself_wins_over_its_text():
    assert evaluate(P, {P: True, "P": False})


def test_superfluous_atoms_are_ignored():
    assert evaluate(P, {"P": True, "Q": False})


def test_missing_atoms_are_named_all_at_once_with_those_given():
    with pytest.raises(EvaluationError, match=r"for `P`, `Near\(x\)`; given: `Q`"):
        evaluate(parse("P & Near(x) -> Q"), {"Q": True})


def test_a_missing_atom_is_reported_even_where_it_would_not_matter():
    with pytest.raises(EvaluationError, match="`Q`"):
        evaluate(parse("true | Q"), {})


def test_quantifiers_are_refused_with_the_remedy():
    with pytest.raises(EvaluationError, match=r"expand\(formula, \{'digit': 10\}\)"):
        evaluate(parse("forall x in digit where x > 0: P(x)"), {"P(x)": True})


@pytest.mark.parametrize("operator", ["=", "!=", "<"])
def test_a_comparison_on_its_own_is_no_formula_to_evaluate(operator):
    with pytest.raises(ResiduumError):
        evaluate(Comparison(operator, 1, 2), {})
