from __future__ import annotations

import itertools
import math
import re

import pytest
from specimens import LOGICS, MILD_LOGICS, every, value

from residuum.relaxations import FLOATS, Degree
from residuum.relaxations.expressions import to_latex

POINTS = [(x / 16, y / 16) for x, y in itertools.product([1, 3, 5, 8, 11, 15], repeat=2)]
NAMES = {"log": math.log, "exp": math.exp, "min": min, "max": max}


def evaluated(expression, logic, x, y=None):
    names = {symbol: float(number) for symbol, number in logic.parameters.items()}
    if "own" in logic.name:
        tnorm = logic.tnorm
        names["g"] = lambda x: tnorm.penalty(Degree(FLOATS, true=float(x)))
        names["g_inverse"] = lambda penalty: tnorm.degree(FLOATS, penalty).true
    return eval(expression, {"__builtins__": {}}, {**NAMES, **names, "x": x, "y": y})


@every(MILD_LOGICS)
@pytest.mark.parametrize(
    ("name", "text"), [("not", "~P"), ("and", "P & Q"), ("or", "P | Q"), ("implies", "P -> Q")]
)
def test_the_text_of_a_connective_is_its_truth_function(logic, name, text):
    for x, y in POINTS:
        found = evaluated(logic.expressions[name], logic, x, y)
        # Near the diagonal a cube root turns a rounding of 1e-16 into 1e-5.
        assert found == pytest.approx(value(text, logic, x, y), abs=1e-5 if x == y else 1e-12)


@every(MILD_LOGICS)
def test_the_text_of_the_penalty_is_the_penalty(logic):
    for x, _ in POINTS:
        found = evaluated(logic.expressions["penalty"], logic, x)
        assert found == pytest.approx(logic.penalty(Degree(FLOATS, true=x)), rel=1e-12)


@every(MILD_LOGICS)
def test_the_text_of_iff_is_its_conjunction_of_both_implications(logic):
    written = logic.expressions
    assert written["iff"] == "and(implies(x, y), implies(y, x))"
    for x, y in POINTS:
        there = evaluated(written["implies"], logic, x, y)
        back = evaluated(written["implies"], logic, y, x)
        found = evaluated(written["and"], logic, there, back)
        assert found == pytest.approx(value("P <-> Q", logic, x, y), abs=1e-5)


@every(LOGICS)
def test_latex_is_balanced_and_without_python(logic):
    for name, latex in logic.latex.items():
        assert latex.count("{") == latex.count("}"), name
        assert latex.count(r"\left(") == latex.count(r"\right)"), name
        assert latex.count(r"\begin{cases}") == latex.count(r"\end{cases}"), name
        assert not re.search(r"\*|==|<=|>=| if | else |λ|γ", latex.replace(r"\text{if }", "")), name
        assert not re.search(r"\^\{[^{}]*\}\^", latex), name  # a double superscript is an error


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("x * y", r"x \, y"),
        ("(x + y) * x", r"\left(x + y\right) \, x"),
        ("x - (y - 1)", r"x - \left(y - 1\right)"),
        ("1 / (1 + λ)", r"\frac{1}{1 + \lambda}"),
        ("x**(1 / p)", r"x^{\frac{1}{p}}"),
        ("(x / y)**p", r"\left(\frac{x}{y}\right)^{p}"),
        ("(x**2)**3", r"\left(x^{2}\right)^{3}"),
        ("x * -y", r"x \, \left(-y\right)"),
        ("max(0, x)", r"\max\left(0, x\right)"),
        ("-log(x)", r"-\log\left(x\right)"),
    ],
)
def test_latex_keeps_the_brackets_that_matter(text, latex):
    assert to_latex(text) == latex
