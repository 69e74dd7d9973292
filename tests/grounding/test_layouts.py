"""Terms over domains: functions, arithmetic, and terms that leave their domain."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError

TEN = {"domains": {"digit": 10}, "inputs": "probs"}
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
    with pytest.raises(GroundingError, match=r"`f`.*pass functions="):
        penalty("forall x in d: P(f(x))")
    with pytest.raises(GroundingError, match="function `f` has no value for 2"):
        penalty("forall x in d: P(f(x))", f={0: 0, 1: 0})


@pytest.mark.parametrize("value", [None, 1.0, [1]])
def test_a_value_that_is_no_label_is_refused(value):
    with pytest.raises(GroundingError, match=r"`f`: expected .* but f\(1\) is "):
        penalty("forall x in d: P(f(x))", f=lambda x: value if x == 1 else x)
    with pytest.raises(GroundingError, match=r"`f`: expected .* but f\(1\) is "):
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


def test_division_rounds_down_also_beyond_64_bits():
    assert penalty("P((4611686018427387904 * 4 + 1) div 9223372036854775807)") == 1 - GIVEN[2]
    expected = sum(1 - GIVEN[(x - 3) // 2 + 2] for x in range(3))
    assert penalty("forall x in d: P((x - 3) div 2 + 2)") == expected


def test_division_by_zero_is_refused_unless_a_guard_excludes_it():
    with pytest.raises(GroundingError, match="`div` is zero; use another number, or a guard"):
        penalty("forall x in d: P(1 div x)")
    expected = sum(1 - GIVEN[2 // x] for x in (1, 2))
    assert penalty("forall x in d where x != 0: P(2 div x)") == expected


def test_a_remainder_by_zero_is_refused():
    with pytest.raises(GroundingError, match="`mod` is zero"):
        penalty("forall x in d: P(1 mod x)")


def test_labels_cannot_be_computed_with():
    with pytest.raises(GroundingError, match="expected integers, got labels"):
        rs.compile("forall x in d: P(x + 1)", domains={"d": ("a", "b")})


def test_a_guard_cannot_order_labels_and_integers():
    with pytest.raises(GroundingError, match="cannot order labels and integers"):
        rs.compile("forall x in d where x < 1: P(x)", domains={"d": ("a", "b")})


# A term that leaves its domain is refused when the rule is compiled, unless a guard forbids it.


def test_the_offending_values_are_named():
    with pytest.raises(GroundingError, match=r"`a \+ b` is 10 for a = 1, b = 9, .*`digit` \(0, 1,"):
        rs.compile("forall a, b in digit: L(a) & R(b) -> Sum(a + b)", **TEN)
    with pytest.raises(GroundingError, match=r"`a - 1` is -1 for a = 0"):
        rs.compile("forall a in digit: P(a) -> P(a - 1)", **TEN)


def test_a_constant_outside_is_named():
    with pytest.raises(GroundingError, match="`12` is 12, which is not in domain"):
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
