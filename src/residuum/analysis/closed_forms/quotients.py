"""Rational functions of one variable, and their partial fractions over the rationals."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple, final

from residuum.analysis.methods import NotThisWay

MOST_DEGREE = 300
"""The highest degree of a numerator or denominator."""


@final
class Quotient:
    """A quotient of polynomials over the rationals in lowest terms, the denominator monic."""

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
