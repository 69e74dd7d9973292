"""Polynomials on many boxes at once, in the coordinates of each box.

A box is given by its centre and half its width along each axis; its own coordinates u run from −1
to 1, so that a polynomial in u is bounded by the sum of its absolute coefficients. The last axis of
every array runs over the boxes. Numbers are floats. What rounding can do is bounded by the usual
rule: n operations change a result by no more than n · 2⁻⁵³ of the sum of its absolute terms, to
first order; counts are rounded up, which covers the rest.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, final

import numpy as np

from residuum.analysis.giving_up import NotThisWay
from residuum.relaxations.arrays import Array

ROUNDING = 2.0**-53

UPWARDS = 1 + 1e-10
"""Sums of up to 100,000 positive terms, times this, are no less than the true sums."""

MOST_COEFFICIENTS = 100_000
"""Of one polynomial, zeros included: as many as `UPWARDS` allows."""

UNDERFLOW = 1e-280
"""More than what underflow can lose altogether."""


class Boxes(NamedTuple):
    """Centres and half widths, one row for each axis; both are binary fractions, without error."""

    centres: Array
    halves: Array

    def of(self, which: Any) -> Boxes:
        """Return some of them."""
        return Boxes(self.centres[:, which], self.halves[:, which])

    @property
    def number(self) -> int:
        """How many there are."""
        return int(self.centres.shape[1])

    @property
    def volumes(self) -> Array:
        """The volume of each: a power of 2, without error."""
        volumes: Array = np.prod(2 * self.halves, axis=0)
        return volumes

    def expand(self, polynomial: Polynomial) -> Expansion:
        """Return a polynomial in the coordinates of each box."""
        return polynomial.expand(self)

    def integrand(self, polynomial: Polynomial) -> Expansion:
        """Return what is integrated over the coordinates of each box."""
        return polynomial.expand(self)

    def halved(self, axis: int) -> Boxes:
        """Return both halves of each along one axis, without rounding."""
        halves, shift = self.halves.copy(), np.zeros_like(self.halves)
        halves[axis] /= 2
        shift[axis] = halves[axis]
        centres = np.concatenate([self.centres - shift, self.centres + shift], axis=1)
        return Boxes(centres, np.tile(halves, 2))

    def joined(self, others: Sequence[Boxes]) -> Boxes:
        """Return these and others."""
        return Boxes(*(np.concatenate(p, axis=1) for p in zip(self, *others, strict=True)))


@final
class Polynomial:
    """A polynomial on the unit cube, with coefficients rounded to floats."""

    def __init__(self, exact: Any, scale: Fraction) -> None:
        degrees = [max(0, int(degree)) for degree in exact.degrees()]  # −1 of what is 0 everywhere
        if math.prod(degree + 1 for degree in degrees) > MOST_COEFFICIENTS:
            raise NotThisWay("polynomials in it are too long to expand on boxes")
        self.coefficients = np.zeros([degree + 1 for degree in degrees])
        try:
            for exponents, value in exact.terms():
                number = float(Fraction(int(value.p), int(value.q)) * scale)
                self.coefficients[tuple(map(int, exponents))] = number
        except OverflowError:
            raise NotThisWay("coefficients in it are too large for floats") from None
        self._turned: dict[int, Polynomial] = {}
        # Along each axis Horner's scheme rounds twice in each of its steps; once more, the input.
        self._operations = 4 * sum(degrees) + 8

    @property
    def degrees(self) -> tuple[int, ...]:
        """The highest exponent along each axis."""
        return tuple(size - 1 for size in self.coefficients.shape)

    def turned(self, last: int) -> Polynomial:
        """Return it with one axis moved to the end."""
        if last not in self._turned:
            one = copy.copy(self)
            one.coefficients = np.ascontiguousarray(np.moveaxis(self.coefficients, last, -1))
            one._turned = {}
            self._turned[last] = one
        return self._turned[last]

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
        # The absolute terms add up to no more than the polynomial with absolute coefficients, at
        # the corner farthest from 0.
        error = self._operations * ROUNDING * UPWARDS * self._largest(boxes) + UNDERFLOW
        return Expansion(self.degrees, local.reshape(-1, boxes.number), error)

    def _largest(self, boxes: Boxes) -> Array:
        total = np.abs(self.coefficients)[..., None]
        for axis, degree in enumerate(self.degrees):
            corner = np.abs(boxes.centres[axis]) + boxes.halves[axis]
            value = total[degree]
            for power in range(degree - 1, -1, -1):
                value = value * corner + total[power]
            total = value
        return np.broadcast_to(total, boxes.number)


def from_exact(exact: Any) -> Polynomial:
    """Return an exact polynomial in floats, up to a positive factor."""
    return Polynomial(exact, 1 / _largest_coefficient(exact))


def quotient_from_exact(numerator: Any, denominator: Any) -> tuple[Polynomial, Polynomial]:
    """Return two exact polynomials in floats, up to a positive factor of both."""
    scale = 1 / _largest_coefficient(denominator)
    return Polynomial(numerator, scale), Polynomial(denominator, scale)


def _largest_coefficient(exact: Any) -> Fraction:
    return max(abs(Fraction(int(value.p), int(value.q))) for _, value in exact.terms())


class Expansion(NamedTuple):
    """Coefficients in the coordinates of boxes; `error` bounds the sum of what each is off by."""

    degrees: tuple[int, ...]
    coefficients: Array
    error: Array

    def of(self, which: Any) -> Expansion:
        """Return the expansion on some of the boxes."""
        return Expansion(self.degrees, self.coefficients[:, which], self.error[which])

    def joined(self, others: Sequence[Expansion]) -> Expansion:
        """Return the same polynomial on these and other boxes."""
        parts = (self, *others)
        return self._replace(
            coefficients=np.concatenate([part.coefficients for part in parts], axis=1),
            error=np.concatenate([part.error for part in parts]),
        )

    def low(self, order: int) -> Array:
        """Return the coefficients up to a total degree, in the order of `exponents`."""
        places = _places(self.degrees, order)
        low: Array = self.coefficients[places]
        low[places < 0] = 0.0
        return low

    def by_degree(self) -> Array:
        """Return the sum of absolute coefficients of each total degree."""
        sums: Array = _indicator(self.degrees) @ np.abs(self.coefficients) * UPWARDS
        return sums

    def bulk(self) -> Array:
        """Return the sum of absolute coefficients but the constant one, and the error."""
        total: Array = np.abs(self.coefficients[1:]).sum(axis=0) * UPWARDS + self.error
        return total

    def decided(self) -> Array:
        """Return the sign where it is known, else 0."""
        first = self.coefficients[0]
        return np.where(np.abs(first) > self.bulk(), np.sign(first), 0.0)

    def least(self) -> Array:
        """Return a lower bound of the absolute value; where it is negative, nothing is known."""
        least: Array = np.abs(self.coefficients[0]) * (1 - 1e-15) - self.bulk()
        return least

    def mean(self) -> Array:
        """Return the mean over each box, rounded upwards."""
        signed = _mean_monomials(self.degrees) @ self.coefficients
        slack = (len(self.coefficients) + 4) * ROUNDING * np.abs(self.coefficients).sum(axis=0)
        total: Array = signed + (self.error + slack) * UPWARDS
        return total

    def variation(self) -> Array:
        """Return the share of each axis in how it varies, for comparison only."""
        return shares(_powers(self.degrees) @ np.abs(self.coefficients))


@cache
def exponents(axes: int, order: int) -> tuple[tuple[int, ...], ...]:
    """Return the exponents of each monomial up to a total degree, lowest degrees first."""
    within = (k for k in itertools.product(range(order + 1), repeat=axes) if sum(k) <= order)
    return tuple(sorted(within, key=lambda k: (sum(k), tuple(-e for e in k))))


def _all_exponents(degrees: Sequence[int]) -> itertools.product[tuple[int, ...]]:
    return itertools.product(*(range(degree + 1) for degree in degrees))


@cache
def _powers(degrees: tuple[int, ...]) -> Array:
    return np.array(list(_all_exponents(degrees)), dtype=float).T


@cache
def _mean_monomials(degrees: tuple[int, ...]) -> Array:
    """Return the mean of each monomial over [−1, 1]ⁿ."""
    return np.array([mean_of_monomial(k) for k in _all_exponents(degrees)])


def mean_of_monomial(k: Sequence[int]) -> float:
    """Return the mean of a monomial with these exponents over [−1, 1]ⁿ."""
    return 0.0 if any(e % 2 for e in k) else 1 / math.prod(e + 1 for e in k)


@cache
def _places(degrees: tuple[int, ...], order: int) -> Any:
    flat = {k: place for place, k in enumerate(_all_exponents(degrees))}
    return np.array([flat.get(k, -1) for k in exponents(len(degrees), order)])


@cache
def _indicator(degrees: tuple[int, ...]) -> Array:
    totals = np.array([sum(k) for k in _all_exponents(degrees)])
    matches: Array = (totals == np.arange(sum(degrees) + 1)[:, None]).astype(float)
    return matches


def variation(coefficients: Array, axes: int, order: int, lowest: int = 1) -> Array:
    """Return the share of each axis in how the terms from a degree on vary, for comparison only."""
    # Exponents stand lowest degrees first.
    first = len(exponents(axes, lowest - 1))
    return shares(_listed(axes, order)[:, first:] @ np.abs(coefficients[first:]))


@cache
def _listed(axes: int, order: int) -> Array:
    return np.array(exponents(axes, order), dtype=float).T


def shares(amounts: Array) -> Array:
    """Return what each row is of the sum of all."""
    total = amounts.sum(axis=0)
    return amounts / np.where(total > 0, total, 1.0)
