"""Signs of polynomials inside the unit cube, found by exact arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

MOST_BERNSTEIN = 20_000
"""The most Bernstein coefficients of a polynomial whose sign is searched for."""

SignPair = tuple[int, int]


def definite_sign(polynomial: Any) -> bool | None:
    """Return whether a polynomial is positive inside the unit cube, or None if unknown.

    A polynomial is a mean of its Bernstein coefficients with positive weights. Along an axis of
    degree n the coefficient of xⁱ(1 − x)ⁿ⁻ⁱ is Σₖ C(n − k, i − k) aₖ: sums of sums of integers.
    """
    degrees = [max(0, int(degree)) for degree in polynomial.degrees()]  # −1 for the polynomial 0
    if math.prod(degree + 1 for degree in degrees) > MOST_BERNSTEIN:
        return None
    terms = [(tuple(map(int, k)), int(value.p), int(value.q)) for k, value in polynomial.terms()]
    common = math.lcm(*(below for _, _, below in terms))
    largest = sum(abs(above) * (common // below) for _, above, below in terms) << sum(degrees)
    sums = np.zeros([degree + 1 for degree in degrees], np.int64 if largest < 2**62 else object)
    for k, above, below in terms:
        sums[k] = above * (common // below)
    for axis, degree in enumerate(degrees):
        along = sums.swapaxes(0, axis)
        for last in range(degree, 0, -1):
            along[: last + 1] = np.add.accumulate(along[: last + 1])
    if (sums >= 0).all():
        return True
    return False if (sums <= 0).all() else None


def exclusions(a: Any, b: Any) -> frozenset[SignPair]:
    """Return pairs of signs that two polynomials never have at once. Some may not be found.

    Where i·a and j·b are positive, so is their sum. The remainder of a divided by b, or of b by a,
    often has a sign, too: the guards of min(1, max(0, r)) are such a pair, however close they are.
    """
    found = set()
    for j in (-1, 1):
        match definite_sign(a + j * b):
            case True:
                found.add((-1, -j))
            case False:
                found.add((1, j))
    for first in range(len(a.degrees())):
        one, other = _turned(a, first), _turned(b, first)
        found |= _by_division(one, other)
        found |= {(i, j) for j, i in _by_division(other, one)}
    return frozenset(found)


def _by_division(a: Any, b: Any) -> set[SignPair]:
    """Return excluded signs where a = q b + r, and q and r have signs.

    Where q b has the sign of r, a has it too.
    """
    quotient, rest = divmod(a, b)
    if quotient.is_zero():
        return set()
    signs = definite_sign(quotient), definite_sign(rest)
    if None in signs:
        return set()
    q, r = (1 if positive else -1 for positive in signs)
    return {(-r, q * r)}


def _turned(polynomial: Any, first: int) -> Any:
    """Return a polynomial with another variable first: division goes by the first variable."""
    terms = polynomial.to_dict().items()
    return polynomial.context().from_dict({(*k[first:], *k[:first]): v for k, v in terms})
