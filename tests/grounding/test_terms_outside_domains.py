"""A term that leaves its domain is refused when the rule is compiled, unless a guard forbids it."""

from __future__ import annotations

import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError

TEN = {"domains": {"digit": 10}, "inputs": "probs"}


def test_the_offending_values_are_named():
    with pytest.raises(GroundingError, match=r"`a \+ b` is 10 for a = 1, b = 9, .*`digit` \(0, 1,"):
        rs.compile("forall a, b in digit: L(a) & R(b) -> Sum(a + b)", **TEN)
    with pytest.raises(GroundingError, match=r"`a - 1` is -1 for a = 0"):
        rs.compile("forall a in digit: P(a) -> P(a - 1)", **TEN)


def test_a_constant_outside_is_named():
    with pytest.raises(GroundingError, match="`12` is 12 for its constant"):
        rs.compile("forall a in digit: P(a) -> P(12)", **TEN)


def test_a_guard_over_the_same_variables_keeps_a_term_inside():
    rule = rs.compile("forall a, b in digit where a + b < 10: Sum(a + b)", "lukasiewicz", **TEN)
    assert rule(Sum=torch.ones(10)) == 0


def test_a_guard_over_more_variables_keeps_a_term_inside():
    rule = rs.compile(
        "forall i, j in digit where i < j: P(i + 1) -> Q(j)", "lukasiewicz-maxsat", **TEN
    )
    likely = torch.zeros(10)
    likely[9] = 1  # i + 1 is 9 for i = 8, where j is 9 alone
    rest = torch.zeros(10)
    assert rule(P=likely, Q=rest) == 1
    assert rule(P=likely, Q=likely) == 0


def test_a_guard_on_a_shadowed_variable_excuses_nothing():
    with pytest.raises(GroundingError, match=r"`i \+ 1` is 10 for i = 9"):
        rs.compile(
            "forall i, j in digit where i < j: Q(j) & (exists i in digit: P(i + 1) & Q(j))", **TEN
        )


def test_a_guard_over_another_variable_of_the_same_dimension_excuses_nothing():
    # z takes the place of y, which the inner part does not mention.
    with pytest.raises(GroundingError, match=r"`x \+ z` is 10"):
        rs.compile(
            "forall x, y in digit where x + y < 10: Q(y) & (exists z in digit: P(x + z))", **TEN
        )


def test_a_term_need_have_a_value_only_where_the_guard_holds():
    rule = rs.compile("forall i in digit where i != 0: P(5 mod i)", "lukasiewicz-maxsat", **TEN)
    likely = torch.zeros(10)
    likely[5] = 1  # 5 mod i is 5 for i = 6 to 9
    assert rule(P=likely) == 5
    halves = {n: n // 2 for n in range(0, 10, 2)}
    rule = rs.compile(
        "forall i in digit, j in digit where i mod 2 = 0 & j < 2: P(half(i) + j)",
        "lukasiewicz-maxsat",
        functions={"half": halves},
        predicates={"P": ("digit",)},
        **TEN,
    )
    assert rule(P=likely) == 9  # of 5 × 2 groundings only i = 8, j = 1 speaks of 5


def test_a_term_without_a_value_where_the_guard_holds_is_refused():
    with pytest.raises(GroundingError, match="the right-hand side of `mod` is zero"):
        rs.compile("forall i in digit where i < 3: P(5 mod i)", **TEN)
    with pytest.raises(GroundingError, match="function `half` has no value for 1"):
        rs.compile(
            "forall i in digit where i < 3: P(half(i))",
            functions={"half": {0: 0}},
            predicates={"P": ("digit",)},
            **TEN,
        )
