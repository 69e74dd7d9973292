"""Means over half-spaces against closed forms."""

import itertools
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from residuum.analysis.bounds.expansions import exponents
from residuum.analysis.bounds.half_spaces import mean_above


def power_of_a_plane(offset, slopes, power):
    """Return the coefficients of (offset + slopes · u) ** power, by multiplying out."""
    axes = len(slopes)
    terms = {(0,) * axes: Fraction(1)}
    for _ in range(power):
        raised = {}
        for k, value in terms.items():
            raised[k] = raised.get(k, 0) + value * offset
            for axis, slope in enumerate(slopes):
                place = (*k[:axis], k[axis] + 1, *k[axis + 1 :])
                raised[place] = raised.get(place, 0) + value * slope
        terms = raised
    return [float(terms.get(k, 0)) for k in exponents(axes, power)]


def integral_of_positive_part(offset, slopes, power):
    """Return ∫ max(0, ℓ)ᵏ over [−1, 1]ⁿ: differences of its n-fold antiderivative at corners."""
    axes = len(slopes)
    total = Fraction(0)
    for corner in itertools.product((-1, 1), repeat=axes):
        value = offset + sum(s * c for s, c in zip(slopes, corner, strict=True))
        if value > 0:
            total += math.prod(corner) * value ** (power + axes)
    rising = math.factorial(power + axes) // math.factorial(power)
    return total / (rising * math.prod(slopes))


@pytest.mark.parametrize("axes", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("power", [0, 1, 3, 5])
def test_means_above_a_plane_are_those_of_the_closed_form(axes, power):
    rng = random.Random(10 * axes + power)
    cases = []
    for _ in range(200):
        slopes = sorted(
            (Fraction(rng.choice((-1, 1)) * rng.randint(1, 64), 64) for _ in range(axes)), key=abs
        )
        cases.append((Fraction(rng.randint(-128, 128), 64), slopes))
    found = mean_above(
        np.array([power_of_a_plane(*case, power) for case in cases]).T,
        power,
        np.array([[float(s) for s in slopes] for _, slopes in cases]).T,
        np.array([float(offset) for offset, _ in cases]),
    )
    for value, case in zip(found, cases, strict=True):
        exact = integral_of_positive_part(*case, power) / 2**axes
        assert value == pytest.approx(float(exact), abs=1e-12)


def test_flat_axes_do_not_matter():
    coefficients = np.zeros((len(exponents(3, 4)), 3))
    coefficients[0] = 1.0
    slopes = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.5], [1.0, -1.0, 1.0]])
    found = mean_above(coefficients, 4, slopes, np.array([0.5, 0.5, -2.0]))
    assert found == pytest.approx([0.75, 0.75, 0.0], abs=1e-12)


@pytest.mark.parametrize("points", range(1, 6))
def test_places_and_weights_of_the_rule_are_as_exact_as_its_rounding_is_counted(points):
    nodes, weights = np.polynomial.legendre.leggauss(points)
    with mpmath.workdps(40):
        for node, weight in zip(nodes, weights, strict=True):
            root = mpmath.findroot(lambda x: mpmath.legendre(points, x), mpmath.mpf(float(node)))
            slope = mpmath.diff(lambda x: mpmath.legendre(points, x), root)
            true = 2 / ((1 - root**2) * slope**2)
            assert abs(node - root) <= 2 * mpmath.mpf(2) ** -53
            assert abs(weight - true) <= 4 * mpmath.mpf(2) ** -53
        assert 1 - max(nodes) >= 1 / 8 or points > 4
