"""R-Gödel and its like: against simplices, cells listed one by one, samples, grids and hand."""

import itertools
import math
import random
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings

from integration_oracles import P, Q, R, formulas
from residuum.analysis import consistency
from residuum.errors import EvaluationError
from residuum.logic import (
    FALSE,
    TRUE,
    And,
    Atom,
    Iff,
    Implies,
    Not,
    Or,
    Truth,
    atoms_of,
    distinct_nodes,
    substitute,
)

F = Fraction
S = Atom("S")
BY_COMPARING = ["r-godel", "s-godel", "r-nilpotent-minimum", "s-nilpotent-minimum", "s-drastic"]


def some(n, name="A"):
    return [Atom(f"{name}{i}") for i in range(n)]


def by_orderings(formula, name="r-godel"):
    result = consistency(formula, name, method="orderings")
    assert result.method in ("orderings", "laws")
    return result.exact


@pytest.mark.parametrize("name", BY_COMPARING)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(formula=formulas(leaves=(P, Q, R, S, TRUE, FALSE)))
def test_orderings_and_simplices_agree(formula, name):
    assert by_orderings(formula, name) == consistency(formula, name, method="simplices").exact


def godel(formula, values, one):
    """R-Gödel on integers from 0 to `one`, node by node."""
    known = dict(values)
    for node in distinct_nodes(formula):
        match node:
            case Truth(value):
                known[node] = one * int(value)
            case Not(x):
                known[node] = one - known[x]
            case And(operands):
                known[node] = reduce(np.minimum, [known[x] for x in operands])
            case Or(operands):
                known[node] = reduce(np.maximum, [known[x] for x in operands])
            case Implies(x, y):
                known[node] = np.where(known[x] <= known[y], one, known[y])
            case Iff(x, y):
                both = np.minimum(known[x], known[y])
                known[node] = np.where(known[x] == known[y], one, both)
    return known[formula]


def mean_over_cells(formula):
    """On a cell, which orders all x and 1 - x, the degree is linear: its value at the centre."""
    atoms = atoms_of(formula)
    n = len(atoms)
    orders = np.array(list(itertools.permutations(range(1, n + 1))))
    halves = np.array(list(itertools.product((False, True), repeat=n)))
    one = 2 * (n + 1)  # the centre has the distances 1, 2, ..., n to the nearer end
    points = np.where(halves[:, None, :], one - orders, orders).reshape(-1, n)
    values = np.broadcast_to(godel(formula, zip(atoms, points.T, strict=True), one), len(points))
    return F(int(values.sum()), one * len(points))


def entangled(rng, leaves, depth):
    if depth == 0:
        return rng.choice(leaves)
    kind = rng.choice([Not, And, Or, Implies, Implies, Iff])
    return kind(*(entangled(rng, leaves, depth - 1) for _ in range(1 if kind is Not else 2)))


@pytest.mark.parametrize("seed", range(60))
def test_entangled_formulas_agree_with_their_cells_listed_one_by_one(seed):
    rng = random.Random(seed)
    formula = entangled(rng, some(rng.randint(2, 6)), rng.randint(3, 6))
    assert by_orderings(formula) == mean_over_cells(formula)


def test_seven_entangled_atoms_agree_with_their_cells():
    ring = [*some(7), *some(1)]
    formula = Or(*(And(a >> b, ~a) for a, b in itertools.pairwise(ring)))
    assert by_orderings(formula) == mean_over_cells(formula)


RNG = np.random.default_rng(11)
ONE = 2**30
POINTS = RNG.integers(1, ONE, size=(12, 200_000))


@pytest.mark.parametrize("seed", range(25))
def test_entangled_modules_agree_with_a_sample(seed):
    rng = random.Random(seed)
    atoms = iter(some(12))
    # Modules of two or three atoms; those made by -> and <-> are 1 with positive probability.
    modules = [rng.choice([And, Or, Implies, Iff])(next(atoms), next(atoms)) for _ in range(4)]
    modules = [rng.choice([And, Implies])(~module, next(atoms)) for module in modules]
    formula = entangled(rng, modules, 4)
    values = godel(formula, zip(some(12), POINTS, strict=True), ONE) / ONE
    error = np.std(values) / math.sqrt(POINTS.shape[1])
    result = consistency(formula, "r-godel")
    assert result.kind == "exact"
    assert abs(result.value - np.mean(values)) <= 6 * error + 1e-9


@pytest.mark.parametrize("n", [2, 3, 7, 100, 3_000])
def test_minimum_maximum_and_implication_of_many(n):
    atoms = some(n)
    assert consistency(And(*atoms), "r-godel").exact == F(1, n + 1)
    assert consistency(Or(*atoms), "r-godel").exact == F(n, n + 1)
    # 1 - P(x > y) + E[y; x > y] where x is the minimum of n: (1 - y)^n integrated.
    expected = 1 - F(1, n + 1) + F(1, (n + 1) * (n + 2))
    assert consistency(And(*atoms) >> P, "r-godel").exact == expected
    right_chain = reduce(lambda below, atom: atom >> below, atoms, P)
    assert consistency(right_chain, "r-godel").exact == expected
    deep = reduce(And, atoms)
    assert consistency(deep >> P, "r-godel").exact == expected


