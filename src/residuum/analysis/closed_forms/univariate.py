"""Exact functions of one variable: quotients, their partial fractions, and roots of polynomials."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple, final

from residuum.analysis.methods import NotThisWay

MOST_DEGREE: Final = 300
"""The highest degree of a numerator or denominator."""

MOST_ROOTS: Final = 200
"""The most roots that are kept apart at a time."""

MOST_HALVINGS: Final = 5_000
"""How often bounds of roots that touch each other are halved, at most."""


@final
class Quotient:
    """A quotient of polynomials over the rationals, in lowest terms with a monic denominator."""

    __slots__ = ("denominator", "numerator")

    def __init__(self, numerator: Any, denominator: Any = None) -> None:
        import flint

        above = flint.fmpq_poly(numerator)
        below = flint.fmpq_poly([1] if denominator is None else denominator)
        common = above.gcd(below)
        if common.degree() > 0:
            above, below = above // common, below // common
        if max(above.degree(), below.degree()) > MOST_DEGREE:
            raise NotThisWay(f"rational functions in it have a degree over {MOST_DEGREE}")
        leading = below.leading_coefficient()
        self.numerator, self.denominator = above / leading, below / leading

    def __add__(self, other: Quotient) -> Quotient:
        return Quotient(
            self.numerator * other.denominator + other.numerator * self.denominator,
            self.denominator * other.denominator,
        )

    def __neg__(self) -> Quotient:
        return Quotient(-self.numerator, self.denominator)

    def __sub__(self, other: Quotient) -> Quotient:
        return self + -other

    def __mul__(self, other: Quotient) -> Quotient:
        return Quotient(self.numerator * other.numerator, self.denominator * other.denominator)

    def __truediv__(self, other: Quotient) -> Quotient:
        return Quotient(self.numerator * other.denominator, self.denominator * other.numerator)

    def __bool__(self) -> bool:
        return not self.numerator.is_zero()


class PartialFractions(NamedTuple):
    """A polynomial plus coefficients of (x − pole)^−order, by (pole, order)."""

    polynomial: Any
    poles: Mapping[tuple[Fraction, int], Fraction]


def partial_fractions(quotient: Quotient) -> PartialFractions:
    """Return the partial fractions of a quotient all of whose poles are rational."""
    whole, rest = divmod(quotient.numerator, quotient.denominator)
    poles: dict[tuple[Fraction, int], Fraction] = {}
    for factor, multiplicity in quotient.denominator.factor()[1]:
        if factor.degree() > 1:
            raise NotThisWay(f"its antiderivative has poles at the roots of {factor}, not rational")
        pole, order = root(factor), int(multiplicity)
        cofactor = quotient.denominator // monic(factor) ** order
        for index, value in enumerate(_series(rest, cofactor, pole, order)):
            if value:
                poles[pole, order - index] = value
    return PartialFractions(whole, poles)


def _series(numerator: Any, denominator: Any, at: Fraction, length: int) -> list[Fraction]:
    """Return the first coefficients of a quotient as a power series in x − at."""
    import flint

    shift = flint.fmpq_poly([as_flint(at), 1])
    above, below = numerator(shift), denominator(shift)
    found: list[Any] = []
    for index in range(length):
        known = sum((found[k] * below[index - k] for k in range(index)), flint.fmpq(0))
        found.append((above[index] - known) / below[0])
    return [as_fraction(value) for value in found]


def root(linear: Any) -> Fraction:
    """Return the root of a polynomial of degree 1."""
    return as_fraction(-linear[0] / linear[1])


def monic(polynomial: Any) -> Any:
    """Return a polynomial divided by its leading coefficient."""
    return polynomial / polynomial.leading_coefficient()


def as_fraction(value: Any) -> Fraction:
    """Return a rational number of flint as a `Fraction`."""
    return Fraction(int(value.p), int(value.q))


def as_flint(value: Fraction) -> Any:
    """Return a `Fraction` as a rational number of flint."""
    import flint

    return flint.fmpq(value.numerator, value.denominator)


class Root(NamedTuple):
    """The only root of a polynomial between `low` and `high`. If it is known, they are equal."""

    low: Fraction
    high: Fraction
    polynomial: Any

    def halved(self) -> Root:
        """Return the root with bounds that are half as far apart."""
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
    """Return a bound of the number of roots between two rationals. A bound of 0 or 1 is exact.

    It is how often the signs of the coefficients of (1 + t)ⁿ p((low + high t) / (1 + t)) change.
    """
    import flint

    stretched = polynomial(flint.fmpq_poly([as_flint(low), as_flint(high - low)]))
    turned = flint.fmpq_poly(stretched.coeffs()[::-1])(flint.fmpq_poly([1, 1]))
    signs = [value > 0 for value in turned.coeffs() if value != 0]
    return sum(left != right for left, right in itertools.pairwise(signs))
