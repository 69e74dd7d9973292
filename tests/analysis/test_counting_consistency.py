"""The consistency of counts, against means over a grid of truth functions written anew."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from residuum.analysis import consistency, gradients
from residuum.errors import ResiduumError

POINTS = (np.arange(40) + 0.5) / 40
P, Q, R = np.meshgrid(POINTS, POINTS, POINTS, indexing="ij")


def by_subsets(number, *degrees):
    """Return the probability that so many of independent events happen, or more."""
    outcomes = itertools.product([False, True], repeat=len(degrees))
    return sum(
        np.prod([x if won else 1 - x for x, won in zip(degrees, row, strict=True)], axis=0)
        for row in outcomes
        if sum(row) >= number
    )


def by_order(number, *degrees):
    return np.sort(np.stack(degrees), axis=0)[-number]


def by_sum(number, *degrees):
    return np.clip(sum(degrees) - number + 1, 0, 1)


AT_LEAST = {
    "s-product": by_subsets, "r-product": by_subsets, "s-godel": by_order, "r-godel": by_order,
    "lukasiewicz": by_sum,
}  # fmt: skip
AND = {
    "s-product": np.multiply, "r-product": np.multiply, "s-godel": np.minimum,
    "r-godel": np.minimum, "lukasiewicz": lambda x, y: np.maximum(0, x + y - 1),
}  # fmt: skip


@pytest.mark.parametrize("name", AT_LEAST)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_mean_of_a_count_is_exact_and_right(name, number):
    found = consistency(f"at least {number} of (P, Q, R)", name)
    assert isinstance(found.exact, Fraction)
    assert float(found.value) == pytest.approx(AT_LEAST[name](number, P, Q, R).mean(), abs=2e-3)


@pytest.mark.parametrize("name", AT_LEAST)
def test_counts_of_parts_that_share_atoms_are_integrated(name):
    count, both = AT_LEAST[name], AND[name]
    parts = (P, both(P, Q), 1 - R)
    expected = both(count(2, *parts), 1 - count(3, *parts)).mean()
    found = consistency("exactly 2 of (P, P & Q, ~R)", name)
    assert float(found.value) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("name", AT_LEAST)
@pytest.mark.parametrize(("text", "value"), [("at least 0 of (P)", 1), ("at least 2 of (P)", 0)])
def test_counts_that_are_constant_have_that_mean(name, text, value):
    assert consistency(text, name).value == value


@pytest.mark.parametrize("name", ["s-frank(2)", "r-yager(2)", "s-hamacher(2)", "s-drastic"])
def test_other_logics_are_integrated_by_some_method(name):
    found = consistency("at least 2 of (P, Q) -> P", name, seconds=5)
    assert 0.5 < float(found.value) <= 1


def test_a_counting_quantifier_must_be_written_out_first():
    with pytest.raises(ResiduumError, match="expected a formula without quantifiers"):
        consistency("exactly 2 x in D: P(x)", "s-product")


def test_gradients_of_counts_are_diagnosed():
    found = gradients("at least 2 of (P, Q, R) -> P", "lukasiewicz")
    assert 0 < found.violated < 1
