"""The mean of a polynomial over the part of each box where a guard is positive.

The guard g is replaced by a plane ℓ, g = ℓ + q. Where their signs differ, |ℓ| + |g| ≤ |q|: a thin
slab. A difference of two cases that fit together vanishes with the guard, Δ ≈ λg, so that little is
lost there. Nothing of this needs to hold: the remainder of Δ is bounded, whatever it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from residuum.analysis import half_spaces
from residuum.analysis.expansions import ROUNDING, UPWARDS, exponents, variation
from residuum.analysis.truncated import Function
from residuum.relaxations.arrays import Array


class Part(NamedTuple):
    """The mean over a part of each box, how far it may be off, and which axes are to blame."""

    mean: Array
    error: Array
    blame: Array


class Curve(NamedTuple):
    """The coefficients of a guard up to the order of Δ, and a bound of what is missing."""

    low: Array
    missing: Array

    def of(self, which: Any) -> Curve:
        """Return the guard on some of the boxes."""
        return Curve(self.low[:, which], self.missing[which])


def curve(guard: Function, order: int) -> Curve:
    """Return a guard up to an order."""
    beyond = guard.by_degree()[order + 1 :].sum(axis=0)
    return Curve(guard.low(order), (beyond + guard.error) * UPWARDS)


def mean_where_positive(delta: Array, order: int, cut_order: int, guard: Curve, axes: int) -> Part:
    """Return the mean of Δ · [g > 0], with Δ integrated over the plane's side up to `cut_order`."""
    low = guard.low
    ranks = np.argsort(np.abs(low[1 : axes + 1]), axis=0)
    delta, low = _turned(delta, ranks, order), _turned(low, ranks, order)
    sums = _by_degree(axes, order) @ np.abs(low) * UPWARDS
    plane = _plane(low, sums[3:].sum(axis=0) + guard.missing, axes, order)
    steep = np.where(plane.slopes[-1] == 0, 1.0, plane.slopes[-1])

    multiple = _multiple(delta, low, axes, order, steep)
    rest = delta - multiple[0] * low
    for axis, factor in enumerate(multiple[1:]):
        source, target = _raised(axes, order, axis)
        rest[target] -= factor * low[source]
    tilt = np.abs(multiple[1:]).sum(axis=0)
    spread = (
        (np.abs(multiple[0]) + tilt) * guard.missing
        + tilt * sums[order]
        # What rounding did to `rest`: 2 operations for each multiple.
        + 2
        * (axes + 1)
        * ROUNDING
        * (np.abs(delta).sum(axis=0) + (np.abs(multiple[0]) + tilt) * sums.sum(axis=0))
    )
    # Along the steepest axis |ℓ| ≤ |q| holds on a share of |q| / slope, where |g| ≤ |q| − |ℓ|.
    unmatched = plane.mean_gap * spread
    for others, gap in plane.gaps.items():
        unmatched = unmatched + gap * (_mean_products(axes, order, others) @ np.abs(rest))
    unmatched = unmatched / np.abs(steep)
    lost = plane.mean_square_gap / (2 * np.abs(steep))

    kept = len(exponents(axes, cut_order))
    above = half_spaces.mean_above(delta[:kept], cut_order, plane.slopes, plane.offset)
    cut_off = _mean_sizes(axes, order)[kept:] @ np.abs(delta[kept:])
    size = np.abs(delta).sum(axis=0)

    # λ|g| is missing between the plane and the guard: from nothing to λ · lost, so take half.
    mismatch = (np.abs(multiple[0]) / 2 + tilt) * lost
    # Adding the two parts of the mean, and what made the second, rounds 4 times.
    rounding = (half_spaces.ROUNDING + ROUNDING) * size + 4 * ROUNDING * np.abs(multiple[0]) * lost
    error = (mismatch + unmatched + cut_off + rounding) * UPWARDS
    error = np.where((plane.slopes[-1] != 0) & np.isfinite(error), error, np.inf)
    blame = (
        (mismatch + unmatched / 2) * variation(low, axes, order, 2)
        + unmatched / 2 * variation(rest, axes, order)
        + cut_off * variation(delta, axes, order, cut_order + 1)
    )
    blame[-1] += 1e-3 * (mismatch + unmatched)  # a plane too flat along another axis
    unturned = np.empty_like(blame)
    np.put_along_axis(unturned, ranks, blame, axis=0)
    return Part(above + multiple[0] * lost / 2, error, unturned)


class _Plane(NamedTuple):
    offset: Array
    slopes: Array
    gaps: Mapping[tuple[int, ...], Array]
    mean_gap: Array
    mean_square_gap: Array


