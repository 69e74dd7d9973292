"""Clauses have exactly the models of the formula they were made of."""

import itertools

import pytest
from ground_formulas import models, random_case, stated
from pysat.solvers import Solver

from residuum.circuits import cnf as module
from residuum.circuits.cnf import Clauses
from residuum.circuits.propositions import Propositions
from residuum.errors import CircuitError


def states_that_satisfy(found: Clauses, sizes):
    """Return the states that a SAT solver accepts, each asked for by assumptions."""
    with Solver(name="minisat22", bootstrap_with=found.clauses) as solver:
        return [
            state
            for state in itertools.product(*map(range, sizes))
            if solver.solve(
                [own[value] for own, value in zip(found.indicators, state, strict=True)]
            )
        ]


@pytest.mark.parametrize("seed", range(300))
def test_clauses_are_satisfied_by_the_states_that_obey_the_formula(seed):
    sizes, formula = random_case(seed, binary=8, categorical=5)
    of = Propositions(sizes)
    assert states_that_satisfy(Clauses(of, stated(formula, of)), sizes) == models(formula, sizes)


@pytest.mark.parametrize("size", [1, 3, 4, 7])
def test_exactly_one_value_is_true(size):
    found = Clauses(Propositions([size]), Propositions.TRUE)
    with Solver(name="minisat22", bootstrap_with=found.clauses) as solver:
        for values in itertools.product([False, True], repeat=size):
            pairs = zip(found.indicators[0], values, strict=True)
            chosen = [one if is_true else -one for one, is_true in pairs]
            assert solver.solve(chosen) == (sum(values) == 1)


@pytest.mark.parametrize("allowed", range(1 << 6))
def test_every_count_of_five_is_right(allowed):
    of = Propositions([2] * 5)
    root = of.count_of(allowed, [of.literal(one, 0b10) for one in range(5)])
    expected = [s for s in itertools.product(range(2), repeat=5) if allowed >> sum(s) & 1]
    assert states_that_satisfy(Clauses(of, root), [2] * 5) == expected


def test_nothing_satisfies_a_contradiction():
    found = Clauses(Propositions([2, 3]), Propositions.FALSE)
    assert states_that_satisfy(found, [2, 3]) == []


def test_large_counts_and_deep_formulas_need_no_recursion():
    of = Propositions([2] * 400)
    ones = [of.literal(one, 0b10) for one in range(400)]
    assert len(Clauses(of, of.count_of(1 << 5, ones)).clauses) < 400 * 6 * 7
    deep = ones[0]
    for place, one in enumerate(ones * 10):
        join = of.all_of if place % 2 else of.any_of
        deep = join([deep, of.equivalence(one, ones[place % 7])])
    with Solver(name="minisat22", bootstrap_with=Clauses(of, deep).clauses) as solver:
        assert solver.solve()


def test_more_clauses_than_fit_are_refused_in_words(monkeypatch):
    monkeypatch.setattr(module, "MOST_CLAUSES", 1_000)
    of = Propositions([2] * 100)
    root = of.count_of(1 << 50, [of.literal(one, 0b10) for one in range(100)])
    with pytest.raises(CircuitError, match=r"at most 1,000 clauses.* make its domains smaller"):
        Clauses(of, root)
