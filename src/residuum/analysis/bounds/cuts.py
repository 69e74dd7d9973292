"""The mean of a polynomial Δ over the part of each box where a guard g is positive.

A plane takes the place of the guard. Where two cases fit together, their difference vanishes with
the guard: Δ = k g + rest, with a small rest. So Δ is small where the signs of the plane and of the
guard differ. The README of this folder has the mathematics.
"""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from residuum.analysis.bounds import half_spaces
from residuum.analysis.bounds.expansions import (
    ROUNDING,
    UPWARDS,
    Expansion,
    degree_indicator,
    exponents,
    variation,
)
from residuum.relaxations.arrays import Array

MOST_TILTED = 3 / 4
"""How far the factor that straightens a guard may be from 1."""

FACTOR_ORDER, FACTOR_ROUNDS = 2, 3
"""The total degree of k, and the number of rounds in which its terms are computed."""


class Guard(NamedTuple):
    """The coefficients of a guard up to a total degree, and a bound of the rest."""

    coefficients: Array
    missing: Array

    def of(self, which: Any) -> Guard:
        """Return the guard on the boxes with these indices."""
        return Guard(self.coefficients[:, which], self.missing[which])


def guard_of(expansion: Expansion, order: int) -> Guard:
    """Return a guard up to a total degree, with a bound of its other terms."""
    beyond = expansion.by_degree()[order + 1 :].sum(axis=0)
    return Guard(expansion.up_to(order), (beyond + expansion.error) * UPWARDS)


class PartMean(NamedTuple):
    """The mean over a part of each box, its error, and how much each axis causes of the error."""

    mean: Array
    error: Array
    blame: Array


def mean_where_positive(delta: Array, guard: Guard, axes: int, order: int) -> PartMean:
    """Return the mean of Δ · [g > 0] over each box; both have this order."""
    guard = straightened(guard, axes, order)
    # The steepest axis, w, comes last.
    ranks = np.argsort(np.abs(guard.coefficients[1 : axes + 1]), axis=0)
    delta = _turned(delta, ranks, order)
    guard = Guard(_turned(guard.coefficients, ranks, order), guard.missing)
    plane = plane_for(guard, axes, order)
    multiple = multiple_of(guard, delta, axes, order)
    within, share = plane.gap()

    above = half_spaces.mean_above(delta, order, plane.slopes, plane.offset)
    mismatch = (np.abs(multiple.middle) + multiple.tilt) * within
    unmatched = share * (_mean_across(axes, order) @ np.abs(multiple.rest) + multiple.spread)
    rounding = 2 * half_spaces.ROUNDING * np.abs(delta).sum(axis=0)
    # Where the signs differ Δ is about k |g|. Half of what this may add is counted.
    centre = multiple.middle * within / 2
    error = (mismatch - np.abs(centre) + unmatched + rounding) * UPWARDS
    error = np.where((plane.slopes[-1] != 0) & np.isfinite(error), error, np.inf)
    blame = (mismatch + unmatched / 2) * variation(guard.coefficients, axes, order, 2)
    blame += unmatched / 2 * variation(multiple.rest, axes, order)
    blame[-1] += 1e-3 * (mismatch + unmatched)  # the plane is too flat along another axis
    unturned = np.empty_like(blame)
    np.put_along_axis(unturned, ranks, blame, axis=0)
    return PartMean(above + centre, error, unturned)


def straightened(guard: Guard, axes: int, order: int) -> Guard:
    """Return a guard times 1 − τ · u > 0 such that the coefficients of w² and of each u w vanish.

    Here w is the steepest axis. Where the factor is not certain to be positive, τ = 0.
    """
    low, boxes = guard.coefficients, np.arange(guard.coefficients.shape[1])
    slopes = low[1 : axes + 1]
    steepest = np.argmax(np.abs(slopes), axis=0)
    steep = _nonzero(slopes[steepest, boxes])
    crossed = low[_squares(axes, order)[:, steepest], boxes]
    own = crossed[steepest, boxes] / steep
    tilts = (crossed - own * slopes) / steep
    tilts[steepest, boxes] = own
    tilts = np.where(np.abs(tilts).sum(axis=0) < MOST_TILTED, tilts, 0.0)
    straight = low.copy()
    for axis, unit in enumerate(exponents(axes, 1)[1:]):
        target = _raised(axes, order, unit)
        straight[target] -= tilts[axis] * low[: len(target)]
    sums, tilt = _by_degree(low, axes, order), np.abs(tilts).sum(axis=0)
    missing = guard.missing * (1 + tilt) + tilt * sums[order]
    # Each coefficient is rounded twice for each axis, and grows by a factor of at most 1 + τ.
    missing = missing + 4 * axes * ROUNDING * sums.sum(axis=0)
    return Guard(straight, missing * UPWARDS)


