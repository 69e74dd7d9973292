"""The method "polynomial": the degree as a polynomial in the atoms, by a carrier of polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, final

from residuum.analysis.methods import (
    NotThisWay,
    RestrictedCarrier,
    RestrictedNumber,
)
from residuum.logic import Atom, Formula
from residuum.relaxations import Degree, Relaxation, interpret
from residuum.relaxations.carriers import Exact, Number

MOST_TERMS = 300_000
"""The most terms of a polynomial."""


def integrate_polynomial(
    formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation
) -> Fraction:
    """Return the mean degree where it is a polynomial in the degrees of the atoms."""
    import flint

    polynomial = polynomial_of(formula, atoms, relaxation)
    if max(polynomial.degrees(), default=0) > MOST_TERMS:
        raise NotThisWay(f"the polynomial has a degree over {MOST_TERMS:,}")
    uniform = [[flint.fmpq(1, k + 1) for k in range(degree + 1)] for degree in polynomial.degrees()]
    mean = polynomial.expectation(uniform)
    return Fraction(int(mean.p), int(mean.q))


def polynomial_of(formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation) -> Polynomial:
    """Return the degree of a formula as a polynomial in those of its atoms."""
    import flint

    context = flint.fmpq_mpoly_ctx.get(tuple(f"x{i}" for i in range(len(atoms))), "lex")
    on = _Polynomials(context)
    known = {
        atom: Degree(on, true=Polynomial(variable))
        for atom, variable in zip(atoms, context.gens(), strict=True)
    }
    result: Polynomial = interpret(formula, known, relaxation, on).true
    return result


@final
class Polynomial(RestrictedNumber):
    """A polynomial that raises `NotThisWay` before it grows too large."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def _like(self, other: Any) -> Any:
        if isinstance(other, Polynomial):
            return other.value
        exact = Fraction(other)
        return self.value.context().constant(exact.numerator) / exact.denominator

    def __add__(self, other: Any) -> Polynomial:
        return Polynomial(self.value + self._like(other))

    def __neg__(self) -> Polynomial:
        return Polynomial(-self.value)

    def __sub__(self, other: Any) -> Polynomial:
        return Polynomial(self.value - self._like(other))

    def __rsub__(self, other: Any) -> Polynomial:
        return Polynomial(self._like(other) - self.value)

    def __mul__(self, other: Any) -> Polynomial:
        factor = self._like(other)
        if len(self.value) * len(factor) > MOST_TERMS:
            raise NotThisWay(f"the polynomial may have more than {MOST_TERMS:,} terms")
        return Polynomial(self.value * factor)

    __radd__, __rmul__ = __add__, __mul__

    def one(self) -> Polynomial:
        """Return the constant 1."""
        return Polynomial(self.value.context().constant(1))

    @staticmethod
    def _zero() -> Any:
        import flint

        return flint.fmpq(0)

    def degrees(self) -> tuple[int, ...]:
        """Return the highest exponent of each variable."""
        return tuple(int(degree) for degree in self.value.degrees())

    def expectation(self, moments: Sequence[Sequence[Any]]) -> Any:
        """Return the mean for independent variables with these moments, of order 0, 1, …"""
        total = self._zero()
        for exponents, coefficient in self.value.terms():
            weight = coefficient
            for variable, exponent in enumerate(exponents):
                if exponent:
                    weight = weight * moments[variable][exponent]
            total = total + weight
        return total


@final
class _Polynomials(RestrictedCarrier):
    what = "polynomials"

    def __init__(self, context: Any) -> None:
        self._context = context

    def constant(self, value: Exact) -> Number:
        exact = Fraction(value)
        return Polynomial(self._context.constant(exact.numerator) / exact.denominator)
