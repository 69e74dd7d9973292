"""Quotients of polynomials on many boxes, as Taylor polynomials whose error is certified."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from residuum.analysis.expansions import ROUNDING, UPWARDS, exponents, mean_of_monomial
from residuum.analysis.products import Products, gathered
from residuum.analysis.truncated import Function
from residuum.relaxations.arrays import Array

AT_ONCE = 256
"""Boxes whose series are divided together: what they need fits into a processor's cache."""


@cache
def _steps(order: int, degrees: tuple[int, ...]) -> tuple[Products, ...]:
    """Return, for each degree above 0, the products in a quotient times a divisor.

    Of the divisor only what its degrees allow can be other than 0. A last pair, whether needed or
    not, leaves no monomial without any.
    """
    listed = exponents(len(degrees), order)
    place = {k: i for i, k in enumerate(listed)}
    steps = []
    for total in range(1, order + 1):
        found = []
        for k in (k for k in listed if sum(k) == total):
            found.append((place[k], 0, place[k]))
            for rest in itertools.product(
                *(range(min(e, most) + 1) for e, most in zip(k, degrees, strict=True))
            ):
                if any(rest) and rest != k:
                    other = tuple(e - r for e, r in zip(k, rest, strict=True))
                    found.append((place[k], place[other], place[rest]))
        steps.append(gathered(found))
    return tuple(steps)


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

    def of(self, which: Any) -> Model:
        """Return the model on some of the boxes."""
        return Model(
            self.order, self.coefficients[:, which], self.error[which], self.mean_error[which]
        )

    @property
    def size(self) -> Array:
        """The sum of absolute coefficients."""
        total: Array = np.abs(self.coefficients).sum(axis=0) * UPWARDS
        return total


def compared(cases: Sequence[Model], axes: int) -> tuple[Array, Array]:
    """Return bounds of the mean of what is at each place one of these cases, and never negative.

    It is nowhere farther from a polynomial halfway between all of them than one of them is.
    """
    every = np.stack([model.coefficients for model in cases])
    halfway = (every.min(axis=0) + every.max(axis=0)) / 2
    apart = np.abs(every - halfway).sum(axis=1) + np.stack([model.error for model in cases])
    # As in `mean`, and when the width is added; `halfway` itself may be any polynomial.
    rounding = (len(halfway) + 4) * ROUNDING * np.abs(halfway).sum(axis=0)
    width = (apart.max(axis=0) + rounding) * UPWARDS
    centre = mean(halfway, axes, cases[0].order)
    return np.fmax(centre - width, 0.0), centre + width


@cache
def _absolute_means(axes: int, order: int) -> Array:
    """Return the mean of the absolute value of each monomial over [−1, 1]ⁿ."""
    return np.array([1 / math.prod(e + 1 for e in k) for k in exponents(axes, order)])


def _series(dividend: Array, divisor: Array, first: Array, steps: Sequence[Products]) -> Array:
    """Return the quotient of power series, as far as these steps go."""
    quotient = np.empty((1 + sum(len(step.targets) for step in steps), len(first)))
    quotient[0] = dividend[0] / first
    for step in steps:
        known = step.sums(quotient, divisor)
        quotient[step.targets] = (dividend[step.targets] - known) / first
    return quotient


def _padded(function: Function, axes: int, order: int) -> Array:
    """Return coefficients up to a total degree, and 0 where they are part of the error."""
    known = function.low(order)
    padded = np.zeros((len(exponents(axes, order)), known.shape[1]))
    padded[: len(known)] = known
    return padded


def divide(above: Function, below: Function, order: int) -> Model:
    """Return a quotient as a polynomial of this order, by dividing power series.

    With the quotient P as it was rounded, N / D − P is (N − PD) / D. Up to the order, N − PD is
    what rounding left over; the coefficients of the next degree are worked out, and beyond that
    sums of absolute coefficients bound it.
    """
    axes = len(below.degrees)
    least = below.least()
    fits = least > 0
    first = np.where(fits, below.coefficients[0], 1.0)
    dividend, divisor = (_padded(one, axes, order + 1) for one in (above, below))
    *steps, following = _steps(order + 1, below.degrees)
    quotient = np.empty((len(exponents(axes, order)), len(first)))
    left_over = np.empty((len(following.targets), len(first)))
    for start in range(0, len(first), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        quotient[:, some] = _series(dividend[:, some], divisor[:, some], first[some], steps)
        product = following.sums(quotient[:, some], divisor[:, some])
        left_over[:, some] = np.abs(dividend[following.targets, some] - product)
    quotient[:, ~fits] = 0.0

    totals = np.array([sum(k) for k in exponents(axes, order)])
    parts = (totals == np.arange(order + 1)[:, None]).astype(float) @ np.abs(quotient)
    above_parts, below_parts = above.by_degree(), below.by_degree()
    size = parts.sum(axis=0)
    beyond = above_parts[order + 2 :].sum(axis=0)
    for degree in range(order + 1):
        beyond = beyond + parts[degree] * below_parts[order + 2 - degree :].sum(axis=0)
    # Each coefficient is a sum of no more products than the quotient has terms.
    operations = 2 * (len(quotient) + 4)
    rounded = operations * ROUNDING * (above_parts.sum(axis=0) + size * below_parts.sum(axis=0))
    off = rounded + above.error + size * below.error
    # A monomial of total degree d has a mean absolute value of at most 1 / (d + 1).
    means = _absolute_means(axes, order + 1)[following.targets] @ left_over
    errors = np.full((2, len(least)), np.inf)
    distances = np.stack([left_over.sum(axis=0) + beyond + off, means + beyond / (order + 3) + off])
    np.divide(distances * UPWARDS, least * (1 - 1e-15), out=errors, where=fits)
    return Model(order, quotient, errors[0], errors[1])
