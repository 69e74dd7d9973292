"""Functions on slabs: polynomials up to a total degree, and a bound of what is missing.

The last coordinate w runs from the lower surface of a slab at −1 to the upper one at 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from residuum.analysis.expansions import (
    ROUNDING,
    UPWARDS,
    Expansion,
    exponents,
    mean_of_monomial,
    shares,
)
from residuum.relaxations.arrays import Array

ORDER = 6
"""The total degree up to which polynomials are expanded on slabs."""

THICKEST = 0.25
"""A sliver is no thicker than this, where w runs from −1 to 1."""

SUMMING = 100 * ROUNDING
"""What adding up all coefficients can lose, as a share of their absolute sum."""


class Sliver(NamedTuple):
    """A layer at one end of w, outside of which a guard has this sign; 0 where there is none."""

    sign: Array
    end: Array
    thickness: Array

    def lost(self, delta: Array, axes: int) -> Array:
        """Return a bound of the mean of |Δ| over the layer and 0 elsewhere.

        Within the layer Δ differs from its values at the end by its thickness times a slope.
        """
        order = _order_of(axes, len(delta))
        at_ends = [np.abs(face @ delta).sum(axis=0) for face in _faces(axes, order)]
        size, slope = np.abs(delta).sum(axis=0), _last_powers(axes, order) @ np.abs(delta)
        largest = np.where(self.end < 0, *at_ends) + self.thickness * slope + SUMMING * size
        lost: Array = self.thickness / 2 * largest * UPWARDS
        return np.where(self.sign == 0, 0.0, lost)


class Truncated(NamedTuple):
    """Coefficients in the order of `exponents`; `error` bounds how far the function is off.

    It has what an `Expansion` has, but its error need not be that of a polynomial.
    """

    axes: int
    coefficients: Array
    error: Array

    @property
    def degrees(self) -> tuple[int, ...]:
        """The highest exponent along each axis."""
        return (ORDER,) * self.axes

    def of(self, which: Any) -> Truncated:
        """Return the function on some of the slabs."""
        return Truncated(self.axes, self.coefficients[:, which], self.error[which])

    def joined(self, others: Sequence[Truncated]) -> Truncated:
        """Return the same function on these and other slabs."""
        parts = (self, *others)
        return self._replace(
            coefficients=np.concatenate([part.coefficients for part in parts], axis=1),
            error=np.concatenate([part.error for part in parts]),
        )

    def low(self, order: int) -> Array:
        """Return the coefficients up to a total degree, in the order of `exponents`."""
        return self.coefficients[: len(exponents(self.axes, order))].copy()

    def by_degree(self) -> Array:
        """Return the sum of absolute coefficients of each total degree."""
        return by_degree(self.coefficients, self.axes)

    def bulk(self) -> Array:
        """Return the sum of absolute coefficients but the constant one, and the error."""
        total: Array = np.abs(self.coefficients[1:]).sum(axis=0) * UPWARDS + self.error
        return total

    def decided(self) -> Array:
        """Return the sign where it is known, else 0."""
        return np.sign(self._bound())

    def least(self) -> Array:
        """Return a lower bound of the absolute value; where it is 0, nothing is known."""
        return np.abs(self._bound())

    def _bound(self) -> Array:
        """Return the lower bound, times the sign.

        Where the polynomial rises or falls with w throughout, it is least at an end.
        """
        plain = np.abs(self.coefficients[0]) * (1 - 1e-15) - self.bulk()
        (a, near), (b, far) = (
            (face[0], np.abs(face[0]) - (np.abs(face[1:]).sum(axis=0) * UPWARDS + self._slack()))
            for face in self._at_ends()
        )
        ends = np.where((self._slope() > 0) & (a * b > 0), np.minimum(near, far), 0.0)
        sign = np.sign(np.where(plain > 0, self.coefficients[0], a))
        best = np.maximum(plain, ends)
        return np.where(best > 0, sign * best, 0.0)

    def sliver(self) -> Sliver:
        """Return where the sign changes only within a thin layer at one end."""
        slope, rising = self._slope(), np.sign(self.coefficients[self.axes])
        reaches = [
            (np.abs(face).sum(axis=0) * UPWARDS + self._slack() + self.error)
            / np.where(slope > 0, slope, np.nan)
            for face in self._at_ends()
        ]
        end = np.where(reaches[0] <= reaches[1], -1.0, 1.0)
        thickness = np.fmin(*reaches) * UPWARDS
        thin = thickness < THICKEST
        return Sliver(np.where(thin, -end * rising, 0.0), end, np.where(thin, thickness, 0.0))

    def _at_ends(self) -> tuple[Array, Array]:
        low, high = _faces(self.axes, ORDER)
        return low @ self.coefficients, high @ self.coefficients

    def _slack(self) -> Array:
        slack: Array = SUMMING * np.abs(self.coefficients).sum(axis=0) + self.error
        return slack

    def _slope(self) -> Array:
        """Return a lower bound of the polynomial's slope in w, in absolute value."""
        slopes = np.abs(self.coefficients) * _last_powers(self.axes, ORDER)[:, None]
        first = slopes[self.axes]
        least: Array = first * (2 - 1e-12) - slopes.sum(axis=0) * UPWARDS
        return least

    def mean(self) -> Array:
        """Return the mean over each slab, rounded upwards."""
        total: Array = _means(self.axes) @ self.coefficients + self._slack() * UPWARDS
        return total

    def variation(self) -> Array:
        """Return the share of each axis in how it varies, for comparison only."""
        return shares(_powers(self.axes) @ np.abs(self.coefficients))


Function = Expansion | Truncated


def by_degree(coefficients: Array, axes: int) -> Array:
    """Return the sum of absolute coefficients of each total degree."""
    sums: Array = _indicator(axes) @ np.abs(coefficients) * UPWARDS
    return sums


@cache
def _indicator(axes: int) -> Array:
    totals = np.array([sum(k) for k in exponents(axes, ORDER)])
    matches: Array = (totals == np.arange(ORDER + 1)[:, None]).astype(float)
    return matches


@cache
def _powers(axes: int) -> Array:
    return np.array(exponents(axes, ORDER), dtype=float).T


@cache
def _means(axes: int) -> Array:
    return np.array([mean_of_monomial(k) for k in exponents(axes, ORDER)])


@cache
def _last_powers(axes: int, order: int) -> Array:
    return np.array([k[-1] for k in exponents(axes, order)], dtype=float)


@cache
def _faces(axes: int, order: int) -> tuple[Array, Array]:
    """Return matrices that set w to −1 and to 1."""
    place = {k: i for i, k in enumerate(exponents(axes - 1, order))}
    faces = np.zeros((2, len(place), len(exponents(axes, order))))
    for i, k in enumerate(exponents(axes, order)):
        faces[:, place[k[:-1]], i] = (-1) ** k[-1], 1
    return faces[0], faces[1]


@cache
def _order_of(axes: int, count: int) -> int:
    return next(order for order in range(ORDER + 1) if len(exponents(axes, order)) == count)