class Plane(NamedTuple):
    """A plane ℓ for a guard ℓ + Q(u) + R: `bend` is Q, of degree 2, and `off` bounds |R|.

    The slopes rise from axis to axis in absolute value, and u leaves out the last axis.
    """

    offset: Array
    slopes: Array
    bend: Array
    off: Array

    def gap(self) -> tuple[Array, Array]:
        """Bound the mean of |g| over the places where the signs of plane and guard differ.

        Bound also the share of w in which they differ, for any u.
        """
        steep, axes = np.abs(_nonzero(self.slopes[-1])), len(self.slopes) - 1
        # u² is 1/2 up to 1/2, as in `plane_for`. The mean of |u| is 1/2.
        average, largest = np.zeros((2, len(self.off)))
        first = len(exponents(axes, 1))
        for k, row in zip(exponents(axes, 2)[first:], self.bend[first:], strict=True):
            size = np.abs(row) / 2 if max(k) == 2 else np.abs(row)
            average, largest = average + size / (1 if max(k) == 2 else 4), largest + size
        within = (average * largest / 4 + (average + self.off) * self.off / 2) / steep
        return within * UPWARDS, (largest + 2 * self.off) / (2 * steep) * UPWARDS


def plane_for(guard: Guard, axes: int, order: int) -> Plane:
    """Return the plane in place of a guard whose last axis is the steepest."""
    low = guard.coefficients
    offset, slopes = low[0].copy(), low[1 : axes + 1].copy()
    flat = np.abs(slopes) < half_spaces.FLATTEST * np.abs(slopes[-1])
    off = _by_degree(low, axes, order)[3:].sum(axis=0) + guard.missing
    off = off + np.where(flat, np.abs(slopes), 0.0).sum(axis=0)
    slopes[flat] = 0.0
    place = {k: i for i, k in enumerate(exponents(axes - 1, 2))}
    bend = np.zeros((len(place), len(offset)))
    for i, j in itertools.combinations_with_replacement(range(axes), 2):
        product = low[_squares(axes, order)[i, j]]
        if i == j:  # a square is 1/2 up to 1/2
            offset += product / 2
        if j < axes - 1:
            bend[place[tuple((a == i) + (a == j) for a in range(axes - 1))]] = product
            bend[0] -= product / 2 if i == j else 0.0
        else:
            off = off + np.abs(product) / (2 if i == j else 1)
    # A square was added to the offset, and to Q, for each axis.
    rounded = 2 * (axes + 1) * ROUNDING * (np.abs(offset) + np.abs(bend).sum(axis=0))
    return Plane(offset, slopes, bend, (off + rounded) * UPWARDS)


class Multiple(NamedTuple):
    """Δ = k g + rest, up to `spread`; k differs from its value `middle` at 0 by at most `tilt`."""

    middle: Array
    tilt: Array
    rest: Array
    spread: Array


