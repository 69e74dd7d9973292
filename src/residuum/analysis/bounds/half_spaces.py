"""The mean of a polynomial over the part of each box that lies on one side of a plane.

The slopes of the plane must rise from axis to axis, in absolute value. The README of this folder
derives the bounds of rounding.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np

from residuum.analysis.bounds.expansions import exponents
from residuum.relaxations.arrays import Array

FLATTEST = 2.0**-12
"""The least ratio of a slope to the steepest one. Smaller slopes must be given as 0."""

ROUNDING = 1e-12
"""The largest error by rounding, relative to the coefficients, for up to 5 axes and degree 5."""


def mean_above(coefficients: Array, order: int, slopes: Array, offset: Array) -> Array:
    """Return ∫ polynomial · [offset + slopes · u > 0] du / 2ⁿ over u ∈ [−1, 1]ⁿ.

    Along each axis the integral over the steeper ones is a polynomial between the places where a
    corner of the rest crosses the plane, so that Gauss's rule is exact there.
    """
    return _integral(coefficients, order, slopes, offset) / 2.0 ** len(slopes)


def _integral(polynomial: Array, order: int, slopes: Array, offset: Array) -> Array:
    """Integrate over the first axis the integral over the others."""
    slope, rest = slopes[0], slopes[1:]
    if len(rest) == 0:
        return _on_a_line(polynomial, slope, offset)
    lower, upper = _intervals(slope, rest, offset)
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    highest = offset + slope * middle + np.abs(rest).sum(axis=0)
    interval, box = np.nonzero((half > 0) & (highest > 0))
    # The integral over the rest is a polynomial of degree order + len(rest) in this place.
    nodes, weights = _gauss((order + len(rest)) // 2 + 1)
    at = middle[interval, box] + nodes[:, None] * half[interval, box]
    every = np.tile(box, len(nodes))
    inner = _integral(
        _collapse(polynomial[:, box], order, len(slopes), at),
        order,
        rest[:, every],
        offset[every] + slope[every] * at.ravel(),
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
    """Return the polynomial in the other axes with the first axis at each of these places."""
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


def _on_a_line(polynomial: Array, slope: Array, offset: Array) -> Array:
    """Integrate a polynomial in one variable over the part of [−1, 1] above the plane."""
    steep = np.where(slope == 0, 1.0, slope)
    root = np.where(slope == 0, -np.sign(offset), np.clip(-offset / steep, -1, 1))
    # With a slope of 0 the whole line lies on one side: the ends are −1 and 1, or 1 and 1.
    lower = np.where(slope >= 0, root, -1.0)
    upper = np.where(slope >= 0, 1.0, root)
    above, below = np.zeros(offset.shape), np.zeros(offset.shape)
    for power in range(len(polynomial) - 1, -1, -1):
        share = polynomial[power] / (power + 1)
        above, below = (above + share) * upper, (below + share) * lower
    return above - below
