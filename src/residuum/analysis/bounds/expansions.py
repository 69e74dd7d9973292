"""Polynomials on many boxes at once, in the coordinates of each box.

A box is given by its centre and half its width along each axis. Its own coordinates u run from −1
to 1, so that the sum of absolute coefficients bounds a polynomial in u. The last axis of every
array runs over the boxes. The README of this folder says how rounding is bounded.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, final

import numpy as np

from residuum.analysis.methods import NotThisWay
from residuum.relaxations.arrays import Array

ROUNDING = 2.0**-53
"""The largest relative error of one operation on floats."""

UPWARDS = 1 + 1e-10
"""A sum of up to 100,000 positive floats, times this factor, is not less than the exact sum."""

MOST_COEFFICIENTS = 100_000
"""The most coefficients of one polynomial, including zeros: as many as `UPWARDS` allows."""

UNDERFLOW = 1e-280
"""A bound of the error by underflow in all operations together."""


class Boxes(NamedTuple):
    """Centres and half widths of boxes, one row for each axis. Both are exact binary fractions."""

    centres: Array
    halves: Array

    def of(self, which: Any) -> Boxes:
        """Return the boxes with these indices."""
        return Boxes(self.centres[:, which], self.halves[:, which])

    @property
    def number(self) -> int:
        """How many boxes there are."""
        return int(self.centres.shape[1])

    @property
    def volumes(self) -> Array:
        """The volume of each box, which is an exact power of 2."""
        volumes: Array = np.prod(2 * self.halves, axis=0)
        return volumes

    def joined(self, others: Sequence[Boxes]) -> Boxes:
        """Return these boxes and others."""
        return Boxes(*(np.concatenate(rows, axis=1) for rows in zip(self, *others, strict=True)))

    def halved(self, axis: int) -> Boxes:
        """Return both halves of each box along one axis, without rounding."""
        halves, shift = self.halves.copy(), np.zeros_like(self.halves)
        halves[axis] /= 2
        shift[axis] = halves[axis]
        centres = np.concatenate([self.centres - shift, self.centres + shift], axis=1)
        return Boxes(centres, np.tile(halves, 2))


@final
class FloatPolynomial:
    """An exact polynomial on the unit cube, times a scale, with coefficients rounded to floats."""

    def __init__(self, exact: Any, scale: Fraction) -> None:
        degrees = [max(0, int(degree)) for degree in exact.degrees()]  # −1 for the polynomial 0
        if math.prod(degree + 1 for degree in degrees) > MOST_COEFFICIENTS:
            raise NotThisWay("polynomials in it are too long to expand on boxes")
        self.degrees = tuple(degrees)
        self.coefficients = np.zeros([degree + 1 for degree in degrees])
        try:
            for powers, value in exact.terms():
                number = float(Fraction(int(value.p), int(value.q)) * scale)
                self.coefficients[tuple(map(int, powers))] = number
        except OverflowError:
            raise NotThisWay("coefficients in it are too large for floats") from None
        # Horner's scheme rounds twice in each step along each axis; the input is rounded once.
        self._operations = 4 * sum(degrees) + 8
        self._size = float(np.abs(self.coefficients).sum()) * UPWARDS

    def expand(self, boxes: Boxes) -> Expansion:
        """Return the polynomial in the coordinates of each box."""
        local = np.repeat(self.coefficients[..., None], boxes.number, axis=-1)
        for axis, degree in enumerate(self.degrees):
            along = local.swapaxes(0, axis)
            for first in range(degree):
                for power in range(degree - 1, first - 1, -1):
                    along[power] += boxes.centres[axis] * along[power + 1]
            for power in range(1, degree + 1):
                along[power] *= boxes.halves[axis] ** power  # a power of 2: exact
        # Coordinates are at most 1, so that no sum of absolute terms exceeds `_size`.
        error = np.full(boxes.number, self._operations * ROUNDING * self._size + UNDERFLOW)
        return Expansion(self.degrees, local.reshape(-1, boxes.number), error)


def in_floats(*exact: Any) -> tuple[FloatPolynomial, ...]:
    """Return exact polynomials in floats, all times the same positive factor.

    The largest coefficient of the last one becomes 1.
    """
    largest = max(abs(Fraction(int(value.p), int(value.q))) for _, value in exact[-1].terms())
    return tuple(FloatPolynomial(one, 1 / largest) for one in exact)


class Expansion(NamedTuple):
    """Coefficients in the coordinates of boxes; `error` bounds the sum of their errors."""

    degrees: tuple[int, ...]
    coefficients: Array
    error: Array

    def of(self, which: Any) -> Expansion:
        """Return the expansion on the boxes with these indices."""
        return Expansion(self.degrees, self.coefficients[:, which], self.error[which])

    def up_to(self, order: int) -> Array:
        """Return the coefficients up to a total degree, in the order of `exponents`."""
        places = _places(self.degrees, order)
        found: Array = self.coefficients[places]
        found[places < 0] = 0.0
        return found

    def by_degree(self) -> Array:
        """Return the sum of absolute coefficients of each total degree."""
        sums: Array = _indicator(self.degrees) @ np.abs(self.coefficients) * UPWARDS
        return sums

    def _spread(self) -> Array:
        """Return a bound of the distance from the constant coefficient."""
        total: Array = np.abs(self.coefficients[1:]).sum(axis=0) * UPWARDS + self.error
        return total

    def signs(self) -> Array:
        """Return the sign on each box, or 0 where the sign is not certain."""
        first = self.coefficients[0]
        return np.where(np.abs(first) > self._spread(), np.sign(first), 0.0)

    def least(self) -> Array:
        """Return a lower bound of the absolute value. It may be negative."""
        least: Array = np.abs(self.coefficients[0]) * (1 - 1e-15) - self._spread()
        return least

    def most(self) -> Array:
        """Return an upper bound of the absolute value."""
        most: Array = np.abs(self.coefficients[0]) * (1 + 1e-15) + self._spread()
        return most

    def variation(self) -> Array:
        """Return the share of each axis in the variation on each box. This is a heuristic."""
        return shares(_powers(self.degrees) @ np.abs(self.coefficients))


@cache
def exponents(axes: int, order: int) -> tuple[tuple[int, ...], ...]:
    """Return the exponents of all monomials up to a total degree, lowest degrees first."""
    within = (k for k in itertools.product(range(order + 1), repeat=axes) if sum(k) <= order)
    return tuple(sorted(within, key=lambda k: (sum(k), tuple(-e for e in k))))


def _all_exponents(degrees: Sequence[int]) -> itertools.product[tuple[int, ...]]:
    return itertools.product(*(range(degree + 1) for degree in degrees))


@cache
def _powers(degrees: tuple[int, ...]) -> Array:
    return np.array(list(_all_exponents(degrees)), dtype=float).T


def mean_of_monomial(k: Sequence[int]) -> float:
    """Return the mean of a monomial with these exponents over [−1, 1]ⁿ."""
    return 0.0 if any(e % 2 for e in k) else 1 / math.prod(e + 1 for e in k)


@cache
def _places(degrees: tuple[int, ...], order: int) -> Any:
    flat = {k: place for place, k in enumerate(_all_exponents(degrees))}
    return np.array([flat.get(k, -1) for k in exponents(len(degrees), order)])


@cache
def _indicator(degrees: tuple[int, ...]) -> Array:
    return _by_total(list(_all_exponents(degrees)))


@cache
def degree_indicator(axes: int, order: int) -> Array:
    """Return the matrix that adds up the rows of `exponents` with the same total degree."""
    return _by_total(exponents(axes, order))


def _by_total(listed: Sequence[tuple[int, ...]]) -> Array:
    totals = np.array([sum(k) for k in listed])
    matches: Array = (totals == np.arange(totals.max() + 1)[:, None]).astype(float)
    return matches


def variation(coefficients: Array, axes: int, order: int, lowest: int = 1) -> Array:
    """Return the share of each axis in the terms from degree `lowest` on. This is a heuristic."""
    first = len(exponents(axes, lowest - 1))
    return shares(_powers_up_to(axes, order)[:, first:] @ np.abs(coefficients[first:]))


@cache
def _powers_up_to(axes: int, order: int) -> Array:
    return np.array(exponents(axes, order), dtype=float).T


def shares(amounts: Array) -> Array:
    """Return each row as a share of the sum of all rows."""
    total = amounts.sum(axis=0)
    return amounts / np.where(total > 0, total, 1.0)