def _plane(low: Array, bent: Array, axes: int, order: int) -> _Plane:
    """Return the plane that stands for a guard, and the mean of |q| and q² over the other axes.

    |q| is bounded for every value along the steepest axis at once, by a sum of `gaps` times the
    absolute coordinates along the axes that are their keys; u² is 1/2 up to 1/2. All that is not
    of degree 2 or less is at most `bent`.
    """
    place = {k: i for i, k in enumerate(exponents(axes, order))}
    offset, slopes = low[0].copy(), low[1 : axes + 1].copy()
    steepest = np.abs(slopes[-1])
    flat = np.abs(slopes) < half_spaces.FLATTEST * steepest
    everywhere = bent + np.where(flat, np.abs(slopes), 0.0).sum(axis=0)
    slopes[flat] = 0.0
    for axis in range(axes):
        square = low[place[tuple(2 * (axis == other) for other in range(axes))]]
        offset += square / 2
        everywhere = everywhere + np.abs(square) / 2
    # A square was added for each axis; relative to those, `UPWARDS` covers it.
    everywhere = everywhere + (axes + 1) * ROUNDING * np.abs(offset)

    gaps: dict[tuple[int, ...], Array] = {(): everywhere}
    for i, j in itertools.combinations(range(axes), 2):
        product = low[place[tuple(int(axis in (i, j)) for axis in range(axes))]]
        gaps[(i,) if j == axes - 1 else (i, j)] = np.abs(product)
    first, second = np.zeros(len(offset)), np.zeros(len(offset))
    for which, gap in gaps.items():
        first = first + gap * 0.5 ** len(which)
    for (a, left), (b, right) in itertools.product(gaps.items(), repeat=2):
        # The mean of |u| is 1/2, that of u² is 1/3.
        both = len(set(a) & set(b))
        second = second + left * right * 3.0**-both * 0.5 ** (len(a) + len(b) - 2 * both)
    return _Plane(offset, slopes, gaps, first * UPWARDS, second * UPWARDS)


def _multiple(delta: Array, low: Array, axes: int, order: int, steep: Array) -> Array:
    """Return λ and μ such that Δ is about (λ + μ · u) g; any numbers will do."""
    place = {k: i for i, k in enumerate(exponents(axes, order))}
    last = axes - 1
    unit = np.eye(axes, dtype=int)
    squares = place[tuple(2 * unit[last])]
    determinant = low[last + 1] ** 2 - low[0] * low[squares]
    regular = np.abs(determinant) > 1e-3 * low[last + 1] ** 2
    safe = np.where(regular, determinant, 1.0)
    bent = (low[last + 1] * delta[squares] - low[squares] * delta[last + 1]) / safe
    bent = np.where(regular, bent, 0.0)
    multiple = np.zeros((axes + 1, delta.shape[1]))
    multiple[0] = (delta[last + 1] - bent * low[0]) / steep
    multiple[axes] = bent
    for axis in range(last):
        cross = place[tuple(unit[axis] + unit[last])]
        rest = delta[cross] - multiple[0] * low[cross] - bent * low[axis + 1]
        multiple[axis + 1] = np.where(regular, rest / steep, 0.0)
    return multiple


def _turned(coefficients: Array, ranks: Any, order: int) -> Array:
    """Return polynomials with their axes in this order, which may differ from box to box."""
    axes = len(ranks)
    listed = np.array(exponents(axes, order))
    # Exponents as the digits of one number.
    originals = _places_by_digits(axes, order)[listed @ (order + 1) ** ranks]
    turned: Array = np.take_along_axis(coefficients, originals, axis=0)
    return turned


@cache
def _places_by_digits(axes: int, order: int) -> Any:
    places = np.zeros((order + 1) ** axes, dtype=int)
    digits = (order + 1) ** np.arange(axes)
    for place, k in enumerate(exponents(axes, order)):
        places[np.array(k) @ digits] = place
    return places


@cache
def _raised(axes: int, order: int, axis: int) -> tuple[Any, Any]:
    """Return the places of monomials below the order, and of the same times one coordinate."""
    place = {k: i for i, k in enumerate(exponents(axes, order))}
    below = [k for k in exponents(axes, order) if sum(k) < order]
    raised = [(*k[:axis], k[axis] + 1, *k[axis + 1 :]) for k in below]
    return np.array([place[k] for k in below]), np.array([place[k] for k in raised])


@cache
def _by_degree(axes: int, order: int) -> Array:
    """Return the matrix that adds up terms of each total degree."""
    totals = np.array([sum(k) for k in exponents(axes, order)])
    matches: Array = (totals == np.arange(order + 1)[:, None]).astype(float)
    return matches


@cache
def _mean_sizes(axes: int, order: int) -> Array:
    """Return the mean of each monomial's absolute value."""
    return np.array([1 / math.prod(e + 1 for e in k) for k in exponents(axes, order)])


@cache
def _mean_products(axes: int, order: int, others: tuple[int, ...]) -> Array:
    """Return the mean of each monomial times these coordinates, where the last one may be 1."""
    return np.array(
        [
            1 / math.prod(e + (axis in others) + 1 for axis, e in enumerate(k[:-1]))
            for k in exponents(axes, order)
        ]
    )
