"""Guards and the planes in their place, at random points."""

import numpy as np
import pytest

from residuum.analysis.expansions import exponents
from residuum.analysis.factors import factored
from residuum.analysis.planes import Curve, Plane, plane_for, straightened


def values(coefficients, listed, points):
    """Return polynomials, one for each box, at points of each: rows of the result."""
    monomials = np.stack([np.prod(points ** np.array(k), axis=-1) for k in listed], axis=-1)
    return np.einsum("pbk,kb->pb", monomials, coefficients)


def random_guards(axes, order, number, bends):
    rng = np.random.default_rng(axes)
    listed = exponents(axes, order)
    sizes = np.array([1.0 if sum(k) < 2 else bends ** (sum(k) - 1) for k in listed])
    low = rng.normal(size=(len(listed), number)) * sizes[:, None]
    return Curve(low, np.zeros(number)), rng.uniform(-1, 1, size=(40, number, axes))


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
@pytest.mark.parametrize("bends", [0.05, 0.5])
def test_straightened_guards_have_the_same_sign_and_bend_only_across(axes, bends):
    order = 5
    guard, points = random_guards(axes, order, 40, bends)
    straight = straightened(guard, axes, order)
    listed = exponents(axes, order)
    before, after = (values(one.low, listed, points) for one in (guard, straight))
    certain = np.abs(after) > straight.missing
    assert (np.sign(before) == np.sign(after))[certain].all()
    assert certain.mean() > 0.5
    steepest = np.argmax(np.abs(guard.low[1 : axes + 1]), axis=0)
    along = np.array([[sum(k) == 2 and k[w] > 0 for k in listed] for w in steepest]).T
    flat = (np.abs(np.where(along, straight.low, 0.0)) < 1e-12).all(axis=0)
    changed = (straight.low != guard.low).any(axis=0)
    assert flat[changed].all()
    assert changed.mean() > (0.9 if bends < 0.1 else 0.05)


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_a_guard_is_a_plane_and_what_it_bends_and_something_small(axes):
    order = 4
    guard, points = random_guards(axes, order, 60, 0.3)
    steep = np.argsort(np.abs(guard.low[1 : axes + 1]), axis=0)
    guard.low[1 : axes + 1] = np.take_along_axis(guard.low[1 : axes + 1], steep, axis=0)
    beyond = np.abs(guard.low[len(exponents(axes, 2)) :]).sum(axis=0)
    plane = plane_for(guard.low, beyond, axes, order)
    flat = plane.offset + np.einsum("pba,ab->pb", points, plane.slopes)
    bend = values(plane.bend, exponents(axes - 1, 2), points[..., :-1])
    off = values(guard.low, exponents(axes, order), points) - flat - bend
    assert (np.abs(off) <= plane.off).all()
    assert (np.abs(off).max(axis=0) > 0.05 * plane.off).all()


@pytest.mark.parametrize("rest", [0.0, 0.003, 0.2])
def test_what_lies_between_a_plane_and_a_guard_is_held(rest):
    # g = offset + slope u + w + bend (u² − 1/2) + R, with R = ± rest, along 20,000 columns.
    rng = np.random.default_rng(0)
    u = (np.arange(20_000) + 0.5) / 10_000 - 1
    sharp = 0
    for _ in range(200):
        offset, slope, bend = rng.uniform(-1, 1, 3) * (2.0, 1.0, rng.choice((0.02, 0.3)))
        plane = Plane(
            np.array([offset]),
            np.array([[slope], [1.0]]),
            np.array([[-bend / 2], [0.0], [bend]]),
            np.array([rest]),
        )
        gap = plane.gap()
        moved = bend * (u**2 - 0.5) + rng.choice((-1, 1)) * rest
        foot = offset + slope * u
        # Signs differ between the roots −foot and −foot − moved; there ∫ g dw is half of g².
        ends = np.clip([-foot, -foot - moved], -1, 1)
        at_ends = (ends + foot + moved) ** 2
        found = np.abs(at_ends[0] - at_ends[1]).mean() / 4
        surface = gap.surface[0] + gap.surface[2] * u**2 + gap.surface[4] * u**4
        expected = np.where(np.abs(foot) < 1, surface, 0.0).mean() + gap.centre[0]
        grid = 1e-4 * (abs(bend) + rest) ** 2
        assert abs(found - expected) <= gap.error[0] + grid
        assert found <= gap.most[0] + grid
        length = gap.lengths[()][0]
        assert np.abs(ends[0] - ends[1]).max() / 2 <= length
        bounded = plane.gap(with_surface=False)
        assert (bounded.surface == 0).all()
        assert abs(found - bounded.centre[0]) <= bounded.error[0] + grid
        sharp += gap.error[0] < gap.most[0] / 4
    if rest == 0:
        assert sharp > 20


def test_a_multiple_of_a_guard_is_found_and_what_is_not_stays_in_the_rest():
    axes, order = 3, 5
    guard, points = random_guards(axes, 2, 8, 0.1)
    guard.low[3] = 3.0 + np.abs(guard.low[3])
    listed = exponents(axes, order)
    low = np.zeros((len(listed), 8))
    low[: len(guard.low)] = guard.low
    rng = np.random.default_rng(0)
    factor = {k: rng.normal(size=8) * 0.1 ** sum(k) for k in exponents(axes, 2)}
    delta = np.zeros_like(low)
    for k, value in factor.items():
        for place, m in enumerate(exponents(axes, 2)):
            delta[listed.index(tuple(np.add(k, m)))] += value * guard.low[place]
    found = factored(delta, Curve(low, np.zeros(8)), axes, order)
    size = np.abs(delta).sum(axis=0)
    assert (np.abs(found.rest).sum(axis=0) < 1e-2 * size).all()
    assert found.middle == pytest.approx(factor[0, 0, 0], abs=2e-2)

    # Whatever the factor is, Δ − rest is a multiple of the guard: it vanishes where the guard does.
    other = delta + rng.normal(size=delta.shape)
    found = factored(other, Curve(low, np.zeros(8)), axes, order)
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
