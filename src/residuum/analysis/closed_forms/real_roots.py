"""Real roots of polynomials between 0 and 1, kept apart exactly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from residuum.analysis.closed_forms.quotients import as_flint, root
from residuum.analysis.methods import NotThisWay

MOST_ROOTS = 200
MOST_HALVINGS = 5_000


class Root(NamedTuple):
    """The only root of a polynomial between two rationals. They are equal if the root is known."""

    low: Fraction
    high: Fraction
    polynomial: Any

    def halved(self) -> Root:
        """Return the root between two rationals that are half as far apart."""
        middle = (self.low + self.high) / 2
        if self.polynomial(as_flint(middle)) == 0:
            return Root(middle, middle, self.polynomial)
        is_below = _variations(self.polynomial, self.low, middle) == 1
        low, high = (self.low, middle) if is_below else (middle, self.high)
        return Root(low, high, self.polynomial)


def roots_within(polynomials: Iterable[Any]) -> list[Root]:
    """Return the roots between 0 and 1, ascending and with gaps between their bounds.

    No polynomial may have a double root, nor two of them a common one.
    """
    waiting = [one for polynomial in polynomials for one in _isolated(polynomial)]
    if len(waiting) > MOST_ROOTS:
        raise NotThisWay(f"its guards have more than {MOST_ROOTS} roots")
    for _ in range(MOST_HALVINGS):
        roots = sorted(waiting, key=lambda one: (one.low, one.high))
        lows = [Fraction(0), *(one.high for one in roots)]
        highs = [*(one.low for one in roots), Fraction(1)]
        touching = [low >= high for low, high in zip(lows, highs, strict=True)]
        if not any(touching):
            return roots
        waiting = [
            one.halved() if one.low < one.high and (below or above) else one
            for one, (below, above) in zip(roots, itertools.pairwise(touching), strict=True)
        ]
    raise NotThisWay("roots of its guards are too close to each other")


def samples_between(roots: Sequence[Root]) -> list[Fraction]:
    """Return a rational between each two neighbours of 0, the roots, and 1."""
    lows = [Fraction(0), *(one.high for one in roots)]
    highs = [*(one.low for one in roots), Fraction(1)]
    return [_between(low, high) for low, high in zip(lows, highs, strict=True)]


def _between(low: Fraction, high: Fraction) -> Fraction:
    """Return a dyadic number of few bits between two others."""
    scale = 1
    while True:
        above = Fraction(math.floor(low * scale) + 1, scale)
        if above < high:
            return above
        scale *= 2


def _isolated(polynomial: Any) -> list[Root]:
    """Return the roots of one polynomial between 0 and 1, by halving and Descartes' rule."""
    if polynomial.degree() == 1:
        exact = root(polynomial)
        return [Root(exact, exact, polynomial)] if 0 < exact < 1 else []
    found: list[Root] = []
    waiting = [(Fraction(0), Fraction(1))]
    while waiting:
        low, high = waiting.pop()
        number = _variations(polynomial, low, high)
        if number == 1:
            found.append(Root(low, high, polynomial))
        elif number > 1:
            middle = (low + high) / 2
            if polynomial(as_flint(middle)) == 0:
                found.append(Root(middle, middle, polynomial))
            waiting += [(low, middle), (middle, high)]
    return found


def _variations(polynomial: Any, low: Fraction, high: Fraction) -> int:
    """Return a bound of the number of roots between two rationals; bounds of 0 and 1 are exact.

    It is how often the signs of the coefficients of (1 + t)ⁿ p((low + high t) / (1 + t)) change.
    """
    import flint

    stretched = polynomial(flint.fmpq_poly([as_flint(low), as_flint(high - low)]))
    turned = flint.fmpq_poly(stretched.coeffs()[::-1])(flint.fmpq_poly([1, 1]))
    signs = [value > 0 for value in turned.coeffs() if value != 0]
    return sum(left != right for left, right in itertools.pairwise(signs))
