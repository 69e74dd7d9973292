"""Floating-point extremes: values stay in [0, 1], with no NaN and no warning."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from specimens import LOGICS, every, value

from residuum.relaxations import FLOATS, Degree, Relaxation, relaxation
from residuum.syntax import parse

EXTREMES = [0.0, 5e-324, 1e-310, 1e-300, 1e-160, 1e-17, 2.0**-53, 0.5, 1 - 2.0**-53, 1.0]
X, Y = (part.ravel() for part in np.meshgrid(EXTREMES, EXTREMES))
TEXTS = ("P & Q", "P | Q", "P -> Q", "P <-> Q", "(P & Q -> P) & ~(P <-> ~Q) & (P | ~P)")
OUTER = [
    f"{prefix}-{name}"
    for prefix in "sr"
    for name in (
        "hamacher(1e300)", "hamacher(1e-300)", "frank(1.00000000000000000001)",
        "frank(0.99999999999999999999)", "yager(1e-300)", "yager(1e300)", "dombi(1e-300)",
        "dombi(1e300)", "aczel-alsina(1e-300)", "aczel-alsina(1e300)",
        "schweizer-sklar(-1e300)", "schweizer-sklar(-1e-300)", "schweizer-sklar(1e-300)",
        "schweizer-sklar(1e300)", "sugeno-weber(-0.99999999999999999999)",
        "sugeno-weber(1e-300)", "sugeno-weber(-1e-300)", "sugeno-weber(1e300)",
    )
]  # fmt: skip


@every([*LOGICS, *(relaxation(name) for name in OUTER)])
def test_extreme_degrees_give_degrees(logic: Relaxation):
    for text in TEXTS:
        found = value(text, logic, X, Y)
        assert np.all((found >= 0) & (found <= 1)), text


@every([*LOGICS, *(relaxation(name) for name in OUTER)])
def test_extreme_degrees_give_degrees_on_floats_too(logic: Relaxation):
    formula = parse(TEXTS[-1])  # holds every connective
    few = [0.0, 5e-324, 1e-160, 1 - 2.0**-53, 1.0]
    for x, y in itertools.product(few, repeat=2):
        assert 0 <= value(formula, logic, x, y) <= 1, (x, y)


@every([*LOGICS, *(relaxation(name) for name in OUTER)])
def test_extreme_degrees_have_penalties(logic: Relaxation):
    for x in EXTREMES:
        assert logic.penalty(Degree(FLOATS, true=x)) >= 0
        assert logic.penalty(Degree(FLOATS, false=x)) >= 0


@every([*LOGICS, *(relaxation(name) for name in OUTER)])
def test_every_logic_reports_on_itself(logic: Relaxation):
    assert logic.structure in (
        "strict", "nilpotent", "idempotent", "left-continuous", "discontinuous",
    )  # fmt: skip
    assert logic.source
    assert set(logic.is_subdifferentiable) == {"not", "and", "or", "implies", "iff"}
    assert set(logic.latex) == set(logic.expressions)


@pytest.mark.parametrize("text", ["P & Q & R", "P | Q | R"])
def test_n_ary_connectives_of_extremes_give_degrees(text):
    for logic in LOGICS:
        found = value(text, logic, X, Y, X[::-1])
        assert np.all((found >= 0) & (found <= 1)), logic.name
