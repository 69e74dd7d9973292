"""A difference of cases as a multiple of a guard: Δ is about k g, for it vanishes with the guard.

Nothing of this needs to hold: whatever k is, the rest Δ − k g is bounded.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from residuum.analysis.expansions import ROUNDING, exponents
from residuum.analysis.planes import Curve, by_degree, nonzero, raised
from residuum.relaxations.arrays import Array

FACTOR_ORDER = 2
"""The total degree of k."""

ROUNDS = 3
"""How often the terms of k are worked out from each other."""


class Factored(NamedTuple):
    """Δ = k g + rest, up to `spread`; k differs from its value in the middle by `tilt` at most."""

    middle: Array
    tilt: Array
    rest: Array
    spread: Array


def factored(delta: Array, guard: Curve, axes: int, order: int) -> Factored:
    """Return Δ as a multiple of a guard that is steepest along its last axis."""
    low = guard.low
    size = np.abs(delta).sum(axis=0)
    factor = _factor(delta, low, axes, order)
    rest = delta - factor[0] * low
    for place, k in enumerate(exponents(axes, FACTOR_ORDER)[1:], start=1):
        target = raised(axes, order, k)
        rest[target] -= factor[place] * low[: len(target)]
    useless = ~(np.abs(rest).sum(axis=0) <= size)  # the rounds did not settle
    factor[:, useless], rest[:, useless] = 0.0, delta[:, useless]

    parts, sums = by_degree(factor, axes, FACTOR_ORDER), by_degree(low, axes, order)
    whole = parts.sum(axis=0)
    spread = whole * guard.missing
    for degree in range(1, FACTOR_ORDER + 1):
        spread = spread + parts[degree] * sums[order + 1 - degree :].sum(axis=0)
    # 2 operations for each term of k.
    spread = spread + 2 * (len(factor) + 1) * ROUNDING * (size + whole * sums.sum(axis=0))
    return Factored(factor[0], parts[1:].sum(axis=0), rest, spread)


def _factor(delta: Array, low: Array, axes: int, order: int) -> Array:
    """Return k: the coefficients of Δ that have one w more determine those of k.

    Those of higher degrees matter too where g is not 0 in the middle; a few rounds bring them in.
    """
    steep = nonzero(low[axes])
    factor = np.zeros((len(exponents(axes, FACTOR_ORDER)), delta.shape[1]))
    for _ in range(ROUNDS):
        for place, target, products in _division(axes, order):
            value = delta[target].copy()
            for row, other in products:
                value -= low[row] * factor[other]
            factor[place] = value / steep
    return factor


@cache
def _division(axes: int, order: int) -> list[tuple[int, int, list[tuple[int, int]]]]:
    """Return for each term of k the coefficient of Δ that determines it, and what else does.

    That is products of other coefficients of g and of k.
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
