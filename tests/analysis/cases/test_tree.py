"""The cases of a formula against exact evaluation at rational points."""

import math
import random
from fractions import Fraction

import pytest

from integration_oracles import random_formula
from residuum import truth
from residuum.analysis.cases.charts import Chart
from residuum.analysis.cases.tree import Branch, OutOfTime, Tree
from residuum.logic import atoms, atoms_of
from residuum.relaxations import relaxation
from residuum.syntax import parse

LEAVES = atoms("P Q R")


def value_at(polynomial, point):
    total = Fraction(0)
    for exponents, coefficient in polynomial.terms():
        term = Fraction(int(coefficient.p), int(coefficient.q))
        for degree, exponent in zip(point, exponents, strict=True):
            term *= degree ** int(exponent)
        total += term
    return total


def case_at(tree, point):
    node = tree.root
    while isinstance(node, Branch):
        sign = value_at(node.guard, point)
        if sign == 0:
            return None  # a set without volume, of which the cases say nothing
        node = tree.child(node, sign > 0)
    return node


@pytest.mark.parametrize(
    "name",
    [
        "r-product",
        "r-hamacher(0)",
        "s-hamacher(1/3)",
        "r-sugeno-weber(2)",
        "r-godel",
        "lukasiewicz",
    ],
)
@pytest.mark.parametrize("seed", range(12))
def test_every_case_is_the_exact_degree_at_rational_points(seed, name):
    rng = random.Random(seed)
    formula = random_formula(rng, LEAVES, rng.randint(1, 6))
    known = atoms_of(formula)
    tree = Tree(formula, known, relaxation(name))
    compared = 0
    for _ in range(25):
        # Denominators that are large primes keep points off the guards; products of two may not.
        point = [Fraction(rng.randint(1, 1008), 1009) for _ in known]
        case = case_at(tree, point)
        below = 0 if case is None else value_at(case.denominator, point)
        if below:
            degree = value_at(case.numerator, point) / below
            assert degree == truth(formula, dict(zip(known, point, strict=True)), name)
            compared += 1
    assert compared >= 20


def test_both_guards_of_an_equivalence_are_one_surface():
    formula = parse("P <-> Q")
    tree = Tree(formula, atoms_of(formula), relaxation("r-product"))
    assert isinstance(tree.root, Branch)
    assert not any(isinstance(tree.child(tree.root, side), Branch) for side in (False, True))


def test_equal_cases_are_the_same_object():
    formula = parse("(Q -> R) -> (P | Q -> P | R)")
    tree = Tree(formula, atoms_of(formula), relaxation("r-product"))
    assert tree.child(tree.root, True) is tree.child(tree.root, False)


def test_excluded_signs_never_occur():
    formula = parse("(P -> (Q -> R)) -> ((P -> Q) -> (P -> R))")
    tree = Tree(formula, atoms_of(formula), relaxation("r-product"))
    pending, guards = [tree.root], {}
    while pending:
        node = pending.pop()
        if isinstance(node, Branch):
            guards[node.name] = node.guard
            pending += [tree.child(node, side) for side in (False, True)]
    rng = random.Random(5)
    points = [[Fraction(rng.randint(1, 99), 100) for _ in range(3)] for _ in range(200)]
    excluded = 0
    for left in guards:
        for right in guards:
            for i, j in tree.exclude(left, right) if left < right else ():
                excluded += 1
                for point in points:
                    a, b = (value_at(guards[one], point) for one in (left, right))
                    assert not (i * a > 0 and j * b > 0)
    assert excluded


@pytest.mark.parametrize("complemented", [(), (0,), (0, 1, 2)])
@pytest.mark.parametrize("seed", range(8))
def test_cases_in_a_chart_are_the_exact_degree_times_the_weight(seed, complemented):
    rng = random.Random(seed)
    formula = random_formula(rng, LEAVES, rng.randint(1, 6))
    known = atoms_of(formula)
    order = list(range(len(known)))
    rng.shuffle(order)
    chart, product = Chart(tuple(order), complemented), relaxation("r-product")
    tree = Tree(formula, known, product, chart)
    for _ in range(10):
        point = [Fraction(rng.randint(1, 96), 97) for _ in known]
        case = case_at(tree, point)
        if case is None:
            continue
        degrees, weight = chart.place(point, Fraction(1))
        exact = truth(formula, dict(zip(known, degrees, strict=True)), product)
        assert value_at(case.numerator, point) == exact * weight * value_at(case.denominator, point)


def test_no_case_is_worked_out_after_the_deadline():
    formula, product = parse("(P -> Q) -> R"), relaxation("r-product")
    with pytest.raises(OutOfTime):
        Tree(formula, atoms_of(formula), product, deadline=-math.inf)
