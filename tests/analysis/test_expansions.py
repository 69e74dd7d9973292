"""Polynomials and quotients on boxes against exact fractions at random points."""

import itertools
import random
from fractions import Fraction

import flint
import numpy as np
import pytest

from residuum.analysis.expansions import Boxes, exponents, from_exact, quotient_from_exact
from residuum.analysis.models import compared, divide, mean


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
        expansion = from_exact(exact).expand(boxes)
        order = sum(expansion.degrees)
        for box in range(5):
            u = random_u(rng, axes)
            found = local_at(expansion.low(order)[:, box], exponents(axes, order), u)
            distance = abs(found - exact_at(exact, in_cube(boxes, box, u)) / scale)
            assert distance <= Fraction(float(expansion.error[box]))
            assert expansion.error[box] < 1e-12


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
@pytest.mark.parametrize("order", [2, 5])
def test_quotients_are_off_by_no_more_than_they_say(axes, order):
    rng = random.Random(10 * axes + order)
    known = 0
    for _ in range(25):
        above = random_polynomial(rng, axes, 3)
        below = random_polynomial(rng, axes, 3, constant=rng.choice((0, 30)))
        boxes = random_boxes(rng, axes, 6)
        model = divide(*(one.expand(boxes) for one in quotient_from_exact(above, below)), order)
        for box in np.flatnonzero(np.isfinite(model.error)):
            known += 1
            distances = []
            for _ in range(4):
                u = random_u(rng, axes)
                point = in_cube(boxes, box, u)
                value = exact_at(above, point) / exact_at(below, point)
                found = local_at(model.coefficients[:, box], exponents(axes, order), u)
                distances.append(abs(found - value))
            assert max(distances) <= Fraction(float(model.error[box]))
            assert model.mean_error[box] <= model.error[box]
    assert known > 50


def test_what_is_now_one_case_and_now_another_has_a_mean_within_their_bounds():
    rng = random.Random(7)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    narrow = 0
    for _ in range(40):
        below = random_polynomial(rng, 1, 3, constant=25)
        first = random_polynomial(rng, 1, 3, constant=40)
        sides = [first, first + random_polynomial(rng, 1, 2) / 50]
        boxes = random_boxes(rng, 1, 4)
        pairs = [quotient_from_exact(above, below) for above in sides]
        models = [divide(*(one.expand(boxes) for one in pair), 2) for pair in pairs]
        low, high = compared(models, 1)
        for box in np.flatnonzero(np.isfinite(high)):
            means = {}
            for (place, above), half in itertools.product(enumerate(sides), (-1, 1)):
                points = [in_cube(boxes, box, [Fraction((u + half) / 2)]) for u in nodes]
                values = [float(exact_at(above, x) / exact_at(below, x)) for x in points]
                means[place, half] = weights @ values / 2
            for left, right in itertools.product(range(2), repeat=2):
                value = (means[left, -1] + means[right, 1]) / 2
                assert low[box] - 1e-13 <= value <= high[box] + 1e-13
            narrow += high[box] - low[box] < abs(means[0, 1] - means[0, -1])
    assert narrow > 20


def test_the_mean_error_bounds_the_mean_distance():
    rng = random.Random(4)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    for _ in range(40):
        above, below = random_polynomial(rng, 1, 6), random_polynomial(rng, 1, 4, constant=25)
        boxes = random_boxes(rng, 1, 4)
        model = divide(*(one.expand(boxes) for one in quotient_from_exact(above, below)), 3)
        for box in np.flatnonzero(np.isfinite(model.error)):
            x = boxes.centres[0, box] + boxes.halves[0, box] * nodes
            values = [float(exact_at(above, [p]) / exact_at(below, [p])) for p in map(Fraction, x)]
            found = np.polynomial.polynomial.polyval(nodes, model.coefficients[:, box])
            distance = weights @ np.abs(found - values) / 2
            assert distance <= model.mean_error[box] + 1e-12


def test_the_mean_error_on_squares_bounds_the_mean_distance_and_is_about_as_large():
    rng = random.Random(8)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    u, v = (axis.ravel() for axis in np.meshgrid(nodes, nodes, indexing="ij"))
    weight = np.outer(weights, weights).ravel() / 4
    ratios = []
    for _ in range(30):
        above, below = random_polynomial(rng, 2, 4), random_polynomial(rng, 2, 3, constant=25)
        pair = quotient_from_exact(above, below)
        boxes = random_boxes(rng, 2, 4)
        model = divide(*(one.expand(boxes) for one in pair), 3)
        for box in np.flatnonzero(np.isfinite(model.error)):
            places = boxes.centres[:, box, None] + boxes.halves[:, box, None] * np.stack([u, v])
            values = [
                np.polynomial.polynomial.polyval2d(*places, polynomial.coefficients)
                for polynomial in pair
            ]
            terms = [u**i * v**j for i, j in exponents(2, 3)]
            found = model.coefficients[:, box] @ terms
            distance = weight @ np.abs(found - values[0] / values[1])
            assert distance <= model.mean_error[box] + 1e-13
            if distance > 1e-9:
                ratios.append(model.mean_error[box] / distance)
    assert len(ratios) > 30
    assert np.median(ratios) < 1.8


def test_what_may_have_a_pole_in_a_box_is_unknown_there():
    (x,) = flint.fmpq_mpoly_ctx.get(("x0",), "lex").gens()
    boxes = Boxes(np.array([[0.25, 0.75]]), np.array([[0.25, 0.25]]))
    model = divide(*(one.expand(boxes) for one in quotient_from_exact(x + 1, x)), 4)
    assert np.isinf(model.error).tolist() == [True, False]


def test_means_of_monomials():
    coefficients = np.eye(len(exponents(2, 2)))
    means = dict(zip(exponents(2, 2), mean(coefficients, 2, 2), strict=True))
    assert means[0, 0] == 1
    assert means[2, 0] == means[0, 2] == pytest.approx(1 / 3)
    assert means[1, 1] == means[1, 0] == means[0, 1] == 0


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_no_value_is_closer_to_zero_than_the_least_one(axes):
    rng = random.Random(20 + axes)
    positive = 0
    for _ in range(20):
        exact = random_polynomial(rng, axes, 3, constant=rng.choice((-4, 4)))
        scale = max(abs(Fraction(int(c.p), int(c.q))) for _, c in exact.terms())
        boxes = random_boxes(rng, axes, 8)
        least = from_exact(exact).expand(boxes).least()
        positive += (least > 0).sum()
        for box in range(8):
            for _ in range(5):
                value = exact_at(exact, in_cube(boxes, box, random_u(rng, axes))) / scale
                assert Fraction(float(least[box])) <= abs(value)
    assert positive > 50
