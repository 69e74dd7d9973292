"""Polynomials on slabs, and parts of slabs, against exact fractions at random points."""

import random
from fractions import Fraction

import flint
import numpy as np
import pytest
from test_expansions import exact_at, local_at, random_polynomial, random_u

from residuum.analysis.expansions import Boxes, exponents, from_exact
from residuum.analysis.slabs import SURFACE_ORDER, Slabs, is_above, over
from residuum.analysis.truncated import ORDER

AXES = 3
SURFACE = exponents(AXES - 1, SURFACE_ORDER)


def random_slabs(rng, vertical, count):
    """Return small slabs inside of the cube, whose surfaces are anything but flat."""
    halves = np.array([[2.0 ** -rng.randint(3, 6) for _ in range(count)] for _ in range(2)])
    centres = halves * np.array(
        [[2 * rng.randrange(int(0.5 / h)) + 1 for h in row] for row in halves]
    )
    bottom, top = (
        np.array(
            [[rng.uniform(-1, 1) * 0.02 * 0.3 ** sum(k) for _ in range(count)] for k in SURFACE]
        )
        for _ in range(2)
    )
    bottom[0] = [rng.uniform(0.1, 0.8) for _ in range(count)]
    top[0] = bottom[0] + [rng.uniform(0.1, 0.15) for _ in range(count)]
    return Slabs(vertical, Boxes(centres, halves), bottom, top, np.zeros(count))


def surface_at(coefficients, u):
    return local_at(coefficients, SURFACE, u)


def point(slabs, slab, u, w):
    """Return the place in the cube of coordinates in a slab."""
    low, high = (surface_at(one[:, slab], u) for one in (slabs.bottom, slabs.top))
    base = [
        Fraction(float(c)) + Fraction(float(h)) * x
        for c, h, x in zip(
            slabs.bases.centres[:, slab], slabs.bases.halves[:, slab], u, strict=True
        )
    ]
    base.insert(slabs.vertical, (low * (1 - w) + high * (1 + w)) / 2)
    return base


@pytest.mark.parametrize("vertical", range(AXES))
def test_polynomials_on_slabs_are_off_by_no_more_than_they_say(vertical):
    rng = random.Random(vertical)
    listed = exponents(AXES, ORDER)
    for _ in range(8):
        exact = random_polynomial(rng, AXES, 3)
        scale = max(abs(Fraction(int(c.p), int(c.q))) for _, c in exact.terms())
        slabs = random_slabs(rng, vertical, 4)
        found, integrand = (
            slabs.expand(from_exact(exact)),
            slabs.integrand(from_exact(exact)),
        )
        assert (found.error < 1e-3).all()
        assert (integrand.error < 1e-4).all()
        for slab in range(4):
            *u, w = random_u(rng, AXES)
            true = exact_at(exact, point(slabs, slab, u, w)) / scale
            low, high = (surface_at(one[:, slab], u) for one in (slabs.bottom, slabs.top))
            for one, value in ((found, true), (integrand, true * (high - low) / 2)):
                distance = abs(local_at(one.coefficients[:, slab], listed, (*u, w)) - value)
                assert distance <= Fraction(float(one.error[slab]))


def test_powers_beyond_the_order_are_part_of_the_error():
    x, _, z = flint.fmpq_mpoly_ctx.get(("x0", "x1", "x2"), "lex").gens()
    boxes = Boxes(np.full((AXES, 1), 0.5), np.full((AXES, 1), 0.5))
    exact = x**8 + z
    found = over(boxes, 2).expand(from_exact(exact))
    corner = [Fraction(1)] * AXES
    value = local_at(found.coefficients[:, 0], exponents(AXES, ORDER), corner)
    assert abs(value - exact_at(exact, corner)) <= Fraction(float(found.error[0]))
    assert found.error[0] < 0.1


def test_what_is_expanded_in_full_is_exact_up_to_rounding():
    rng = random.Random(7)
    slabs = random_slabs(rng, 1, 3)
    flat = slabs._replace(top=slabs.top * (np.arange(len(SURFACE)) < 3)[:, None])
    flat = flat._replace(bottom=flat.bottom * (np.arange(len(SURFACE)) < 3)[:, None])
    found = flat.expand(from_exact(random_polynomial(rng, AXES, 1)))
    assert (found.error < 1e-13).all()


def test_the_height_adds_up_to_the_volume():
    context_one = from_exact(random_polynomial(random.Random(0), AXES, 0, constant=1))
    boxes = Boxes(np.full((AXES, 1), 0.5), np.full((AXES, 1), 0.5))
    slabs = over(boxes, 2)
    for axis in (0, 2, 1, 2):
        slabs = slabs.halved(axis)
    total = (slabs.integrand(context_one).mean() * slabs.volumes).sum()
    assert slabs.number == 16
    assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("axis", [0, 1])
def test_surfaces_of_halves_are_those_of_the_whole(axis):
    rng = random.Random(axis)
    slabs = random_slabs(rng, 2, 3)
    halves = slabs.halved(axis)
    assert halves.bases.halves[axis] == pytest.approx(np.tile(slabs.bases.halves[axis] / 2, 2))
    for slab in range(3):
        for side, half in ((-1, slab), (1, slab + 3)):
            u = random_u(rng, AXES - 1)
            outer = list(u)
            outer[axis] = (side + u[axis]) / 2
            for whole, part in ((slabs.bottom, halves.bottom), (slabs.top, halves.top)):
                distance = abs(surface_at(whole[:, slab], outer) - surface_at(part[:, half], u))
                assert distance <= Fraction(float(halves.off[half]))
            assert halves.off[half] < 1e-14


def test_parts_above_and_below_share_the_surface_between_them():
    slabs = random_slabs(random.Random(3), 0, 4)
    for parts in (slabs.halved(AXES - 1), slabs.cut(slabs.middle + slabs.half / 2)):
        assert (parts.bottom[:, :4] == slabs.bottom).all()
        assert (parts.top[:, :4] == parts.bottom[:, 4:]).all()
        assert (parts.top[:, 4:] == slabs.top).all()


def test_a_surface_is_above_another_only_where_it_is_so_everywhere():
    rng = random.Random(5)
    told = 0
    for _ in range(300):
        gap = np.array([[rng.uniform(-1, 1) * 0.3 ** sum(k)] for k in SURFACE])
        if is_above(gap, np.zeros(1))[0]:
            told += 1
            assert all(surface_at(gap[:, 0], random_u(rng, AXES - 1)) > 0 for _ in range(5))
    assert told > 20
