"""Random polynomials and boxes, and their values in exact fractions."""

from fractions import Fraction

import flint
import numpy as np

from residuum.analysis.bounds.expansions import Boxes


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
