"""Polynomials in the atoms as a carrier: exact integrals for polynomial logics."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, final

from residuum.analysis.giving_up import NotThisWay, Restricted
from residuum.logic import Atom, Formula
from residuum.relaxations import Degree, Relaxation, interpret
from residuum.relaxations.carriers import Exact, Number

MOST_TERMS = 300_000


def integrate_polynomial(
    formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation
) -> Fraction:
    """Return the mean degree where it is a polynomial in the degrees of the atoms."""
    import flint

    names = tuple(f"x{i}" for i in range(len(atoms)))
    context = flint.fmpq_mpoly_ctx.get(names, "lex")
    on = _Polynomials(context)
    known = {
        atom: Degree(on, true=_Polynomial(variable))
        for atom, variable in zip(atoms, context.gens(), strict=True)
    }
    result = interpret(formula, known, relaxation, on).true.value
    total = Fraction(0)
    for exponents, coefficient in result.terms():
        weight = Fraction(int(coefficient.p), int(coefficient.q))
        for exponent in exponents:
            weight /= int(exponent) + 1
        total += weight
    return total


@final
class _Polynomial:
    """A polynomial that refuses to grow beyond what is worth having."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __add__(self, other: Any) -> _Polynomial:
        return _Polynomial(self.value + _value(other))

    def __rsub__(self, other: Any) -> _Polynomial:
        return _Polynomial(_value(other) - self.value)

    def __mul__(self, other: _Polynomial) -> _Polynomial:
        if len(self.value) * len(other.value) > MOST_TERMS:
            raise NotThisWay(f"the polynomial may have more than {MOST_TERMS:,} terms")
        return _Polynomial(self.value * other.value)


@final
class _Polynomials(Restricted):
    what = "polynomials"

    def __init__(self, context: Any) -> None:
        self._context = context

    def constant(self, value: Exact) -> Number:
        exact = Fraction(value)
        return _Polynomial(self._context.constant(exact.numerator)) * _Polynomial(
            self._context.constant(1) / exact.denominator
        )


def _value(number: Any) -> Any:
    return number.value if isinstance(number, _Polynomial) else number
