"""Means over parts of boxes against closed forms."""

import itertools
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from residuum.analysis.cuts import mean_where_positive
from residuum.analysis.expansions import Expansion, exponents
from residuum.analysis.half_spaces import mean_above
from residuum.analysis.planes import curve


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
@pytest.mark.parametrize("power", [0, 1, 3, 4])
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


@pytest.mark.parametrize("axes", [2, 3, 4, 5])
@pytest.mark.parametrize("cut_order", [1, 4])
def test_means_along_a_plane_are_those_of_the_closed_form(axes, cut_order):
    # Where w = 1 lies above the plane and w = −1 below. With a = ℓ(u, 1) and b = a − 2s the power
    # of a is integrated over a > 0, and as (b + 2s)⁴ taken away over b > 0.
    rng = random.Random(axes)
    cases = []
    for _ in range(100):
        slopes = sorted(
            (Fraction(rng.choice((-1, 1)) * rng.randint(1, 64), 64) for _ in range(axes)), key=abs
        )
        slopes[-1] = abs(slopes[-1])
        cases.append((Fraction(rng.randint(-128, 128), 64), slopes))
    found = mean_above(
        np.zeros((len(exponents(axes, cut_order)), len(cases))),
        cut_order,
        np.array([[float(s) for s in slopes] for _, slopes in cases]).T,
        np.array([float(offset) for offset, _ in cases]),
        np.array(
            [power_of_a_plane(offset + slopes[-1], slopes[:-1], 4) for offset, slopes in cases]
        ).T,
    )
    for value, (offset, slopes) in zip(found, cases, strict=True):
        *base, steep = slopes
        exact = integral_of_positive_part(offset + steep, base, 4) - sum(
            math.comb(4, k) * (2 * steep) ** (4 - k) * integral_of_positive_part(b, base, k)
            for b in [offset - steep]
            for k in range(5)
        )
        assert value == pytest.approx(float(exact / 2 ** (axes - 1)), abs=1e-10)


def test_flat_axes_do_not_matter():
    coefficients = np.zeros((len(exponents(3, 4)), 3))
    coefficients[0] = 1.0
    slopes = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.5], [1.0, -1.0, 1.0]])
    found = mean_above(coefficients, 4, slopes, np.array([0.5, 0.5, -2.0]))
    assert found == pytest.approx([0.75, 0.75, 0.0], abs=1e-12)


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_means_where_a_curved_guard_is_positive_hold_the_true_mean(axes):
    rng = np.random.default_rng(axes)
    order, cut_order = 5, 4
    listed = exponents(axes, order)
    grid = (np.arange(240 if axes < 3 else 60) + 0.5) / (120 if axes < 3 else 30) - 1
    others = np.meshgrid(*[grid] * (axes - 1), indexing="ij") if axes > 1 else []
    for trial in range(12):
        # u_t > a + b · v + curvature: along u_t the true integral is a polynomial's.
        bend = rng.normal(size=2) * 0.2 * (trial % 4) / 3
        start, tilts = rng.uniform(-0.3, 0.3), rng.uniform(-0.3, 0.3, size=axes - 1)
        surface = np.full([len(grid)] * (axes - 1), start)
        terms = {(0,) * axes: -start, (0,) * (axes - 1) + (1,): 1.0}
        for axis, (tilt, v) in enumerate(zip(tilts, others, strict=True)):
            unit = [int(a == axis) for a in range(axes)]
            terms[tuple(unit)] = -tilt
            terms[tuple(2 * e for e in unit)] = -bend[0]
            surface = surface + tilt * v + bend[0] * v**2
        degrees = (2,) * (axes - 1) + (1,)
        guard = np.array(
            [terms.get(k, 0.0) for k in itertools.product(*(range(d + 1) for d in degrees))]
        )
        expansion = Expansion(degrees, guard[:, None], np.zeros(1))
        # Half of the trials fit together along the guard, the others jump.
        delta = {k: v * 0.3 for k, v in terms.items()} if trial % 2 else {}
        delta[(0,) * axes] = delta.get((0,) * axes, 0.0) + (0.0 if trial % 2 else 0.4)
        part = mean_where_positive(
            np.array([[delta.get(k, 0.0)] for k in listed]),
            order,
            cut_order,
            curve(expansion, order),
            axes,
        )
        bound = np.clip(surface, -1, 1)
        if trial % 2:  # ∫ 0.3 (t − surface) dt from the bound to 1
            inner = 0.15 * ((1 - surface) ** 2 - (bound - surface) ** 2)
        else:
            inner = 0.4 * (1 - bound)
        true = float(np.mean(inner)) / 2
        slack = 1e-3 if axes > 1 else 1e-12  # of the grid
        assert abs(part.mean[0] - true) <= part.error[0] + slack * 0.1
        assert part.error[0] < (0.2 if axes > 1 else 1e-9)
        if not bend[0]:
            assert part.error[0] < 1e-10


def test_a_guard_without_slope_leaves_everything_open():
    guard = Expansion((2,), np.array([[0.0], [0.0], [1.0]]), np.zeros(1))
    part = mean_where_positive(np.ones((len(exponents(1, 5)), 1)), 5, 4, curve(guard, 5), 1)
    assert np.isinf(part.error[0])


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


