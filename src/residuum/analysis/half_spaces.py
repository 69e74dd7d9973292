"""The mean of a polynomial over the part of each box that lies on one side of a plane.

The slopes of the plane must rise from axis to axis, in absolute value.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np

from residuum.analysis.expansions import exponents
from residuum.relaxations.arrays import Array

FLATTEST = 2.0**-12
"""Slopes that are a smaller share of the steepest one must be given as 0."""

ROUNDING = 1e-12
"""How far rounding can move the mean, as a share of the sum S of absolute coefficients.

In units of ε = 2⁻⁵³, with n ≤ 5 axes and an order k ≤ 5, for each axis but the last:

- Horner's scheme in `_collapse`: 2k.
- The rule's 4 weights, off by 4 each, and their sum, up to 17 intervals: 2 (4 + 4) + 17 + 3 < 40.
- Its places, off by 5 after two more operations. Slopes rise, so that the plane moves no faster
  along a later axis than along this one, and what is integrated changes by (k + 1) S at most, per
  unit and as a mean over the later axes: 5 · 6 = 30.
- The offset of the rest, off by 2 (|offset| + |slope|). Where the plane cuts the box the offset is
  at most n times the steepest slope, and so the plane is off by 2 (n + 1) = 12.

On the last axis there are 3 operations for each power at both ends: 6 (k + 1) < 40. All of it stays
below 4 · 92 + 40 < 450, which is 5e-14.

The ends of intervals are off by δ: up to 50 roundings of the steepest slope over a slope that is
`FLATTEST` times as large, δ < 3e-11. The integrands on both sides of an end agree there, and leave
each other at a rate of at most 2 (k + 1) S = 12 S. Places of the rule keep away from the ends by
1/16 of the interval. So one that is longer than 16 δ is off by 12 δ² S, as both integrands are
polynomials, and a shorter one by 16 δ · 12 · 32 δ S: less than 1e-17 S, for each of up to 17 on
every axis.
"""

SURFACE_ORDER = 4
"""The total degree of what is integrated along the plane itself."""

SURFACE_ROUNDING = 1e-7
"""The same for that, as a share of its absolute coefficients.

It begins at once where the plane enters the box, so that an end that is off by δ counts as δ, and
an interval shorter than 16 δ as itself: 4 · 17 · 16 δ < 4e-8 on all axes. A plane along an end, up
to rounding, may be taken for inside or outside.
"""


def mean_above(
    coefficients: Array, order: int, slopes: Array, offset: Array, surface: Array | None = None
) -> Array:
    """Return ∫ polynomial · [offset + slopes · u > 0] du / 2ⁿ over u ∈ [−1, 1]ⁿ.

    To that is added the mean of another polynomial, `surface`, in all axes but the last, over where
    the plane crosses the last one inside of the box. Coefficients stand in the order of
    `exponents`. Along each axis the integral over the steeper ones is a polynomial between the
    places where a corner of the rest crosses the plane, so that Gauss's rule is exact there.
    """
    twice = None if surface is None else 2 * surface
    return _integral(coefficients, order, slopes, offset, twice) / 2.0 ** len(slopes)


def _integral(
    polynomial: Array, order: int, slopes: Array, offset: Array, surface: Array | None
) -> Array:
    """Integrate over the first axis what integrating over the others leaves."""
    slope, rest = slopes[0], slopes[1:]
    if len(rest) == 0:
        return _on_a_line(polynomial, slope, offset, surface)
    lower, upper = _intervals(slope, rest, offset)
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    highest = offset + slope * middle + np.abs(rest).sum(axis=0)
    interval, box = np.nonzero((half > 0) & (highest > 0))
    # As a function of this place the rest is a polynomial of degree order + len(rest), or for the
    # surface of one less.
    degree = order if surface is None else max(order, SURFACE_ORDER - 1)
    nodes, weights = _gauss((degree + len(rest)) // 2 + 1)
    at = middle[interval, box] + nodes[:, None] * half[interval, box]
    every = np.tile(box, len(nodes))
    inner = _integral(
        _collapse(polynomial[:, box], order, len(slopes), at),
        order,
        rest[:, every],
        offset[every] + slope[every] * at.ravel(),
        None if surface is None else _collapse(surface[:, box], SURFACE_ORDER, len(rest), at),
    )
    parts = weights @ inner.reshape(at.shape) * half[interval, box]
    total: Array = np.bincount(box, weights=parts, minlength=len(offset)).astype(float)
    return total


@cache
def _gauss(points: int) -> Any:
    return np.polynomial.legendre.leggauss(points)


def _intervals(slope: Array, rest: Array, offset: Array) -> tuple[Array, Array]:
    """Return the ends of intervals of [−1, 1] within which no corner crosses the plane."""
    steep = np.where(slope == 0, 1.0, slope)
    places = [np.full(offset.shape, -1.0)]
    for signs in itertools.product((-1, 1), repeat=len(rest)):
        corner = offset + sum(sign * one for sign, one in zip(signs, rest, strict=True))
        places.append(np.where(slope == 0, 1.0, np.clip(-corner / steep, -1, 1)))
    places.append(np.full(offset.shape, 1.0))
    sorted_places = np.sort(np.stack(places), axis=0)
    return sorted_places[:-1], sorted_places[1:]


def _collapse(polynomial: Array, order: int, axes: int, at: Array) -> Array:
    """Return the polynomial in the other axes once the first is at each of these places."""
    result = np.empty((len(exponents(axes - 1, order)), *at.shape))
    for place, rows in enumerate(_by_others(axes, order)):
        value = polynomial[rows[-1]]
        for row in reversed(rows[:-1]):
            value = value * at + polynomial[row]
        result[place] = value
    return result.reshape(len(result), at.size)


@cache
def _by_others(axes: int, order: int) -> tuple[tuple[int, ...], ...]:
    """Return the places of monomials that differ in the first axis only, lowest power first."""
    place = {k: i for i, k in enumerate(exponents(axes, order))}
    return tuple(
        tuple(place[first, *others] for first in range(order + 1 - sum(others)))
        for others in exponents(axes - 1, order)
    )


def _on_a_line(polynomial: Array, slope: Array, offset: Array, surface: Array | None) -> Array:
    """Integrate a polynomial in one variable over the part of [−1, 1] above the plane.

    To that is added the surface's value where the plane lies inside.
    """
    steep = np.where(slope == 0, 1.0, slope)
    root = np.where(slope == 0, -np.sign(offset), np.clip(-offset / steep, -1, 1))
    # Where the slope is 0 the whole line lies on one side: from −1 to 1, or from 1 to 1.
    lower = np.where(slope >= 0, root, -1.0)
    upper = np.where(slope >= 0, 1.0, root)
    above, below = np.zeros(offset.shape), np.zeros(offset.shape)
    for power in range(len(polynomial) - 1, -1, -1):
        share = polynomial[power] / (power + 1)
        above, below = (above + share) * upper, (below + share) * lower
    if surface is None:
        return above - below
    return above - below + np.where(np.abs(root) < 1, surface[0], 0.0)
