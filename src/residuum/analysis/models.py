"""Quotients of polynomials on many boxes, as Taylor polynomials whose error is certified."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from residuum.analysis.expansions import ROUNDING, UPWARDS, Expansion, exponents, mean_of_monomial
from residuum.relaxations.arrays import Array


@cache
def _products(axes: int, order: int) -> tuple[tuple[Any, Any], ...]:
    """Return, for each monomial, the pairs of a lower one and another that multiply to it."""
    listed = exponents(axes, order)
    place = {k: i for i, k in enumerate(listed)}
    pairs = []
    for k in listed:
        below = [j for j in listed if j != k and all(a <= b for a, b in zip(j, k, strict=True))]
        rest = [place[tuple(b - a for a, b in zip(j, k, strict=True))] for j in below]
        pairs.append((np.array([place[j] for j in below], dtype=int), np.array(rest, dtype=int)))
    return tuple(pairs)


@cache
def _means(axes: int, order: int) -> Array:
    """Return the mean of each monomial over [−1, 1]ⁿ."""
    return np.array([mean_of_monomial(k) for k in exponents(axes, order)])


def mean(coefficients: Array, axes: int, order: int) -> Array:
    """Return the mean of polynomials over each box.

    Rounding changes it by no more than one operation for each of up to 84 coefficients, and one,
    times their absolute sum.
    """
    means: Array = _means(axes, order) @ coefficients
    return means


class Model(NamedTuple):
    """A polynomial in the coordinates of boxes and how far a function may be from it.

    `error` holds everywhere, `mean_error` for the mean of the distance over the box. Where nothing
    is known, the polynomial is 0 and both are infinite.
    """

    order: int
    coefficients: Array
    error: Array
    mean_error: Array

    @property
    def size(self) -> Array:
        """The sum of absolute coefficients."""
        total: Array = np.abs(self.coefficients).sum(axis=0) * UPWARDS
        return total

    def range(self) -> tuple[Array, Array]:
        """Return bounds of the function on each box."""
        radius = (np.abs(self.coefficients[1:]).sum(axis=0) + self.error) * UPWARDS
        centre = self.coefficients[0]
        slack = ROUNDING * (np.abs(centre) + radius)
        return centre - radius - slack, centre + radius + slack


def divide(above: Expansion, below: Expansion, order: int) -> Model:
    """Return a quotient as a polynomial of this order, by dividing power series.

    With the quotient P as it was rounded, N / D − P is (N − PD) / D. Up to the order, N − PD is
    what rounding left over; beyond it, the sum of the absolute coefficients bounds it.
    """
    axes = len(below.degrees)
    least = np.abs(below.coefficients[0]) * (1 - 1e-15) - below.bulk()
    fits = least > 0
    first = np.where(fits, below.coefficients[0], 1.0)
    dividend, divisor = above.low(order), below.low(order)
    quotient = np.empty_like(dividend)
    for place, (left, right) in enumerate(_products(axes, order)):
        known = np.einsum("ib,ib->b", quotient[left], divisor[right])
        quotient[place] = (dividend[place] - known) / first
    quotient[:, ~fits] = 0.0

    totals = np.array([sum(k) for k in exponents(axes, order)])
    parts = (totals == np.arange(order + 1)[:, None]).astype(float) @ np.abs(quotient)
    above_parts, below_parts = above.by_degree(), below.by_degree()
    size = parts.sum(axis=0)
    operations = len(quotient) + 4
    missed = above_parts[order + 1 :].sum(axis=0)
    for degree in range(order + 1):
        missed = missed + parts[degree] * below_parts[order + 1 - degree :].sum(axis=0)
    rounded = operations * ROUNDING * (above_parts.sum(axis=0) + size * below_parts.sum(axis=0))
    off = above.error + size * below.error
    # A monomial of total degree d has a mean absolute value of at most 1 / (d + 1).
    errors = np.full((2, len(least)), np.inf)
    distances = np.stack([missed + rounded + off, missed / (order + 2) + rounded + off])
    np.divide(distances * UPWARDS, least * (1 - 1e-15), out=errors, where=fits)
    return Model(order, quotient, errors[0], errors[1])
