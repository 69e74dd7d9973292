"""Polynomials on boxes against exact fractions at random points."""

import random
from fractions import Fraction

import flint
import numpy as np
import pytest

from residuum.analysis.bounds.expansions import Boxes, exponents, in_floats


def random_polynomial(rng, axes, degree, constant=0):
    context = flint.fmpq_mpoly_ctx.get(tuple(f"x{i}" for i in range(axes)), "lex")
    total = context.constant(constant)
    for _ in range(8):
        term = context.constant(rng.randint(-9, 9)) / rng.randint(1, 9)
        for variable in context.gens():
            term *= variable ** rng.randint(0, degree)
        total += term
    return total


def random_boxes(rng, axes, count):
    halves = [[2.0 ** -rng.randint(2, 9) for _ in range(count)] for _ in range(axes)]
    centres = [[half * (2 * rng.randrange(int(0.5 / half)) + 1) for half in row] for row in halves]
    return Boxes(np.array(centres), np.array(halves))


def exact_at(polynomial, point):
    total = Fraction(0)
    for powers, coefficient in polynomial.terms():
        term = Fraction(int(coefficient.p), int(coefficient.q))
        for x, power in zip(point, powers, strict=True):
            term *= x ** int(power)
        total += term
    return total


def local_at(coefficients, powers, u):
    total = Fraction(0)
    for coefficient, k in zip(coefficients, powers, strict=True):
        term = Fraction(float(coefficient))
        for x, power in zip(u, k, strict=True):
            term *= x**power
        total += term
    return total


def random_u(rng, axes):
    return [Fraction(rng.randint(-64, 64), 64) for _ in range(axes)]


def in_cube(boxes, box, u):
    return [
        Fraction(float(c)) + Fraction(float(h)) * x
        for c, h, x in zip(boxes.centres[:, box], boxes.halves[:, box], u, strict=True)
    ]


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