def test_means_where_a_guard_bends_every_way_hold_those_of_columns():
    rng = np.random.default_rng(0)
    nodes, weights = np.polynomial.legendre.leggauss(30)
    columns = (np.arange(4000) + 0.5) / 2000 - 1
    closest = 0.0
    for trial in range(60):
        a, b, c, d = rng.uniform(-0.3, 0.3, 4) * rng.choice((0.3, 1.0), 4)
        square = rng.uniform(0.02, 0.3)
        guard = {(0, 0): a, (1, 0): b, (0, 1): 1.0, (2, 0): c, (1, 1): d, (0, 2): square}
        fits = trial % 2
        delta = {k: 0.4 * v for k, v in guard.items()} if fits else {(0, 0): 0.4}
        part = mean_where_positive(
            np.array([[delta.get(k, 0.0)] for k in exponents(2, 5)]),
            5,
            4,
            curve(
                Expansion(
                    (2, 2),
                    np.array([[guard.get(k, 0.0)] for k in itertools.product(range(3), repeat=2)]),
                    np.zeros(1),
                ),
                5,
            ),
            2,
        )
        # In a column g is a parabola in w that rises; where it is positive lies above its root.
        slope, start = 1 + d * columns, a + b * columns + c * columns**2
        root = (-slope + np.sqrt(slope**2 - 4 * square * start)) / (2 * square)
        lowest = np.clip(root, -1, 1)
        w = lowest + (1 - lowest) * (nodes[:, None] + 1) / 2
        values = 0.4 * (start + slope * w + square * w**2) if fits else np.full_like(w, 0.4)
        true = float(np.mean(weights @ values * (1 - lowest) / 2)) / 2
        assert abs(part.mean[0] - true) <= part.error[0] + 1e-6
        closest = max(closest, abs(part.mean[0] - true) / part.error[0])
    assert closest > 0.4  # the bounds are not wide for nothing


def solved_columns(guard, delta):
    """Return the mean of Δ · [g > 0] over the square, g rising in w, between its kinks in u."""

    def in_w(polynomial, u):
        powers = [0.0, 0.0, 0.0]
        for (a, b), value in polynomial.items():
            powers[b] += value * u**a
        return powers

    def column(u):
        c, b, a = in_w(guard, u)
        root = min(max((-b + mpmath.sqrt(b * b - 4 * a * c)) / (2 * a), -1), 1)
        return sum(v * (1 - root ** (k + 1)) / (k + 1) for k, v in enumerate(in_w(delta, u)))

    kinks = {-1.0, 1.0}
    for w in (-1, 1):
        in_u = [sum(v * w**b for (a, b), v in guard.items() if a == k) for k in (2, 1, 0)]
        kinks |= {float(r.real) for r in np.roots(in_u) if abs(r.imag) < 1e-12 and abs(r.real) < 1}
    return float(mpmath.quad(column, sorted(kinks))) / 4


@pytest.mark.parametrize("fits", [True, False])
def test_means_where_a_guard_bends_a_little_hold_the_true_ones_and_are_off_by_little(fits):
    rng = np.random.default_rng(3)
    errors = []
    for _ in range(40):
        a, b, c, d, square = rng.uniform(-1, 1, 5) * (1.4, 1.0, 0.02, 0.02, 0.02)
        guard = {(0, 0): a, (1, 0): b, (0, 1): 1.0, (2, 0): c, (1, 1): d, (0, 2): square}
        factor = {(0, 0): 0.4, (1, 0): 0.02, (0, 1): -0.03, (1, 1): 0.002}
        delta = {}
        for (i, j), value in guard.items() if fits else [((0, 0), 1.0)]:
            for (k, m), other in factor.items():
                delta[i + k, j + m] = delta.get((i + k, j + m), 0.0) + value * other
        delta = {k: v for k, v in delta.items() if k[1] < 3}
        rows = [[guard.get(k, 0.0)] for k in itertools.product(range(3), repeat=2)]
        part = mean_where_positive(
            np.array([[delta.get(k, 0.0)] for k in exponents(2, 5)]),
            5,
            4,
            curve(Expansion((2, 2), np.array(rows), np.zeros(1)), 5),
            2,
        )
        true = solved_columns(guard, delta)
        assert abs(part.mean[0] - true) <= part.error[0] + 1e-14
        errors.append(part.error[0])
    # Of those that fit together, what a plane misses is 0.4 · 0.01² / 4 or so.
    assert np.median(errors) < (2e-6 if fits else 4e-3)


@pytest.mark.parametrize(("power", "cut_order"), [(5, 4), (6, 4), (4, 2), (3, 1)])
def test_powers_that_are_not_integrated_are_off_by_two_to_minus_their_degree(power, cut_order):
    delta = np.zeros((power + 1, 3))
    delta[power] = 1.0
    offsets = [0.25, -0.5, 0.75]
    guard = Expansion((1,), np.array([offsets, [1.0] * 3]), np.zeros(3))
    part = mean_where_positive(delta, power, cut_order, curve(guard, power), 1)
    for mean, error, offset in zip(part.mean, part.error, offsets, strict=True):
        true = (1 - (-offset) ** (power + 1)) / (power + 1) / 2
        assert abs(mean - true) <= error
        assert error == pytest.approx(0.5 ** (power + 1), rel=1e-6)
