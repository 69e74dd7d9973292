"""Quotients of polynomials on many boxes, as Taylor polynomials with a certified error."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from residuum.analysis.bounds.expansions import (
    ROUNDING,
    UPWARDS,
    Expansion,
    degree_indicator,
    exponents,
    mean_of_monomial,
)
from residuum.relaxations.arrays import Array

AT_ONCE = 256
"""The boxes whose power series are divided together, to fit into the cache of a processor."""


class Taylor(NamedTuple):
    """A polynomial in the coordinates of boxes, and how far a function may be from it.

    `error` holds everywhere on a box; `mean_error` bounds the mean distance over the box.
    """

    coefficients: Array
    error: Array
    mean_error: Array

    def of(self, which: Any) -> Taylor:
        """Return the polynomial on the boxes with these indices."""
        return Taylor(*(rows[..., which] for rows in self))


def divide(above: Expansion, below: Expansion, order: int) -> Taylor:
    """Return a quotient as a polynomial of this order, by dividing power series.

    The divisor must keep away from 0 on all boxes. For the quotient P, as it was rounded, the
    error is (N − PD) / D. Up to the order, N − PD is what rounding leaves. The coefficients of
    the next degree are computed. Beyond that, sums of absolute coefficients bound it.
    """
    axes = len(below.degrees)
    least, first = below.least() * (1 - 1e-15), below.coefficients[0]
    dividend, divisor = above.up_to(order + 1), below.up_to(order + 1)
    *steps, following = _steps(order + 1, below.degrees)
    quotient = np.empty((len(exponents(axes, order)), len(first)))
    left_over = np.empty((len(following.targets), len(first)))
    for start in range(0, len(first), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        quotient[:, some] = _series(dividend[:, some], divisor[:, some], first[some], steps)
        product = following.sums(quotient[:, some], divisor[:, some])
        left_over[:, some] = np.abs(dividend[following.targets, some] - product)

    parts = degree_indicator(axes, order) @ np.abs(quotient)
    above_parts, below_parts = above.by_degree(), below.by_degree()
    size = parts.sum(axis=0)
    beyond = above_parts[order + 2 :].sum(axis=0)
    for degree in range(order + 1):
        beyond = beyond + parts[degree] * below_parts[order + 2 - degree :].sum(axis=0)
    # Each coefficient is a sum of no more products than the quotient has terms.
    operations = 2 * (len(quotient) + 4)
    rounded = operations * ROUNDING * (above_parts.sum(axis=0) + size * below_parts.sum(axis=0))
    off = rounded + above.error + size * below.error
    means = _absolute_means(axes, order + 1)[following.targets] @ left_over
    error = (left_over.sum(axis=0) + beyond + off) * UPWARDS / least
    # A monomial of total degree d has a mean absolute value of at most 1 / (d + 1).
    mean_error = (means + beyond / (order + 3) + off) * UPWARDS / least
    return Taylor(quotient, error, mean_error)


def mean(coefficients: Array, axes: int, order: int) -> Array:
    """Return the mean of polynomials over each box.

    Rounding changes it by at most n + 1 operations on n coefficients, times their absolute sum.
    """
    means: Array = _means(axes, order) @ coefficients
    return means


class Products(NamedTuple):
    """Rows of two arrays to be multiplied, and `targets`, to which the products are added.

    The targets with most products come first, and so do the first products of each target. Every
    round of adding then works on adjacent rows, which is several times as fast as `reduceat`.
    """

    left: Any
    right: Any
    targets: Any
    rounds: tuple[slice, ...]

    def sums(self, left: Array, right: Array) -> Array:
        """Return the sum of products for each target."""
        products = left[self.left]
        products *= right[self.right]
        total: Array = products[self.rounds[0]]
        for one in self.rounds[1:]:
            total[: one.stop - one.start] += products[one]
        return total


def gathered(triples: Iterable[tuple[int, int, int]]) -> Products:
    """Return products from triples: a target and the rows of both factors."""
    by_target = [list(some) for _, some in itertools.groupby(sorted(triples), key=lambda t: t[0])]
    by_target.sort(key=len, reverse=True)
    rows: list[tuple[int, int, int]] = []
    rounds = []
    for turn in range(len(by_target[0])):
        start = len(rows)
        rows.extend(some[turn] for some in by_target if len(some) > turn)
        rounds.append(slice(start, len(rows)))
    targets, left, right = np.array(rows).T
    return Products(left, right, targets[rounds[0]], tuple(rounds))


def _series(dividend: Array, divisor: Array, first: Array, steps: Sequence[Products]) -> Array:
    """Return the quotient of power series, up to the degree of the last step."""
    quotient = np.empty((1 + sum(len(step.targets) for step in steps), len(first)))
    quotient[0] = dividend[0] / first
    for step in steps:
        known = step.sums(quotient, divisor)
        quotient[step.targets] = (dividend[step.targets] - known) / first
    return quotient


@cache
def _steps(order: int, degrees: tuple[int, ...]) -> tuple[Products, ...]:
    """Return, for each degree above 0, the products in a quotient times a divisor.

    The divisor has no exponents beyond its degrees. The product with its coefficient of the same
    monomial is always listed, so that no monomial is left without a product.
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
    return np.array([mean_of_monomial(k) for k in exponents(axes, order)])


@cache
def _absolute_means(axes: int, order: int) -> Array:
    """Return the mean of the absolute value of each monomial over [−1, 1]ⁿ."""
    return np.array([1 / math.prod(e + 1 for e in k) for k in exponents(axes, order)])
