"""Finite functions and arithmetic in terms."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError

GIVEN = torch.tensor([0.25, 0.5, 1.0])


def penalty(text, **functions):
    rule = rs.compile(
        text,
        "lukasiewicz-maxsat",
        domains={"d": 3},
        predicates={"P": ("d",)},
        functions=functions,
        inputs="probs",
    )
    return float(rule(P=GIVEN))


@pytest.mark.parametrize(
    "given",
    [
        {0: 1, 1: 1, 2: 0},
        lambda n: (1, 1, 0)[n],
        lambda n: np.int64((1, 1, 0)[n]),
        {n: torch.tensor(m) for n, m in enumerate((1, 1, 0))},
    ],
)
def test_a_function_is_a_mapping_or_a_python_function(given):
    assert penalty("forall x in d: P(f(x))", f=given) == 0.5 + 0.5 + 0.75


def test_what_is_no_function_is_refused():
    with pytest.raises(GroundingError, match=r"`f`: expected a mapping or a Python function"):
        penalty("forall x in d: P(f(x))", f=[1, 1, 0])
    with pytest.raises(GroundingError, match="function `f` has no table"):
        penalty("forall x in d: P(f(x))")
    with pytest.raises(GroundingError, match="function `f` has no value for 2"):
        penalty("forall x in d: P(f(x))", f={0: 0, 1: 0})


@pytest.mark.parametrize("value", [None, 1.0, [1]])
def test_a_value_that_is_no_label_is_refused(value):
    with pytest.raises(GroundingError, match=r"`f`: expected a label, .* but f\(1\) is "):
        penalty("forall x in d: P(f(x))", f=lambda x: value if x == 1 else x)
    with pytest.raises(GroundingError, match=r"`f`: expected a label, .* but f\(1\) is "):
        penalty("forall x in d: P(f(x))", f={0: 0, 1: value, 2: 2})


def test_functions_of_several_arguments():
    table = {(x, y): (2 * x + y) % 3 for x in range(3) for y in range(3)}
    expected = sum(1 - float(GIVEN[table[x, y]]) for x in range(3) for y in range(3))
    assert penalty("forall x, y in d: P(f(x, y))", f=table) == expected


def test_arithmetic_with_integers_beyond_machine_words():
    assert penalty("P((4611686018427387904 * 8 + 1) mod 3)") == 1 - GIVEN[(2**62 * 8 + 1) % 3]
    expected = sum(1 - float(GIVEN[(4294967296 * 4294967296 * x) % 3]) for x in range(3))
    assert penalty("forall x in d: P((4294967296 * 4294967296 * x) mod 3)") == expected


def test_the_remainder_is_that_of_floored_division():
    expected = sum(1 - float(GIVEN[(x - 2) % 3]) for x in range(3))
    assert penalty("forall x in d: P((x - 2) mod 3)") == expected


def test_a_remainder_by_zero_is_refused():
    with pytest.raises(GroundingError, match="`mod` is zero"):
        penalty("forall x in d: P(1 mod x)")


def test_labels_cannot_be_computed_with():
    with pytest.raises(GroundingError, match="labels cannot be computed with"):
        rs.compile("forall x in d: P(x + 1)", domains={"d": ("a", "b")})


def test_a_guard_cannot_order_labels_and_integers():
    with pytest.raises(GroundingError, match="cannot order labels and integers"):
        rs.compile("forall x in d where x < 1: P(x)", domains={"d": ("a", "b")})