def multiple_of(guard: Guard, delta: Array, axes: int, order: int) -> Multiple:
    """Return Δ as a multiple k of a guard whose last axis is the steepest, and the rest.

    The coefficients of Δ that have one w more than a term of k determine that term. Terms of
    other degrees matter where g is not 0 in the middle; a few rounds take them into account. The
    rest is bounded, so that any k is valid.
    """
    low = guard.coefficients
    size, steep = np.abs(delta).sum(axis=0), _nonzero(low[axes])
    factor = np.zeros((len(exponents(axes, FACTOR_ORDER)), delta.shape[1]))
    for _ in range(FACTOR_ROUNDS):
        for place, target, products in _division(axes, order):
            value = delta[target].copy()
            for row, other in products:
                value -= low[row] * factor[other]
            factor[place] = value / steep
    rest = delta - factor[0] * low
    for place, k in enumerate(exponents(axes, FACTOR_ORDER)[1:], start=1):
        target = _raised(axes, order, k)
        rest[target] -= factor[place] * low[: len(target)]
    useless = ~(np.abs(rest).sum(axis=0) <= size)  # the rounds did not settle
    factor[:, useless], rest[:, useless] = 0.0, delta[:, useless]

    parts, sums = _by_degree(factor, axes, FACTOR_ORDER), _by_degree(low, axes, order)
    whole = parts.sum(axis=0)
    spread = whole * guard.missing
    for degree in range(1, FACTOR_ORDER + 1):
        spread = spread + parts[degree] * sums[order + 1 - degree :].sum(axis=0)
    # There are 2 operations for each term of k.
    spread = spread + 2 * (len(factor) + 1) * ROUNDING * (size + whole * sums.sum(axis=0))
    return Multiple(factor[0], parts[1:].sum(axis=0), rest, spread)


@cache
def _division(axes: int, order: int) -> list[tuple[int, int, list[tuple[int, int]]]]:
    """Return for each term of k the row of Δ that determines it, and rows of g and k to subtract.

    The products of these rows of g and k contribute to the same coefficient of Δ.
    """
    listed = exponents(axes, FACTOR_ORDER)
    place = {k: i for i, k in enumerate(exponents(axes, order))}
    found = []
    for k in sorted(listed, key=lambda k: (sum(k), sum(k[:-1]))):
        target = (*k[:-1], k[-1] + 1)
        products = []
        for other in listed:
            rest = tuple(e - f for e, f in zip(target, other, strict=True))
            if other != k and min(rest) >= 0:
                products.append((place[rest], place[other]))
        found.append((place[k], place[target], products))
    return found


def _nonzero(slopes: Array) -> Array:
    """Return slopes with 1 in place of 0. The results for these boxes are not used."""
    return np.where(slopes == 0, 1.0, slopes)


def _by_degree(coefficients: Array, axes: int, order: int) -> Array:
    """Return the sum of absolute coefficients of each total degree."""
    sums: Array = degree_indicator(axes, order) @ np.abs(coefficients) * UPWARDS
    return sums


def _turned(coefficients: Array, ranks: Any, order: int) -> Array:
    """Return polynomials with their axes in this order, which may differ from box to box."""
    axes = len(ranks)
    listed = np.array(exponents(axes, order))
    originals = _places_by_digits(axes, order)[listed @ (order + 1) ** ranks]
    turned: Array = np.take_along_axis(coefficients, originals, axis=0)
    return turned


@cache
def _places_by_digits(axes: int, order: int) -> Any:
    """Return the place of each monomial by its exponents, read as the digits of one number."""
    places = np.zeros((order + 1) ** axes, dtype=int)
    digits = (order + 1) ** np.arange(axes)
    for place, k in enumerate(exponents(axes, order)):
        places[np.array(k) @ digits] = place
    return places


@cache
def _raised(axes: int, order: int, by: tuple[int, ...]) -> Any:
    """Return the places of the first monomials times another one, as many as the order allows."""
    place = {k: i for i, k in enumerate(exponents(axes, order))}
    first = exponents(axes, order - sum(by))
    return np.array([place[tuple(e + f for e, f in zip(k, by, strict=True))] for k in first])


@cache
def _squares(axes: int, order: int) -> Any:
    """Return the places of the products of two coordinates."""
    units = exponents(axes, 1)[1:]
    return np.array([_raised(axes, order, unit)[1 : axes + 1] for unit in units])


@cache
def _mean_across(axes: int, order: int) -> Array:
    """Return the mean of each absolute monomial over all axes but the last, which may be 1."""
    return np.array([1 / math.prod(e + 1 for e in k[:-1]) for k in exponents(axes, order)])
