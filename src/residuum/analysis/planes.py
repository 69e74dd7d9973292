"""A plane in place of a guard, and what lies between them.

A guard is straightened first: times something positive, its root along the steepest axis w is to
second order a polynomial in the other axes u. So g = ℓ + Q(u) + R, with a plane ℓ, Q of degree 2
and R small.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from residuum.analysis.expansions import ROUNDING, UPWARDS, exponents
from residuum.analysis.half_spaces import FLATTEST, SURFACE_ORDER
from residuum.analysis.models import mean
from residuum.analysis.products import Products, gathered
from residuum.analysis.truncated import Function
from residuum.relaxations.arrays import Array

MOST_TILTED = 3 / 4
"""A guard is straightened by a factor that differs from 1 by less than this."""

NEAR = 1e-9
"""Where a plane comes so close to an end of the box, rounding may take it to be beyond."""


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


def straightened(guard: Curve, axes: int, order: int) -> Curve:
    """Return a guard times 1 − τ · u > 0 such that the coefficients of w² and of each u w vanish.

    Where that would not be certain to be positive, τ = 0.
    """
    low, boxes = guard.low, np.arange(guard.low.shape[1])
    slopes = low[1 : axes + 1]
    steepest = np.argmax(np.abs(slopes), axis=0)
    steep = nonzero(slopes[steepest, boxes])
    crossed = low[_squares(axes, order)[:, steepest], boxes]
    own = crossed[steepest, boxes] / steep
    tilts = (crossed - own * slopes) / steep
    tilts[steepest, boxes] = own
    tilts = np.where(np.abs(tilts).sum(axis=0) < MOST_TILTED, tilts, 0.0)
    straight = low.copy()
    for axis, unit in enumerate(exponents(axes, 1)[1:]):
        target = raised(axes, order, unit)
        straight[target] -= tilts[axis] * low[: len(target)]
    sums, tilt = by_degree(low, axes, order), np.abs(tilts).sum(axis=0)
    missing = guard.missing * (1 + tilt) + tilt * sums[order]
    # Each coefficient is rounded twice for each axis, and is no more than 1 + τ times as large.
    missing = missing + 4 * axes * ROUNDING * sums.sum(axis=0)
    return Curve(straight, missing * UPWARDS)


class Gap(NamedTuple):
    """The mean of |g| where the signs of a plane ℓ and of g = ℓ + Q(u) + R differ.

    It is the mean of `surface` over where the plane lies inside of the box, plus `centre`, up to
    `error`; and `most` at most. `size` bounds the sum of absolute terms of the surface. How much of
    the box it is, is bounded by `lengths` times absolute coordinates along their keys.
    """

    surface: Array
    size: Array
    centre: Array
    error: Array
    most: Array
    lengths: Mapping[tuple[int, ...], Array]


class Plane(NamedTuple):
    """A plane ℓ in place of a guard ℓ + Q(u) + R; `bend` is Q, and `off` bounds |R|.

    Its slopes rise from axis to axis, in absolute value, and u leaves out the last one.
    """

    offset: Array
    slopes: Array
    bend: Array
    off: Array

    def gap(self, *, with_surface: bool = True) -> Gap:
        """Return what lies between the plane and the guard, known `with_surface` or only bounded.

        Along w let the plane rise by s, y = s (w − its root), Q ≥ 0 and |R| ≤ r. Where y < 0, signs
        differ where y + Q + R > 0: ∫ |g| dy is between (Q − r)²/2, or 0, and (Q + r)²/2. Where
        y > 0 they differ where y + Q + R < 0, which is no more than (r − Q)²/2, if r > Q. So it is
        Q²/2 up to Qr + r², over a length of Q + 2r; means over −1 < w < 1 divide that by 2s.

        So it is where all of it lies inside of the box, and 0 where none does. What lies between
        is `clipped`: there the root is within (Q + r)/s of an end.
        """
        off, steep, axes = self.off, np.abs(nonzero(self.slopes[-1])), len(self.slopes) - 1
        products = _square(axes)
        surface = np.zeros((len(exponents(axes, SURFACE_ORDER)), len(off)))
        surface[products.targets] = products.sums(self.bend, self.bend)
        surface /= 4 * steep
        size = np.abs(self.bend).sum(axis=0) ** 2 / (4 * steep)

        # u² is 1/2 up to 1/2, and the constant of Q is made for that. The mean of |u| is 1/2.
        lengths: dict[tuple[int, ...], Array] = {(): 2 * off}
        average, largest = np.zeros((2, len(off)))
        first = len(exponents(axes, 1))
        for k, row in zip(exponents(axes, 2)[first:], self.bend[first:], strict=True):
            others = tuple(axis for axis, e in enumerate(k) if e == 1)
            share = np.abs(row) if others else np.abs(row) / 2
            lengths[others] = lengths.get(others, np.zeros(len(off))) + share
            average, largest = average + 0.5 ** len(others) * share, largest + share

        slack = (average + off) * off / (2 * steep)
        # The mean adds up 15 coefficients at most, each of them up to 4 products.
        most = (mean(surface, axes, SURFACE_ORDER) + 40 * ROUNDING * size + slack) * UPWARDS
        clipped = self._clipped((largest + off) / steep) * (
            largest**2 / 4 + (largest + off) * off / 2
        )
        error = slack + clipped / steep
        # Where that is more than half of it, it is better to say that it is not negative.
        vague = (error > most / 2) | (not with_surface)
        return Gap(
            np.where(vague, 0.0, surface),
            size,
            np.where(vague, most / 2, 0.0),
            np.where(vague, most / 2, error) * UPWARDS,
            most,
            {others: length / (2 * steep) * UPWARDS for others, length in lengths.items()},
        )

    def _clipped(self, reach: Array) -> Array:
        """Bound the share of the other axes where the root is within reach of an end, or `NEAR`.

        Along the steepest of them, each end takes up a share of reach / slope.
        """
        reach, steep = reach + NEAR, np.abs(nonzero(self.slopes[-1]))
        base = np.abs(self.slopes[:-1]) / steep
        spread, place = base.sum(axis=0), np.abs(self.offset) / steep
        ends = (spread + place >= 1 - reach) + 1.0 * (spread - place >= 1 - reach)
        share: Array = ends * reach / np.maximum(base.max(axis=0, initial=0.0), reach)
        return share


def plane_for(low: Array, bent: Array, axes: int, order: int) -> Plane:
    """Return the plane in place of a guard; all that is not of degree 2 or less is below `bent`."""
    offset, slopes = low[0].copy(), low[1 : axes + 1].copy()
    flat = np.abs(slopes) < FLATTEST * np.abs(slopes[-1])
    off = bent + np.where(flat, np.abs(slopes), 0.0).sum(axis=0)
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
    # A square was added to the offset for each axis, and to Q.
    rounded = 2 * (axes + 1) * ROUNDING * (np.abs(offset) + np.abs(bend).sum(axis=0))
    return Plane(offset, slopes, bend, (off + rounded) * UPWARDS)


def nonzero(slopes: Array) -> Array:
    """Return slopes with 1 in place of 0: what comes of those does not count."""
    return np.where(slopes == 0, 1.0, slopes)


def by_degree(coefficients: Array, axes: int, order: int) -> Array:
    """Return the sum of absolute coefficients of each total degree."""
    sums: Array = _totals(axes, order) @ np.abs(coefficients) * UPWARDS
    return sums


@cache
def _totals(axes: int, order: int) -> Array:
    totals = np.array([sum(k) for k in exponents(axes, order)])
    matches: Array = (totals == np.arange(order + 1)[:, None]).astype(float)
    return matches


@cache
def raised(axes: int, order: int, by: tuple[int, ...]) -> Any:
    """Return the places of the first monomials times another one, as many as the order allows."""
    place = {k: i for i, k in enumerate(exponents(axes, order))}
    first = exponents(axes, order - sum(by))
    return np.array([place[tuple(e + f for e, f in zip(k, by, strict=True))] for k in first])


@cache
def _squares(axes: int, order: int) -> Any:
    """Return the places of the products of two coordinates."""
    units = exponents(axes, 1)[1:]
    return np.array([raised(axes, order, unit)[1 : axes + 1] for unit in units])


@cache
def _square(axes: int) -> Products:
    """Return the products in the square of a polynomial of degree 2."""
    return gathered(
        (int(target), i, j)
        for i, k in enumerate(exponents(axes, 2))
        for j, target in enumerate(raised(axes, SURFACE_ORDER, k)[: len(exponents(axes, 2))])
    )
