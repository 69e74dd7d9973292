"""Deep and heavily shared formulas: no recursion limit, no exponential work."""

from __future__ import annotations

import copy
import pickle

import pytest

from residuum.errors import FormulaTooLargeError
from residuum.logic import (
    And,
    Application,
    Arithmetic,
    Atom,
    Comparison,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Variable,
    atoms,
    atoms_of,
    depth,
    evaluate,
    expand,
    free_variables,
    is_satisfiable,
    is_tautology,
    negation_normal_form,
    size,
    substitute,
)
from residuum.logic import substitution as substitution_module
from residuum.syntax import parse

P, Q = atoms("P Q")
x = Variable("x")
DEEP = 40_000
RATHER_DEEP = 10_000  # still far beyond the recursion limit


def build_deep(levels: int = DEEP) -> Formula:
    formula = Atom("P", x)
    for level in range(levels):
        formula = (Not(formula), Implies(Q, formula), And(Q, formula))[level % 3]
    return formula


@pytest.fixture(scope="module")
def deep():
    return build_deep()


@pytest.fixture(scope="module")
def doubled():
    formula = P
    for level in range(200):
        formula = (Or if level % 2 else And)(formula, formula)
    return formula


def test_a_deep_formula_is_folded(deep):
    assert depth(deep) == DEEP + 2
    assert free_variables(deep) == {"x"}


def test_deep_formulas_compare_and_hash(deep):
    again = build_deep()
    assert again is deep
    assert again == deep != Not(deep)
    assert hash(again) == hash(deep)


def test_a_deep_formula_is_copied_and_pickled(deep):
    assert copy.deepcopy(deep) is deep
    assert pickle.loads(pickle.dumps(deep)) is deep


def test_a_deep_formula_is_substituted_into(deep):
    assert free_variables(substitute(deep, {x: Variable("y"), Q: P})) == {"y"}


def test_a_deep_formula_is_evaluated(deep):
    assert evaluate(deep, {"P(x)": True, "Q": False}) in (True, False)


def test_a_deep_formula_is_decided():
    alternating = P
    for _ in range(RATHER_DEEP):
        alternating = Not(alternating)
    assert is_tautology(Iff(alternating, P))


def test_a_deep_formula_has_a_negation_normal_form():
    assert isinstance(negation_normal_form(build_deep(RATHER_DEEP)), And | Or)


def test_a_deep_formula_is_expanded():
    rule = Forall([("x", "D")], build_deep(RATHER_DEEP))
    assert not free_variables(expand(rule, {"D": 1}))


def test_a_deep_formula_is_printed_and_parsed_back():
    formula = P
    for _ in range(DEEP):
        formula = And(Q, formula)
    text = str(formula)
    assert text.startswith("Q & (Q & (")
    assert len(text) == 6 * DEEP - 1
    assert parse(text) is formula


def test_many_negations_are_parsed():
    assert depth(parse("~" * DEEP + "P")) == DEEP + 1


def test_a_deep_term_is_printed_substituted_into_and_computed():
    term = x
    for _ in range(RATHER_DEEP):
        term = Arithmetic("+", term, 1)
    atom = Atom("P", term)
    assert str(atom).endswith("+ 1 + 1)")
    assert expand(substitute(atom, {x: Arithmetic("-", 0, 1)}), {}) is Atom("P", RATHER_DEEP - 1)


def test_ten_thousand_nested_quantifiers_keep_every_question_possible():
    names = [f"x{level}" for level in range(10_000)]
    formula = Atom("P", *map(Variable, names[::1000]))
    for name in reversed(names):
        formula = Forall([(name, "D")], formula, Comparison("<", Variable(name), 5))
    assert not free_variables(formula)
    assert substitute(formula, {x: Variable("y")}) is formula
    assert str(expand(formula, {"D": 1})) == "P(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)"
    assert pickle.loads(pickle.dumps(formula)) is formula


# Sharing


def test_questions_about_200_self_doublings_have_answers(doubled):
    assert size(doubled) == 2**201 - 1
    assert depth(doubled) == 201
    assert atoms_of(doubled) == (P,)
    assert free_variables(doubled) == frozenset()
    assert evaluate(doubled, {"P": True})
    assert not evaluate(doubled, {P: False})
    assert is_tautology(Iff(doubled, P))
    assert dict(is_satisfiable(doubled).witness) == {P: True}
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert size(negation_normal_form(doubled)) == 2**201 - 1


def test_substituting_into_200_self_doublings_keeps_their_sharing(doubled):
    assert size(substitute(doubled, {P: Q & Q})) == 3 * 2**200 + 2**200 - 1


@pytest.mark.parametrize("style", ["ascii", "unicode", "latex"])
def test_printing_200_self_doublings_is_refused_with_the_size(doubled, style):
    with pytest.raises(FormulaTooLargeError, match=r"about 10\^6\d characters"):
        format(doubled, style)


def test_self_doublings_of_a_term_can_be_evaluated_by_atom():
    term = x
    for _ in range(200):
        term = Arithmetic("+", term, term)
    atom = Atom("P", term)
    assert evaluate(atom, {atom: True})


def test_self_doublings_of_a_term_can_be_decided():
    term = x
    for _ in range(200):
        term = Arithmetic("+", term, term)
    atom = Atom("P", term)
    assert is_tautology(atom | ~atom)
    assert is_satisfiable(atom).answer is not False


def test_shared_quantifiers_are_expanded_once_for_each_value_that_matters():
    formula = Atom("P", x)
    for _ in range(60):
        formula = And(Forall([("y", "D")], formula), Exists([("y", "D")], formula))
    expanded = expand(Forall([("x", "D")], formula), {"D": 3})
    assert len(atoms_of(expanded)) == 3


def test_substitution_that_renames_visits_shared_quantifiers_a_bounded_number_of_times(monkeypatch):
    levels = 10
    variables = [Variable(f"x{level}") for level in range(levels)]
    formula = Atom("P", Variable("z"), *variables)
    for variable in variables:
        bindings = [(variable.name, "D")]
        formula = Or(Forall(bindings, formula), Exists(bindings, formula))
    rebound = []
    genuine = substitution_module._rebind
    monkeypatch.setattr(
        substitution_module,
        "_rebind",
        lambda *arguments: rebound.append(1) or genuine(*arguments),
    )
    substitute(formula, {Variable("z"): Application("f", *variables)})
    assert len(rebound) <= 4 * levels


def test_a_quantifier_of_ten_thousand_variables_is_built():
    names = [f"x{number}" for number in range(10_000)]
    formula = Forall([(name, "D") for name in names], P)
    assert len(formula.bindings) == len(names)


# Short descriptions


def test_repr_is_short_for_deep_formulas(deep):
    assert repr(deep) == f"<{type(deep).__name__}, more than 30 nodes>"


def test_repr_is_short_for_shared_formulas(doubled):
    assert len(repr(doubled)) < 100


def test_repr_shows_small_formulas():
    assert repr(P >> ~Q) == "<Implies P -> ~Q>"
    assert repr(x) == "<Variable x>"
    assert repr(Atom("P", x)) == "<Atom P(x)>"


def test_a_guard_that_shares_its_parts_is_checked_in_one_pass():
    guard: Formula = Atom("Near", x)
    for _ in range(200):
        guard = And(guard, guard)
    assert size(guard) > 2**200
    assert Forall([("x", "D")], P, guard=guard).guard is guard
