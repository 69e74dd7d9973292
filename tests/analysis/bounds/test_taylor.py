"""Taylor polynomials of quotients against exact fractions and quadrature."""

import random
from fractions import Fraction

import numpy as np
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
from residuum.analysis.bounds.taylor import divide, gathered, mean


def clear_boxes(below, boxes):
    """Return the boxes on which a polynomial keeps away from 0."""
    return boxes.of(np.flatnonzero(in_floats(below)[0].expand(boxes).least() > 0))


def test_sums_are_those_of_a_plain_loop():
    draw = random.Random(3)
    every = [(t, i, j) for t in (7, 2, 9, 4) for i in range(5) for j in range(6)]
    triples = [*draw.sample(every, 40), (11, 0, 0)]  # few of some targets, many of others
    left = np.array([[draw.randrange(-9, 10) for _ in range(3)] for _ in range(5)], dtype=float)
    right = np.array([[draw.randrange(-9, 10) for _ in range(3)] for _ in range(6)], dtype=float)
    expected = {t: [0, 0, 0] for t, _, _ in triples}
    for t, i, j in triples:
        for column in range(3):
            expected[t][column] += int(left[i, column]) * int(right[j, column])
    products = gathered(triples)
    found = dict(zip(products.targets.tolist(), products.sums(left, right).tolist(), strict=True))
    assert found == expected
    assert len({len([1 for t, _, _ in triples if t == target]) for target in expected}) > 2


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
@pytest.mark.parametrize("order", [2, 5])
def test_quotients_are_off_by_no_more_than_they_say(axes, order):
    rng = random.Random(10 * axes + order)
    known = 0
    for _ in range(25):
        above = random_polynomial(rng, axes, 3)
        below = random_polynomial(rng, axes, 3, constant=rng.choice((0, 30)))
        boxes = clear_boxes(below, random_boxes(rng, axes, 6))
        model = divide(*(one.expand(boxes) for one in in_floats(above, below)), order)
        for box in range(boxes.number):
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


def test_the_mean_error_bounds_the_mean_distance():
    rng = random.Random(4)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    for _ in range(40):
        above, below = random_polynomial(rng, 1, 6), random_polynomial(rng, 1, 4, constant=25)
        boxes = clear_boxes(below, random_boxes(rng, 1, 4))
        model = divide(*(one.expand(boxes) for one in in_floats(above, below)), 3)
        for box in range(boxes.number):
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
        pair = in_floats(above, below)
        boxes = clear_boxes(below, random_boxes(rng, 2, 4))
        model = divide(*(one.expand(boxes) for one in pair), 3)
        for box in range(boxes.number):
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


def test_means_of_monomials():
    coefficients = np.eye(len(exponents(2, 2)))
    means = dict(zip(exponents(2, 2), mean(coefficients, 2, 2), strict=True))
    assert means[0, 0] == 1
    assert means[2, 0] == means[0, 2] == pytest.approx(1 / 3)
    assert means[1, 1] == means[1, 0] == means[0, 1] == 0
