"""Where to cut a slab so that a guard runs along its ends.

Nothing of this needs to hold but that the cut lies inside of the slab, which is made certain.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from residuum.analysis.expansions import exponents
from residuum.analysis.slabs import SURFACE_ORDER, Slabs, is_above
from residuum.analysis.truncated import ORDER, Truncated
from residuum.relaxations.arrays import Array

NODES = SURFACE_ORDER + 1
"""Places along each axis of the base at which the root of a guard is found."""

STEPS = 10
"""Steps of Newton's method."""

FARTHEST = 4.0
"""Roots are sought no farther from the middle, where the ends are at 1."""

NEAR_END = 0.99
"""A root that stays beyond this is at the end already."""

WEDGE = 0.75
"""How much the height of a part may vary, as a share of that in the middle."""

ISOLATED = 0.4
"""A root that stays beyond this is cut off together with twice the height above it."""

STEEPEST = 2.0
"""How much of a slab's height a root may cross along an axis for that axis to be halved."""

ROUGHNESS = 1e-12
"""Surfaces are taken to be off by more than rounding does to guards."""


class Advice(NamedTuple):
    """Whether to cut each slab and where; or how much the root varies along each axis of the base.

    A root that leaves the slab, and is not too steep, `exits`.
    """

    cuts: Any
    surface: Array
    exits: Any
    tilt: Array


def advise(slabs: Slabs, guard: Truncated, positive: bool) -> Advice:
    """Return where to cut slabs along the root of a guard.

    The cut is moved off the root a little, so that the guard is decided on one side: where it is
    positive, or else where it is negative.
    """
    axes = guard.axes
    root, rising, found = _root(guard)
    _, values, fit = _places(axes)
    middle, half = slabs.middle, slabs.half
    heights = values @ middle + (values @ half) * root
    surface = fit @ heights
    spread = 4 * np.abs(values @ surface - heights).max(axis=0) + ROUGHNESS
    surface[0] += np.where(rising ^ positive, -spread, spread)

    low, high = root.min(axis=0), root.max(axis=0)
    inside = found & (high < NEAR_END) & (low > -NEAR_END)
    for gap in (surface - slabs.bottom, slabs.top - surface):
        inside &= WEDGE * gap[0] > np.abs(gap[1:]).sum(axis=0)
    within = found & ~inside & (low < NEAR_END) & (high > -NEAR_END)
    upper, lower = within & (low > ISOLATED), within & (high < -ISOLATED)
    level = middle + np.where(upper, 2 * low - 1, np.where(lower, 2 * high + 1, 0.0)) * half
    surface = np.where(inside, surface, level)
    between = is_above(surface - slabs.bottom, slabs.off) & is_above(slabs.top - surface, slabs.off)
    tilt = _tilt(root, axes)
    exits = within & ~upper & ~lower & (tilt.max(axis=0) < STEEPEST)
    return Advice((inside | upper | lower) & between, surface, exits, tilt)


def _tilt(root: Array, axes: int) -> Array:
    """Return how much a root varies along each axis of the base, as a share of the height."""
    grid = np.clip(root, -2, 2).reshape(*[NODES] * (axes - 1), -1)
    steps = [np.abs(np.diff(grid, axis=axis)) for axis in range(axes - 1)]
    sums = np.stack([one.reshape(-1, root.shape[1]).sum(axis=0) for one in steps])
    tilt: Array = sums / (2 * NODES ** (axes - 2))
    return tilt


def _root(guard: Truncated) -> tuple[Array, Any, Any]:
    """Return w at which a guard vanishes, whether it rises, and whether that is clear."""
    polynomials = [values @ guard.coefficients[rows] for rows, values in _by_power(guard.axes)]
    root = np.zeros(polynomials[0].shape)
    step = root
    for _ in range(STEPS):
        value, slope = np.zeros_like(root), np.zeros_like(root)
        for coefficients in reversed(polynomials):
            slope = slope * root + value
            value = value * root + coefficients
        step = value / slope
        root = np.clip(root - step, -FARTHEST, FARTHEST)
    settled = ((np.abs(step) < 1e-9) | (np.abs(root) == FARTHEST)).all(axis=0)
    one_way = (slope > 0).all(axis=0) | (slope < 0).all(axis=0)
    return root, slope[0] > 0, settled & one_way


@cache
def _places(axes: int) -> tuple[Array, Array, Array]:
    """Return places in the base, the matrix of surfaces there, and the one that fits surfaces."""
    line = np.cos((np.arange(NODES) + 0.5) * np.pi / NODES)
    places = np.array(list(itertools.product(line, repeat=axes - 1)))
    values = _monomials(places, exponents(axes - 1, SURFACE_ORDER))
    return places, values, np.linalg.pinv(values).astype(np.float64)


def _monomials(places: Array, listed: Any) -> Array:
    return np.stack([np.prod(places ** np.array(k), axis=1) for k in listed], axis=1)


@cache
def _by_power(axes: int) -> list[tuple[Any, Array]]:
    """Return, for each power of w, the rows of coefficients and their monomials at the places."""
    places, _, _ = _places(axes)
    listed = exponents(axes, ORDER)
    found = []
    for power in range(ORDER + 1):
        rows = [i for i, k in enumerate(listed) if k[-1] == power]
        found.append((np.array(rows), _monomials(places, [listed[i][:-1] for i in rows])))
    return found
