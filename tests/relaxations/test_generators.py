from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from specimens import GENERATED, MILD_LOGICS, STEP, every

from residuum.relaxations import FLOATS, FRACTIONS, Degree, relaxation
from residuum.relaxations.powers import Power

INNER = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999, 1 - 1e-6]
MILD_GENERATED = [
    logic for logic in MILD_LOGICS if logic.has_generator and not logic.name.startswith("s-")
]


def degree(x: float) -> Degree:
    return Degree(FLOATS, true=x)


@every(GENERATED)
def test_the_generator_is_zero_at_one_and_its_limit_at_zero(logic):
    assert logic.penalty(degree(1.0)) == 0
    assert logic.penalty(degree(0.0)) == pytest.approx(float(logic.tnorm.limit), rel=1e-13)


@every(MILD_GENERATED)
def test_the_generator_decreases_strictly(logic):
    images = [logic.penalty(degree(x)) for x in (0.0, *INNER, 1.0)]
    assert all(high > low for high, low in itertools.pairwise(images))


@every(MILD_GENERATED)
def test_the_inverse_undoes_the_generator(logic):
    for x in (0.0, *INNER, 1.0):
        back = logic.tnorm.degree(FLOATS, logic.penalty(degree(x)))
        assert back.true == pytest.approx(x, abs=1e-11)
        assert back.false == pytest.approx(1 - x, abs=1e-11)


@every([logic for logic in MILD_GENERATED
        if not isinstance(logic.tnorm, Power) and "own" not in logic.name])  # fmt: skip
def test_a_nearly_true_degree_costs_its_falsity(logic):
    for falsity in (1e-9, 1e-12):
        cost = logic.penalty(Degree(FLOATS, false=falsity))
        assert cost == pytest.approx(falsity, rel=1e-6)


@every(MILD_GENERATED)
def test_closed_forms_equal_the_generators(logic):
    tnorm = logic.tnorm
    grid = [0.0, *INNER[1:-1], 1.0]  # a generator with g'(0) = 0 forgets smaller degrees
    for x, y in [(x, y) for x in grid for y in grid]:
        left, right = degree(x), degree(y)
        closed, derived = tnorm.conjoin(left, right), tnorm.conjoin_by_generator((left, right))
        assert closed.true == pytest.approx(derived.true, abs=1e-11)
        closed, derived = tnorm.residuum(left, right), tnorm.residuum_by_generator(left, right)
        # A root magnifies the rounding of g(y) − g(x) near the diagonal.
        assert closed.true == pytest.approx(derived.true, rel=1e-9, abs=1e-5 if x == y else 1e-10)


@every(MILD_GENERATED)
def test_penalties_add_up_to_the_penalty_of_the_conjunction(logic):
    for x, y in [(0.9, 0.95), (0.5, 0.75), (0.2, 0.1)]:
        penalties = [logic.penalty(degree(v)) for v in (x, y)]
        total = logic.tnorm.conjoin_penalties(FLOATS, penalties)
        assert total == pytest.approx(min(float(logic.tnorm.limit), sum(penalties)), rel=1e-15)
        both = logic.penalty(logic.conjoin([degree(x), degree(y)]))
        assert both == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lukasiewicz", Fraction(1)),
        ("lukasiewicz-maxsat", Fraction(7, 5)),
        ("s-godel", Fraction(4, 5)),
        ("r-nilpotent-minimum", Fraction(4, 5)),
        ("s-drastic", Fraction(4, 5)),
        ("s-hamacher(0)", Fraction(7, 5)),
    ],
)
def test_penalties_of_a_knowledge_base_combine_as_the_logic_says(name, expected):
    penalties = [Fraction(4, 5), Fraction(1, 5), Fraction(2, 5)]
    assert relaxation(name).conjoin_penalties(FRACTIONS, penalties) == expected


def test_maxsat_gives_the_degrees_of_lukasiewicz():
    plain, sums = relaxation("lukasiewicz"), relaxation("lukasiewicz-maxsat")
    assert plain.tnorm == sums.tnorm
    assert (plain.is_capped, sums.is_capped) == (True, False)


def test_without_a_generator_the_penalty_is_the_falsity():
    for name in ("s-godel", "r-godel", "s-nilpotent-minimum", "s-drastic"):
        assert not relaxation(name).has_generator
        assert relaxation(name).penalty(Degree(FRACTIONS, true=Fraction(2, 7))) == Fraction(5, 7)


def test_the_product_penalty_is_cross_entropy():
    for x in INNER:
        assert relaxation("r-product").penalty(degree(x)) == pytest.approx(-np.log(x), abs=STEP)
