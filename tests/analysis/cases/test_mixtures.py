"""Mixtures of simpler formulas against samples of the whole and values derived by hand."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from integration_oracles import random_formula, textbook
from residuum.analysis import consistency
from residuum.analysis.cases.mixtures import MOST_ATOMS, mixture
from residuum.logic import And, Atom, Iff, Implies, Not, atoms_of
from residuum.syntax import parse

LEAVES = [Atom(f"A{i}") for i in range(10)]


def sampled(formula, seed):
    known = atoms_of(formula)
    points = np.random.default_rng(seed).random((len(known), 200_000))
    with np.errstate(all="ignore"):
        degrees = textbook(formula, dict(zip(known, points, strict=True)), "r-product")
    degrees = np.broadcast_to(degrees, 200_000)
    return degrees.mean(), degrees.std() / math.sqrt(degrees.size)


@pytest.mark.parametrize("seed", range(12))
def test_the_mean_of_a_mixture_is_that_of_the_formula(seed):
    rng = random.Random(seed)
    core = random_formula(rng, LEAVES[:3], 4)
    left, right, odd = (
        rng.choice((Implies, Iff))(*LEAVES[3:5]),
        Implies(Iff(*LEAVES[5:7]), LEAVES[7]),
        Not(LEAVES[8]),
    )
    formula = Implies(And(core, left), rng.choice((Implies, Iff))(right, Iff(odd, LEAVES[0])))
    parts = mixture(formula)
    assert sum(parts.values()) == 1
    assert all(len(atoms_of(part)) <= 6 for part in parts)
    mean, error = sampled(formula, seed)
    total, variance = 0.0, error**2
    for place, (part, weight) in enumerate(parts.items()):
        if not atoms_of(part):
            total += float(weight)  # only `true` is left of it
            continue
        of_part, off = sampled(part, 1000 + place)
        total, variance = total + float(weight) * of_part, variance + (float(weight) * off) ** 2
    assert abs(mean - total) <= 6 * math.sqrt(variance)


@pytest.mark.parametrize(
    "text",
    [
        "(P -> Q) & P",  # p occurs elsewhere
        "(P -> P) & Q",
        "P & Q",  # a product of two is not uniform
        "P | Q -> R & S",
        "(P <-> P) & R",
    ],
)
def test_what_is_not_uniform_or_not_independent_stays(text):
    formula = parse(text)
    assert mixture(formula) == {formula: 1}


def test_what_would_fall_into_too_many_formulas_stays():
    pairs = [Implies(Atom(f"P{i}"), Atom(f"Q{i}")) for i in range(MOST_ATOMS)]
    for count in (7, MOST_ATOMS):  # 2⁷ formulas, and 65 atoms
        linked = And(*(Implies(pair, LEAVES[0]) for pair in pairs[:count]))
        assert mixture(linked) == {linked: 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(P <-> Q) -> (R <-> S)", Fraction(3, 4)),
        ("(A -> B) & (C -> D) & (E -> F) & (G -> H)", Fraction(81, 256)),
        # u & (u -> v) is min(u, v): of v alone where u = 1, else of two uniform ones.
        ("(A -> B) & ((A -> B) -> (C <-> D))", Fraction(1, 2) * (Fraction(1, 2) + Fraction(1, 3))),
    ],
)
def test_values_derived_by_hand_are_exact(text, value):
    assert consistency(text, "r-product").exact == value


def test_certified_parts_make_certified_bounds():
    # w = min(1, t²/s) is 1 with probability 1/3, and else has the mean ∫ t² (−2 log t) dt = 2/9.
    # That is half of it; the other half has min(1, w/p) for a uniform p, w − w log w over p, and
    # so 1/3 + ∫ t² (−2 log t + 2 log² t) dt = 1/3 + 2/9 + 4/27.
    value = Fraction(1, 2) * (Fraction(5, 9) + Fraction(19, 27))
    result = consistency("(P -> Q) -> (S -> T & T)", "r-product")
    assert result.kind == "certified"
    assert result.low <= value <= result.high
    assert result.high - result.low <= 1.0001e-8
