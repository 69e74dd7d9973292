"""The mean of a polynomial over the part of each box where a guard is positive.

The guard g is replaced by a plane ℓ. A difference of two cases that fit together vanishes with the
guard, Δ = k g + rest with a small rest. So where the signs of ℓ and g differ Δ is k |g| up to the
sign: its mean there is known nearly, and added to that over the plane's side.
"""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from residuum.analysis import half_spaces
from residuum.analysis.expansions import UPWARDS, exponents, mean_of_monomial, variation
from residuum.analysis.factors import factored
from residuum.analysis.planes import Curve, by_degree, plane_for, straightened
from residuum.relaxations.arrays import Array


class Part(NamedTuple):
    """The mean over a part of each box, how far it may be off, and which axes are to blame."""

    mean: Array
    error: Array
    blame: Array


def mean_where_positive(delta: Array, order: int, cut_order: int, guard: Curve, axes: int) -> Part:
    """Return the mean of Δ · [g > 0], with Δ integrated over the plane's side up to `cut_order`."""
    guard = straightened(guard, axes, order)
    ranks = np.argsort(np.abs(guard.low[1 : axes + 1]), axis=0)
    delta, low = _turned(delta, ranks, order), _turned(guard.low, ranks, order)
    bent = by_degree(low, axes, order)[3:].sum(axis=0) + guard.missing
    plane = plane_for(low, bent, axes, order)
    multiple = factored(delta, guard._replace(low=low), axes, order)

    # With more atoms an integral along the plane would take longer than all else.
    with_surface = cut_order >= half_spaces.SURFACE_ORDER
    gap = plane.gap(with_surface=with_surface)
    mismatch = np.abs(multiple.middle) * gap.error + multiple.tilt * gap.most
    unmatched = np.zeros(len(mismatch))
    for others, length in gap.lengths.items():
        along = _mean_products(axes, order, others) @ np.abs(multiple.rest)
        unmatched = unmatched + length * (along + 0.5 ** len(others) * multiple.spread)

    kept = len(exponents(axes, cut_order))
    stand_in, means, sizes = _economised(axes, order, cut_order)
    surface = multiple.middle * gap.surface if with_surface else None
    above = half_spaces.mean_above(
        delta[:kept] + stand_in @ delta[kept:], cut_order, plane.slopes, plane.offset, surface
    )
    # On the guard's side the rest of Δ is between nothing and all of it everywhere: take half.
    above = above + means @ delta[kept:] / 2 + multiple.middle * gap.centre
    cut_off = sizes @ np.abs(delta[kept:]) / 2
    # What stands in at most doubles the coefficients, and adding up rounds a hundred times.
    size = np.abs(delta).sum(axis=0) + np.abs(multiple.middle) * gap.centre
    rounding = (
        3 * half_spaces.ROUNDING * size
        + half_spaces.SURFACE_ROUNDING * np.abs(multiple.middle) * gap.size
    )
    error = (mismatch + unmatched + cut_off + rounding) * UPWARDS
    error = np.where((plane.slopes[-1] != 0) & np.isfinite(error), error, np.inf)
    blame = (
        (mismatch + unmatched / 2) * variation(low, axes, order, 2)
        + unmatched / 2 * variation(multiple.rest, axes, order)
        + cut_off * variation(delta, axes, order, cut_order + 1)
    )
    blame[-1] += 1e-3 * (mismatch + unmatched)  # a plane too flat along another axis
    unturned = np.empty_like(blame)
    np.put_along_axis(unturned, ranks, blame, axis=0)
    return Part(above, error, unturned)


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
def _economised(axes: int, order: int, cut_order: int) -> tuple[Array, Array, Array]:
    """Return what stands in for monomials beyond `cut_order`, and means of what that leaves out.

    In place of xⁿ stands xⁿ − 2⁻ⁿ Uₙ(x), for each coordinate. Chebyshev's polynomials of the second
    kind are small in the mean: that of |Uₙ| over [−1, 1] is 1, and that of Uₙ is 1 / (n + 1), or 0
    where n is odd. So of a monomial of total degree d, 2⁻ᵈ is left out in the mean.
    """
    place = {k: i for i, k in enumerate(exponents(axes, cut_order))}
    beyond = exponents(axes, order)[len(place) :]
    stand_in = np.zeros((len(place), len(beyond)))
    for column, k in enumerate(beyond):
        for powers in itertools.product(*(range(e % 2, e + 1, 2) for e in k)):
            if powers != k:
                factors = (_monic_chebyshev(e)[p] for e, p in zip(k, powers, strict=True))
                stand_in[place[powers], column] = -math.prod(factors)
    sizes = np.array([0.5 ** sum(k) for k in beyond])
    return stand_in, sizes * np.array([mean_of_monomial(k) for k in beyond]), sizes


@cache
def _monic_chebyshev(degree: int) -> list[float]:
    """Return the coefficients of 2⁻ⁿ Uₙ(x), lowest first: Uₙ = 2x Uₙ₋₁ − Uₙ₋₂."""
    before, last = [0.0], [1.0]
    for _ in range(degree):
        shorter = [*before, *[0.0] * (len(last) + 1 - len(before))]
        before, last = last, [a - b / 4 for a, b in zip([0.0, *last], shorter, strict=True)]
    return last


@cache
def _mean_products(axes: int, order: int, others: tuple[int, ...]) -> Array:
    """Return the mean of each monomial times these coordinates, where the last one may be 1."""
    return np.array(
        [
            1 / math.prod(e + (axis in others) + 1 for axis, e in enumerate(k[:-1]))
            for k in exponents(axes, order)
        ]
    )
