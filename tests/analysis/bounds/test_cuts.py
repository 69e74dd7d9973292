"""Means over parts of boxes against closed forms."""

import itertools

import mpmath
import numpy as np
import pytest

from residuum.analysis.bounds.cuts import (
    Guard,
    Plane,
    guard_of,
    mean_where_positive,
    multiple_of,
    plane_for,
    straightened,
)
from residuum.analysis.bounds.expansions import Expansion, exponents


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_means_where_a_curved_guard_is_positive_hold_the_true_mean(axes):
    rng = np.random.default_rng(axes)
    order = 5
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
            guard_of(expansion, order),
            axes,
            order,
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
    part = mean_where_positive(np.ones((len(exponents(1, 5)), 1)), guard_of(guard, 5), 1, 5)
    assert np.isinf(part.error[0])


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
            guard_of(
                Expansion(
                    (2, 2),
                    np.array([[guard.get(k, 0.0)] for k in itertools.product(range(3), repeat=2)]),
                    np.zeros(1),
                ),
                5,
            ),
            2,
            5,
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
            guard_of(Expansion((2, 2), np.array(rows), np.zeros(1)), 5),
            2,
            5,
        )
        true = solved_columns(guard, delta)
        assert abs(part.mean[0] - true) <= part.error[0] + 1e-14
        errors.append(part.error[0])
    # Where the cases fit together the plane misses at most 0.4 · 0.01² / 4 = 1e-5 or so.
    assert np.median(errors) < (5e-6 if fits else 4e-3)


def values(coefficients, listed, points):
    """Return polynomials, one for each box, at points of each: rows of the result."""
    monomials = np.stack([np.prod(points ** np.array(k), axis=-1) for k in listed], axis=-1)
    return np.einsum("pbk,kb->pb", monomials, coefficients)


def random_guards(axes, order, number, bends):
    rng = np.random.default_rng(axes)
    listed = exponents(axes, order)
    sizes = np.array([1.0 if sum(k) < 2 else bends ** (sum(k) - 1) for k in listed])
    low = rng.normal(size=(len(listed), number)) * sizes[:, None]
    return Guard(low, np.zeros(number)), rng.uniform(-1, 1, size=(40, number, axes))


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
@pytest.mark.parametrize("bends", [0.05, 0.5])
def test_straightened_guards_have_the_same_sign_and_bend_only_across(axes, bends):
    order = 5
    guard, points = random_guards(axes, order, 40, bends)
    straight = straightened(guard, axes, order)
    listed = exponents(axes, order)
    before, after = (values(one.coefficients, listed, points) for one in (guard, straight))
    certain = np.abs(after) > straight.missing
    assert (np.sign(before) == np.sign(after))[certain].all()
    assert certain.mean() > 0.5
    steepest = np.argmax(np.abs(guard.coefficients[1 : axes + 1]), axis=0)
    along = np.array([[sum(k) == 2 and k[w] > 0 for k in listed] for w in steepest]).T
    flat = (np.abs(np.where(along, straight.coefficients, 0.0)) < 1e-12).all(axis=0)
    changed = (straight.coefficients != guard.coefficients).any(axis=0)
    assert flat[changed].all()
    assert changed.mean() > (0.9 if bends < 0.1 else 0.05)


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_a_guard_is_a_plane_and_what_it_bends_and_something_small(axes):
    order = 4
    guard, points = random_guards(axes, order, 60, 0.3)
    steep = np.argsort(np.abs(guard.coefficients[1 : axes + 1]), axis=0)
    guard.coefficients[1 : axes + 1] = np.take_along_axis(
        guard.coefficients[1 : axes + 1], steep, axis=0
    )
    plane = plane_for(guard, axes, order)
    flat = plane.offset + np.einsum("pba,ab->pb", points, plane.slopes)
    bend = values(plane.bend, exponents(axes - 1, 2), points[..., :-1])
    off = values(guard.coefficients, exponents(axes, order), points) - flat - bend
    assert (np.abs(off) <= plane.off).all()
    assert (np.abs(off).max(axis=0) > 0.05 * plane.off).all()


@pytest.mark.parametrize("rest", [0.0, 0.003, 0.2])
def test_the_gap_between_a_plane_and_a_guard_is_bounded(rest):
    # g = offset + slope u + w + bend (u² − 1/2) + R, with R = ± rest, along 20,000 columns.
    rng = np.random.default_rng(0)
    u = (np.arange(20_000) + 0.5) / 10_000 - 1
    closest = 0.0
    for _ in range(200):
        offset, slope, bend = rng.uniform(-1, 1, 3) * (2.0, 1.0, rng.choice((0.02, 0.3)))
        plane = Plane(
            np.array([offset]),
            np.array([[slope], [1.0]]),
            np.array([[-bend / 2], [0.0], [bend]]),
            np.array([rest]),
        )
        within, share = plane.gap()
        moved = bend * (u**2 - 0.5) + rng.choice((-1, 1)) * rest
        foot = offset + slope * u
        # Signs differ between the roots −foot and −foot − moved; there ∫ g dw is half of g².
        ends = np.clip([-foot, -foot - moved], -1, 1)
        at_ends = (ends + foot + moved) ** 2
        found = np.abs(at_ends[0] - at_ends[1]).mean() / 4
        assert found <= within[0] + 1e-4 * (abs(bend) + rest) ** 2
        assert np.abs(ends[0] - ends[1]).max() / 2 <= share[0]
        closest = max(closest, found / within[0])
    assert closest > 0.25  # the bound is not wide for nothing


def test_a_multiple_of_a_guard_is_found_and_what_is_not_stays_in_the_rest():
    axes, order = 3, 5
    guard, points = random_guards(axes, 2, 8, 0.1)
    guard.coefficients[3] = 3.0 + np.abs(guard.coefficients[3])
    listed = exponents(axes, order)
    low = np.zeros((len(listed), 8))
    low[: len(guard.coefficients)] = guard.coefficients
    rng = np.random.default_rng(0)
    factor = {k: rng.normal(size=8) * 0.1 ** sum(k) for k in exponents(axes, 2)}
    delta = np.zeros_like(low)
    for k, value in factor.items():
        for place, m in enumerate(exponents(axes, 2)):
            delta[listed.index(tuple(np.add(k, m)))] += value * guard.coefficients[place]
    found = multiple_of(Guard(low, np.zeros(8)), delta, axes, order)
    size = np.abs(delta).sum(axis=0)
    assert (np.abs(found.rest).sum(axis=0) < 1e-2 * size).all()
    assert found.middle == pytest.approx(factor[0, 0, 0], abs=2e-2)

    # Whatever the factor is, Δ − rest is a multiple of the guard: it vanishes where the guard does.
    other = delta + rng.normal(size=delta.shape)
    found = multiple_of(Guard(low, np.zeros(8)), other, axes, order)
    at = points.copy()
    for _ in range(12):  # on the guard, by Newton's method along the last axis
        step = 1e-6
        here = values(low, listed, at)
        moved = at.copy()
        moved[..., -1] += step
        at[..., -1] -= here / ((values(low, listed, moved) - here) / step)
    inside = (np.abs(at[..., -1]) <= 1) & (np.abs(values(low, listed, at)) < 1e-12)
    distance = np.abs(values(other - found.rest, listed, at))
    assert inside.any()
    assert (distance[inside] <= np.broadcast_to(found.spread, distance.shape)[inside] + 1e-9).all()
