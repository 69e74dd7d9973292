"""Real roots of polynomials between 0 and 1, kept apart exactly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from residuum.analysis.giving_up import NotThisWay
from residuum.analysis.quotients import root

MOST_ROOTS = 400
MOST_BITS = 4096


class Root(NamedTuple):
    """A real number between two rationals, which are equal if it is rational."""

    low: Fraction
    high: Fraction


def roots_within(polynomials: Iterable[Any]) -> list[Root]:
    """Return the distinct roots between 0 and 1, ascending; no two of them overlap."""
    factors = {
        str(factor): factor
        for polynomial in polynomials
        if polynomial.degree() > 0
        for factor, _ in polynomial.factor()[1]
    }
    bits = 64
    while bits <= MOST_BITS:
        roots = sorted(found for factor in factors.values() for found in _roots(factor, bits))
        if len(roots) > MOST_ROOTS:
            raise NotThisWay(f"its guards have more than {MOST_ROOTS} roots")
        ends = [Root(Fraction(0), Fraction(0)), *roots, Root(Fraction(1), Fraction(1))]
        if all(left.high < right.low for left, right in itertools.pairwise(ends)):
            return roots
        bits *= 2
    raise NotThisWay("roots of its guards are too close to each other")


def samples_between(roots: Sequence[Root]) -> list[Fraction]:
    """Return a rational between each two neighbours of 0, the roots, and 1.

    >>> [str(sample) for sample in samples_between([Root(Fraction(1, 3), Fraction(1, 2))])]
    ['1/4', '3/4']
    """
    ends = [Root(Fraction(0), Fraction(0)), *roots, Root(Fraction(1), Fraction(1))]
    return [_between(left.high, right.low) for left, right in itertools.pairwise(ends)]


def _between(low: Fraction, high: Fraction) -> Fraction:
    """Return a dyadic number of few bits between two others."""
    scale = 1
    while True:
        above = Fraction(math.floor(low * scale) + 1, scale)
        if above < high:
            return above
        scale *= 2


def _roots(irreducible: Any, bits: int) -> list[Root]:
    """Return what may be the real roots of one irreducible polynomial between 0 and 1."""
    import flint

    if irreducible.degree() == 1:
        exact = root(irreducible)
        return [Root(exact, exact)] if 0 < exact < 1 else []
    found = []
    with flint.ctx.workprec(bits):
        for ball, _ in irreducible.complex_roots():
            if ball.imag == 0:
                low, high = _rational(ball.real.lower()), _rational(ball.real.upper())
                if high > 0 and low < 1:
                    found.append(Root(low, high))
    return found


def _rational(exact: Any) -> Fraction:
    mantissa, exponent = exact.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
