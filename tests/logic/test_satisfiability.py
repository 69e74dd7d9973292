from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import assignments, meaning, proposition_values, truth_table

from residuum.errors import UndecidedError
from residuum.logic import (
    FALSE,
    TRUE,
    And,
    Atom,
    Comparison,
    Formula,
    Iff,
    Not,
    Or,
    Variable,
    Verdict,
    atoms,
    atoms_of,
    evaluate,
    is_satisfiable,
    is_tautology,
)
from residuum.logic import satisfiability as module
from residuum.logic.satisfiability import MOST_TABLED_ATOMS
from residuum.syntax import parse
from strategies import connected, few, many, propositional_formulas, truths

P, Q = atoms("P Q")


# Few atoms: the truth table


@many
@given(propositional_formulas)
def test_verdicts_agree_with_the_truth_table(formula):
    rows = truth_table(formula)
    assert is_satisfiable(formula).answer is any(rows)
    assert is_tautology(formula).answer is all(rows)


@many
@given(propositional_formulas)
def test_witnesses_are_models_and_counter_models_of_all_the_atoms(formula):
    for verdict, value in ((is_satisfiable(formula), True), (is_tautology(formula), False)):
        if verdict.answer is value:
            assert set(verdict.witness) == set(atoms_of(formula))
            row = {atom.predicate: truth for atom, truth in verdict.witness.items()}
            assert meaning(formula, proposition_values(row)) is value
        else:
            assert verdict.witness is None


@few
@given(st.recursive(truths, connected, max_leaves=6))
def test_formulas_without_atoms_are_decided(formula):
    assert is_tautology(formula).answer is meaning(formula, proposition_values({}))


@pytest.mark.parametrize(
    "text",
    ["P | ~P", "P -> (Q -> P)", "((P -> Q) -> P) -> P", "~(P & Q) <-> ~P | ~Q",
     "(P -> Q) <-> (~Q -> ~P)", "(P & Q -> R) <-> (P -> Q -> R)", "true", "P(x) -> P(x)"],
)  # fmt: skip
def test_known_tautologies_are_recognised(text):
    assert is_tautology(parse(text))


@pytest.mark.parametrize(
    ("text", "row"),
    [("P -> Q", {"P": True, "Q": False}), ("P", {"P": False}), ("false", {})],
)
def test_a_formula_that_is_no_tautology_has_a_counter_model(text, row):
    verdict = is_tautology(parse(text))
    assert not verdict
    assert {str(atom): value for atom, value in verdict.witness.items()} == row


def test_constants_are_decided():
    assert is_tautology(TRUE)
    assert not is_satisfiable(FALSE)


def test_atoms_with_different_terms_are_independent():
    assert is_satisfiable(parse('P(x) & ~P(y) & ~P(1) & P("1")'))
    assert not is_satisfiable(parse("P(x) & ~P(x)"))


def test_ground_terms_are_computed_first():
    assert is_tautology(parse("P(1 + 1) -> P(2)"))


# Many atoms: the solver


def random_clauses(count: int, clauses: int, seed: int) -> list[list[int]]:
    chance = random.Random(seed)
    return [
        [variable * chance.choice((-1, 1)) for variable in chance.sample(range(1, count + 1), 3)]
        for _ in range(clauses)
    ]


def as_formula(clauses: list[list[int]]) -> Formula:
    def literal(number: int) -> Formula:
        return Atom(f"A{number}") if number > 0 else Not(Atom(f"A{-number}"))

    return And(*(Or(*map(literal, clause)) for clause in clauses))


def satisfies(witness, clauses: list[list[int]]) -> bool:
    return all(
        any(witness[Atom(f"A{abs(number)}")] is (number > 0) for number in clause)
        for clause in clauses
    )


@pytest.mark.parametrize("seed", range(20))
def test_random_clauses_over_14_atoms_agree_with_enumeration(seed):
    clauses = random_clauses(14, 62, seed)
    rows = (
        {number: bool(row >> number - 1 & 1) for number in range(1, 15)} for row in range(2**14)
    )
    expected = any(
        all(any(row[abs(n)] is (n > 0) for n in clause) for clause in clauses) for row in rows
    )
    formula = as_formula(clauses)
    assert len(atoms_of(formula)) > MOST_TABLED_ATOMS
    verdict = is_satisfiable(formula)
    assert verdict.answer is expected
    assert not expected or satisfies(verdict.witness, clauses)


@pytest.mark.parametrize("seed", range(5))
def test_random_clauses_over_150_atoms_agree_with_the_solver_directly(seed):
    from pysat.solvers import Solver

    clauses = random_clauses(150, 600 + 10 * seed, seed)
    with Solver(name="cadical153", bootstrap_with=clauses) as solver:
        expected = solver.solve()
    verdict = is_satisfiable(as_formula(clauses))
    assert verdict.answer is expected
    assert not expected or satisfies(verdict.witness, clauses)


@pytest.mark.parametrize("seed", range(5))
def test_planted_solutions_over_200_atoms_are_found(seed):
    chance = random.Random(seed)
    planted = {number: chance.random() < 0.5 for number in range(1, 201)}
    clauses = [
        clause
        for clause in random_clauses(200, 900, seed)
        if any(planted[abs(number)] is (number > 0) for number in clause)
    ]
    verdict = is_satisfiable(as_formula(clauses))
    assert verdict
    assert satisfies(verdict.witness, clauses)