@pytest.mark.parametrize("n", [1, 2, 3, 4, 10, 300])
def test_towers_of_implications_follow_the_series_of_the_exponential(n):
    # ((A -> B) -> C) -> ...: below 1 each distribution function is the integral of 1 - the last.
    tower = reduce(Implies, some(n))
    expected = 1 - sum(F((-1) ** (j + 1), math.factorial(j + 1)) for j in range(1, n + 1))
    assert consistency(tower, "r-godel").exact == expected


@pytest.mark.parametrize("text", ["~(P -> Q) -> ~(R -> S)", "(~(P -> Q) -> ~(R -> S)) -> ~P"])
def test_parts_that_are_zero_at_once(text):
    assert by_orderings(text) == consistency(text, "r-godel", method="simplices").exact


def test_a_shared_module_is_one_variable_however_large():
    module = And(*some(100))
    # min(max(p, q), m) exceeds t with probability (1 - t²)(1 - t)^100.
    expected = F(1, 101) - F(2, 101 * 102 * 103)
    assert consistency((P & module) | (Q & module), "r-godel").exact == expected


@pytest.mark.parametrize("join", [And, lambda *parts: ~Or(*map(Not, parts))])
def test_operands_that_share_nothing_are_taken_apart(join):
    # a <-> b is min(a, b) almost surely, which exceeds t with probability (1 - t)².
    pairs = list(zip(some(60), some(60, "B"), strict=True))
    flat = join(*(a >> b for a, b in pairs), *(b >> a for a, b in pairs))
    assert consistency(flat, "r-godel").exact == F(1, 121)


def test_constants_do_not_tie_modules_together():
    atoms = some(400)
    # x -> false is 0 almost surely, and so is its minimum with anything.
    clauses = [(a >> FALSE) | b for a, b in zip(atoms[:200], atoms[200:], strict=True)]
    assert consistency(And(*clauses), "r-godel").exact == F(1, 201)


def read_once(size, seed):
    rng = random.Random(seed)
    parts = [atom if rng.random() < 0.6 else ~atom for atom in some(size, f"A{seed}_")]
    while len(parts) > 1:
        left, right = parts.pop(rng.randrange(len(parts))), parts.pop(0)
        joined = rng.choice([And, Or, Implies])(left, right)
        parts.append(~joined if rng.random() < 0.3 else joined)
    return parts[0]


def mean_on_a_grid(formula, steps):
    """P(x <= t) of every sub-formula in floats at t = 0 ... 1, the last from the left."""
    t = np.linspace(0, 1, steps + 1)
    known = {}
    for node in distinct_nodes(formula):
        match node:
            case Atom():
                known[node] = t
            case Not(x):
                known[node] = 1 - known[x][::-1]
            case And((x, y)):
                known[node] = 1 - (1 - known[x]) * (1 - known[y])
            case Or((x, y)):
                known[node] = known[x] * known[y]
            case Implies(x, y):
                above = 1 - known[x]
                pieces = (above[1:] + above[:-1]) / 2 * np.diff(known[y])
                known[node] = known[y][0] * above[0] + np.r_[0, np.cumsum(pieces)]
    return np.trapezoid(1 - known[formula], t)


@pytest.mark.parametrize(("size", "seed"), [(50, 0), (300, 1), (1_000, 2), (3_000, 3)])
def test_read_once_formulas_of_thousands_of_atoms_are_exact(size, seed):
    formula = read_once(size, seed)
    result = consistency(formula, "r-godel")
    assert (result.kind, result.method) == ("exact", "orderings")
    # The grid errs with the square of its step; halving it says by how much.
    coarse, fine = mean_on_a_grid(formula, 4_000), mean_on_a_grid(formula, 8_000)
    assert abs(result.value - fine) <= abs(coarse - fine) + 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_renaming_complementing_and_swapping_change_nothing(seed):
    rng = random.Random(seed)
    one, other, third = (read_once(3, name) for name in "PQR")
    whole = Iff(entangled(rng, [one, other, third], 4), Or(one & other, third))
    value = by_orderings(whole)
    atoms = atoms_of(whole)
    renamed = substitute(whole, dict(zip(atoms, reversed(atoms), strict=True)))
    complemented = substitute(whole, {atom: ~atom for atom in atoms[::2]})
    swapped = Iff(whole.children[1], whole.children[0])
    assert [by_orderings(f) for f in (renamed, complemented, swapped)] == [value] * 3


def test_what_is_too_much_is_refused_with_a_reason():
    ring = [*some(8), *some(1)]
    tangled = And(*(a | ~b for a, b in itertools.pairwise(ring)))
    with pytest.raises(EvaluationError, match="8 parts of it that hang together"):
        by_orderings(tangled)
    with pytest.raises(EvaluationError, match="numbers too long"):
        by_orderings(And(*some(40_000)))
    with pytest.raises(EvaluationError, match="more than compare"):
        by_orderings(P & Q, "lukasiewicz")
