"""Polynomials on boxes against exact fractions at random points."""

import random
from fractions import Fraction

import pytest

from polynomial_oracles import (
    exact_at,
    in_cube,
    local_at,
    random_boxes,
    random_polynomial,
    random_u,
)
from residuum.analysis.bounds.expansions import exponents, in_floats


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_expansions_are_off_by_no_more_than_they_say(axes):
    rng = random.Random(axes)
    for _ in range(10):
        exact = random_polynomial(rng, axes, 4)
        scale = max(abs(Fraction(int(c.p), int(c.q))) for _, c in exact.terms())
        boxes = random_boxes(rng, axes, 5)
        expansion = in_floats(exact)[0].expand(boxes)
        order = sum(expansion.degrees)
        for box in range(5):
            u = random_u(rng, axes)
            found = local_at(expansion.up_to(order)[:, box], exponents(axes, order), u)
            distance = abs(found - exact_at(exact, in_cube(boxes, box, u)) / scale)
            assert distance <= Fraction(float(expansion.error[box]))
            assert expansion.error[box] < 1e-12


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_no_value_is_closer_to_zero_than_the_least_one(axes):
    rng = random.Random(20 + axes)
    positive = 0
    for _ in range(20):
        exact = random_polynomial(rng, axes, 3, constant=rng.choice((-4, 4)))
        scale = max(abs(Fraction(int(c.p), int(c.q))) for _, c in exact.terms())
        boxes = random_boxes(rng, axes, 8)
        least = in_floats(exact)[0].expand(boxes).least()
        positive += (least > 0).sum()
        for box in range(8):
            for _ in range(5):
                value = exact_at(exact, in_cube(boxes, box, random_u(rng, axes))) / scale
                assert Fraction(float(least[box])) <= abs(value)
    assert positive > 50