@many
@given(propositional_formulas)
def test_the_solver_agrees_with_the_truth_table(formula):
    # Thirteen more atoms that change nothing send the formula to the solver.
    padded = And(formula, *(Or(Atom(f"A{n}"), Not(Atom(f"A{n}"))) for n in range(13)))
    assert is_satisfiable(padded).answer is any(truth_table(formula))
    verdict = is_tautology(padded)
    assert verdict.answer is all(truth_table(formula))
    assert verdict.answer or not evaluate(padded, verdict.witness)


def test_a_witness_from_the_solver_assigns_every_atom():
    formula = Or(*(Atom(f"A{number}") for number in range(50)))
    witness = is_satisfiable(formula).witness
    assert set(witness) == set(atoms_of(formula))
    assert any(witness.values())


def test_constants_inside_many_atoms_are_decided():
    disjunction = Or(*(Atom(f"A{number}") for number in range(20)))
    assert is_tautology(Or(disjunction, TRUE))
    assert not is_satisfiable(And(disjunction, FALSE))


def test_a_chain_of_200_implications_is_a_tautology():
    chain = [Atom(f"A{number}") for number in range(200)]
    steps = And(*(left >> right for left, right in itertools.pairwise(chain)))
    assert is_tautology(steps >> (chain[0] >> chain[-1]))
    assert not is_tautology(steps >> (chain[-1] >> chain[0]))


def test_distributivity_over_200_atoms_is_a_tautology():
    head, *rest = (Atom(f"A{number}") for number in range(200))
    assert is_tautology(Iff(head & Or(*rest), Or(*(head & one for one in rest))))


# Unknown


def shuffled_parity(count: int) -> Formula:
    """Return that two orders of one long equivalence differ: false, but hard to see."""
    ordered = [Atom(f"A{number}") for number in range(count)]
    shuffled = random.Random(0).sample(ordered, count)
    sides = []
    for first, *rest in (ordered, shuffled):
        side = first
        for atom in rest:
            side = Iff(side, atom)
        sides.append(side)
    return And(sides[0], Not(sides[1]))


def pigeonhole(holes: int) -> Formula:
    sits = [[Atom(f"Sits_{p}_{h}") for h in range(holes)] for p in range(holes + 1)]
    clashes = [
        Not(sits[one][hole]) | Not(sits[other][hole])
        for hole in range(holes)
        for one in range(holes + 1)
        for other in range(one)
    ]
    return And(*(Or(*row) for row in sits), *clashes)


def test_a_search_beyond_the_budget_is_given_up_with_a_reason():
    verdict = is_satisfiable(shuffled_parity(60))
    assert verdict.answer is None
    assert verdict.witness is None
    assert "given up after 200,000 conflicts" in verdict.reason


def test_pigeons_in_few_holes_are_refuted_within_the_budget():
    assert is_satisfiable(pigeonhole(6)).answer is False


def test_pigeons_in_many_holes_are_given_up(monkeypatch):
    monkeypatch.setattr(module, "MOST_CONFLICTS", 5_000)
    verdict = is_tautology(Not(pigeonhole(12)))
    assert verdict.answer is None
    assert "5,000 conflicts" in verdict.reason


def test_an_unknown_answer_is_not_a_python_truth_value():
    with pytest.raises(UndecidedError, match="too hard"):
        bool(Verdict(None, reason="too hard"))


# Quantified and computed parts


def test_answers_that_do_not_depend_on_a_quantified_part_are_given():
    assert is_tautology(parse("(forall x in D: P(x)) -> forall x in D: P(x)"))
    assert is_tautology(parse("true | exists x in D: P(x)"))
    assert is_satisfiable(parse("P & ~P & forall x in D: Q(x)")).answer is False


@pytest.mark.parametrize(
    "text",
    ["forall x in D: P(x)", "P & exists x in D: Q(x)", "forall x in D: P(x) | ~P(x)",
     "(forall x in D: P(x)) & ~forall y in D: P(y)", "P & forall x in D: P"],
)  # fmt: skip
def test_answers_that_depend_on_a_quantified_part_are_unknown(text):
    verdict = is_satisfiable(parse(text))
    assert verdict.answer is None
    assert "expand" in verdict.reason


def test_an_atom_named_like_a_stand_in_is_not_confused_with_a_quantified_part():
    verdict = is_satisfiable(parse("Opaque_0 & ~forall x in D: P(x)"))
    assert verdict.answer is None
    assert is_satisfiable(parse("Opaque_0 & ~Opaque_0 & forall x in D: P")).answer is False


def test_atoms_that_may_become_the_same_are_not_called_independent():
    assert is_satisfiable(parse("P(x + 1) & ~P(2)")).answer is None
    assert is_satisfiable(parse("P(f(x)) & ~P(f(x))")).answer is False
    assert is_tautology(parse("P(x + 1) | ~P(x + 1)"))


def test_comparisons_are_opaque():
    compared = Comparison("<", Variable("Age"), 3)
    for question in (is_satisfiable, is_tautology):
        assert question(compared).answer is None
        assert "comparison" in question(compared).reason
    assert is_satisfiable(compared & ~compared).answer is False
    assert is_tautology(compared >> compared).answer is True


def test_every_row_of_a_small_table_can_be_the_witness():
    for row in assignments("PQR"):
        literals = (Atom(name) if value else Not(Atom(name)) for name, value in row.items())
        witness = is_satisfiable(And(*literals)).witness
        assert {atom.predicate: value for atom, value in witness.items()} == row
