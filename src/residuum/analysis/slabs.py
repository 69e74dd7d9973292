"""Slabs: what lies above a box of all axes but one, between two polynomial surfaces.

Where a curved guard crosses a box, the box is cut along it: its root is a surface over the other
axes. Any polynomial near it will do, for nothing needs to hold of it. In coordinates u of the box
below, and w from the lower surface at −1 to the upper one at 1, guards run along an axis.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from residuum.analysis.expansions import ROUNDING, UPWARDS, Boxes, Polynomial, exponents
from residuum.analysis.products import Products, gathered
from residuum.analysis.truncated import ORDER, Truncated, by_degree
from residuum.relaxations.arrays import Array

SURFACE_ORDER = 4
"""The total degree of a surface."""

AT_ONCE = 128
"""Slabs on which functions are multiplied together: what they need fits into a cache."""


class Slabs(NamedTuple):
    """Boxes of all axes but the vertical one, and the coefficients of surfaces over them.

    `off` bounds how far either surface is from the one that is meant. The lower one that is meant
    lies below the upper one.
    """

    vertical: int
    bases: Boxes
    bottom: Array
    top: Array
    off: Array

    def of(self, which: Any) -> Slabs:
        """Return some of them."""
        return Slabs(
            self.vertical,
            self.bases.of(which),
            self.bottom[:, which],
            self.top[:, which],
            self.off[which],
        )

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self.off)

    @property
    def volumes(self) -> Array:
        """The volume of u and w: a power of 2, without error."""
        return 2 * self.bases.volumes

    @property
    def middle(self) -> Array:
        """The surface halfway up."""
        middle: Array = (self.bottom + self.top) / 2
        return middle

    @property
    def half(self) -> Array:
        """Half the height above each place."""
        half: Array = (self.top - self.bottom) / 2
        return half

    def joined(self, others: Sequence[Slabs]) -> Slabs:
        """Return these and others with the same vertical axis."""
        parts = (self, *others)
        return Slabs(
            self.vertical,
            self.bases.joined([other.bases for other in others]),
            np.concatenate([part.bottom for part in parts], axis=1),
            np.concatenate([part.top for part in parts], axis=1),
            np.concatenate([part.off for part in parts]),
        )

    def expand(self, polynomial: Polynomial) -> Truncated:
        """Return a polynomial in the coordinates of each slab.

        It is expanded around the middle first, and then z = middle + half · w is put into it.
        """
        axes = len(self.bases.centres) + 1
        middle, half = self.middle, self.half
        centre = middle[0].copy()
        middle[0] = 0.0
        height = np.abs(middle).sum(axis=0) + np.abs(half).sum(axis=0)
        scale = np.ldexp(1.0, np.frexp(1.01 * height + 4 * self.off)[1])
        local = polynomial.turned(self.vertical).expand(
            Boxes(
                np.concatenate([self.bases.centres, centre[None]]),
                np.concatenate([self.bases.halves, scale[None]]),
            )
        )
        line = _Factor(np.concatenate([middle, half]) / scale, self._off_by() / scale, True)
        base_places = _base_places(local.degrees[:-1])
        kept = base_places >= 0
        layers = local.coefficients.reshape(len(kept), -1, self.number)
        result, error = np.zeros((len(exponents(axes, ORDER)), self.number)), np.zeros(self.number)
        degrees = (*local.degrees[:-1], 0)
        for power in range(local.degrees[-1], -1, -1):
            if power < local.degrees[-1]:
                result, error = _times(result, error, line, degrees)
                degrees = (*(degree + SURFACE_ORDER for degree in degrees[:-1]), degrees[-1] + 1)
            result[base_places[kept]] += layers[kept, power]
            error = error + np.abs(layers[~kept, power]).sum(axis=0)
            error = error + ROUNDING * np.abs(result).sum(axis=0)
        return Truncated(axes, result, (error + local.error) * UPWARDS)

    def integrand(self, polynomial: Polynomial) -> Truncated:
        """Return what is integrated over u and w: the polynomial times dz / dw."""
        one, factor = self.expand(polynomial), _Factor(self.half, self._off_by(), False)
        result, error = _times(one.coefficients, one.error, factor, one.degrees)
        return Truncated(one.axes, result, error)

    def halved(self, axis: int) -> Slabs:
        """Return both halves along one of the axes u and w."""
        if axis == len(self.bases.centres):
            return self.cut(self.middle)
        bases = self.bases.halved(axis)
        sides = [_half(len(self.bases.centres), axis, side) for side in (-1, 1)]
        # Each coefficient is a sum of up to 5 terms, whose absolute values add up to the old ones.
        off = (self.off + 10 * ROUNDING * self._size()) * UPWARDS
        return Slabs(
            self.vertical,
            bases,
            np.concatenate([side @ self.bottom for side in sides], axis=1),
            np.concatenate([side @ self.top for side in sides], axis=1),
            np.tile(off, 2),
        )

    def cut(self, surface: Array) -> Slabs:
        """Return the parts below and above a surface that lies inside."""
        return self._replace(top=surface).joined([self._replace(bottom=surface)])

    def _size(self) -> Array:
        size: Array = np.abs(self.bottom).sum(axis=0) + np.abs(self.top).sum(axis=0)
        return size

    def _off_by(self) -> Array:
        """Bound how far the middle plus or minus half the height is off, with its rounding."""
        off: Array = (self.off + 4 * ROUNDING * self._size()) * UPWARDS
        return off


def is_above(gap: Array, off: Array) -> Any:
    """Say where one surface lies above another for certain, by more than cutting can round."""
    return gap[0] > np.abs(gap[1:]).sum(axis=0) + 8 * off + 1e-13


def over(boxes: Boxes, vertical: int) -> Slabs:
    """Return boxes as slabs."""
    others = [axis for axis in range(len(boxes.centres)) if axis != vertical]
    bottom, top = np.zeros((2, len(exponents(len(others), SURFACE_ORDER)), boxes.number))
    bottom[0] = boxes.centres[vertical] - boxes.halves[vertical]
    top[0] = boxes.centres[vertical] + boxes.halves[vertical]
    bases = Boxes(boxes.centres[others], boxes.halves[others])
    return Slabs(vertical, bases, bottom, top, np.zeros(boxes.number))


@cache
def _base_places(degrees: tuple[int, ...]) -> Any:
    """Return where monomials of the base stand among those of a slab, or −1."""
    place = {k: i for i, k in enumerate(exponents(len(degrees) + 1, ORDER))}
    every = itertools.product(*(range(degree + 1) for degree in degrees))
    return np.array([place.get((*k, 0), -1) for k in every])


@cache
def _half(axes: int, axis: int, side: int) -> Array:
    """Return the matrix that puts (side + u) / 2 for u into a surface; it is exact."""
    listed = exponents(axes, SURFACE_ORDER)
    place = {k: i for i, k in enumerate(listed)}
    matrix = np.zeros((len(listed), len(listed)))
    for i, k in enumerate(listed):
        for power in range(k[axis] + 1):
            target = place[(*k[:axis], power, *k[axis + 1 :])]
            matrix[target, i] = math.comb(k[axis], power) * side ** (k[axis] - power) / 2 ** k[axis]
    return matrix


class _Factor(NamedTuple):
    """A surface, or with w two of them a + b w, and how far it is off."""

    coefficients: Array
    off: Array
    with_w: bool


def _factor_terms(axes: int, with_w: bool) -> list[tuple[int, ...]]:
    return [(*k, w) for w in range(1 + with_w) for k in exponents(axes - 1, SURFACE_ORDER)]


@cache
def _totals(axes: int, with_w: bool) -> Array:
    """Return the matrix that adds up the terms of a factor of each total degree."""
    totals = np.array([sum(k) for k in _factor_terms(axes, with_w)])
    matches: Array = (totals == np.arange(SURFACE_ORDER + 2)[:, None]).astype(float)
    return matches


@cache
def _products(with_w: bool, degrees: tuple[int, ...]) -> Products:
    """Return the products of polynomials without powers above these degrees with a factor."""
    axes = len(degrees)
    listed = exponents(axes, ORDER)
    place = {k: i for i, k in enumerate(listed)}
    return gathered(
        (place[product], i, j)
        for i, k in enumerate(listed)
        for j, term in enumerate(_factor_terms(axes, with_w))
        if all(e <= most for e, most in zip(k, degrees, strict=True))
        and (product := tuple(e + f for e, f in zip(k, term, strict=True))) in place
    )


def _times(
    coefficients: Array, error: Array, factor: _Factor, degrees: tuple[int, ...]
) -> tuple[Array, Array]:
    """Return a function without powers above these degrees times a factor, and its error."""
    axes = len(degrees)
    products = _products(factor.with_w, tuple(min(degree, ORDER) for degree in degrees))
    result = np.zeros_like(coefficients)
    for start in range(0, len(error), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        result[products.targets, some] = products.sums(
            coefficients[:, some], factor.coefficients[:, some]
        )
    sums = by_degree(coefficients, axes)
    factor_sums = _totals(axes, factor.with_w) @ np.abs(factor.coefficients)
    size, factor_size = sums.sum(axis=0), factor_sums.sum(axis=0)
    dropped = np.zeros(len(error))
    for degree in range(1, len(factor_sums)):
        dropped = dropped + factor_sums[degree] * sums[ORDER + 1 - degree :].sum(axis=0)
    # Each coefficient is a sum of at most one product for each term of the factor.
    rounding = (len(factor.coefficients) + 2) * ROUNDING * size * factor_size
    off = error * (factor_size + factor.off) + size * factor.off + dropped + rounding
    return result, off * UPWARDS
