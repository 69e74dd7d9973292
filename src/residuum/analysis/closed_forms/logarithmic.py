"""Integrals of R(x) + Σ A(x) log|C(x)|, for rational functions with rational zeros and poles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, final

from residuum.analysis.closed_forms.numbers import ClosedForm, constant, dilogarithm, log
from residuum.analysis.closed_forms.quotients import (
    PartialFractions,
    Quotient,
    as_flint,
    as_fraction,
    partial_fractions,
    root,
)
from residuum.analysis.methods import NotThisWay


@final
class Integrand:
    """A function of x to be integrated: the coefficients of 1 and of each logarithm."""

    def __init__(self) -> None:
        self._plain = Quotient([0])
        self._constants: dict[ClosedForm, Quotient] = defaultdict(lambda: Quotient([0]))
        self._factors: dict[str, tuple[Any, Quotient]] = {}

    def add(self, value: Quotient) -> None:
        """Add a rational function."""
        self._plain += value

    def add_log(self, coefficient: Quotient, argument: Quotient) -> None:
        """Add a multiple of log|argument|."""
        if not coefficient:
            return
        for polynomial, sign in ((argument.numerator, 1), (argument.denominator, -1)):
            content, factors = polynomial.factor()
            size = as_fraction(content)
            for factor, multiplicity in factors:
                size *= as_fraction(factor.leading_coefficient()) ** int(multiplicity)
                name = str(factor)
                _, before = self._factors.get(name, (factor, Quotient([0])))
                change = coefficient * Quotient([sign * int(multiplicity)])
                self._factors[name] = factor, before + change
            for element, number in log(size).terms.items():
                prime = ClosedForm([(element, Fraction(1))])
                change = coefficient * Quotient([as_flint(sign * number)])
                self._constants[prime] += change

    def integral(self, low: Fraction, high: Fraction) -> ClosedForm:
        """Return the integral between two rationals; the function must be bounded there."""
        antiderivative = _Antiderivative()
        antiderivative.add_plain(constant(1), self._plain)
        for prime, coefficient in self._constants.items():
            antiderivative.add_plain(prime, coefficient)
        for factor, coefficient in self._factors.values():
            if coefficient:
                if factor.degree() > 1:
                    raise NotThisWay(f"its integral holds the logarithm of {factor}")
                antiderivative.add_log(coefficient, root(factor))
        return antiderivative.limit(high) - antiderivative.limit(low)


@final
class _Antiderivative:
    """A sum of functions with constant factors, and its limits at points where terms diverge.

    An expansion in ε = x − point and ℓ = log|ε| maps exponents (−j, i) to the coefficient of
    ε^−j ℓ^i; positive powers of ε have the limit 0.
    """

    def __init__(self) -> None:
        self._rational: list[tuple[ClosedForm, PartialFractions]] = []
        self._logs: dict[Fraction, ClosedForm] = defaultdict(ClosedForm)
        self._by_parts: list[tuple[PartialFractions, Fraction]] = []
        self._over_pole: list[tuple[Fraction, Fraction, Fraction]] = []

    def add_plain(self, factor: ClosedForm, coefficient: Quotient) -> None:
        """Add the antiderivative of a constant times a rational function."""
        raised, simple = _integrated(partial_fractions(coefficient))
        self._rational.append((factor, raised))
        for pole, residue in simple.items():
            self._logs[pole] += factor * residue

    def add_log(self, coefficient: Quotient, zero: Fraction) -> None:
        """Add the antiderivative of a rational function times log|x − zero|, by parts."""
        raised, simple = _integrated(partial_fractions(coefficient))
        self._by_parts.append((raised, zero))
        self.add_plain(constant(-1), _quotient(raised) / Quotient([as_flint(-zero), 1]))
        for pole, residue in simple.items():
            self._over_pole.append((pole, zero, residue))

    def limit(self, point: Fraction) -> ClosedForm:
        """Return the limit at a point. Diverging terms must cancel there."""
        total: dict[tuple[int, int], ClosedForm] = defaultdict(ClosedForm)
        for factor, fractions in self._rational:
            for power, value in _expanded(fractions, point).items():
                total[power, 0] += factor * value
        for pole, coefficient in self._logs.items():
            if pole == point:
                total[0, 1] += coefficient
            else:
                total[0, 0] += coefficient * log(point - pole)
        for fractions, zero in self._by_parts:
            for power, value in _expanded(fractions, point).items():
                if zero == point:
                    total[power, 1] += constant(value)
                    continue
                total[power, 0] += log(point - zero) * value
                for k in range(1, 1 - power):  # the powers of log|1 + ε / (point − zero)|
                    share = -value / (k * (zero - point) ** k)
                    total[power + k, 0] += constant(share)
        for pole, zero, residue in self._over_pole:
            _add_over_pole(total, pole, zero, residue, point)
        limit = total.pop((0, 0), ClosedForm())
        if any(total.values()):
            raise NotThisWay(f"its antiderivative does not converge at {point}")
        return limit


def _add_over_pole(
    total: dict[tuple[int, int], ClosedForm],
    pole: Fraction,
    zero: Fraction,
    residue: Fraction,
    point: Fraction,
) -> None:
    """Add the antiderivative of residue · log|x − zero| / (x − pole)."""
    if pole == zero:  # log² / 2
        if pole == point:
            total[0, 2] += constant(residue / 2)
        else:
            total[0, 0] += log(point - pole) * log(point - pole) * (residue / 2)
        return
    # With u = (x − pole) / (zero − pole): log|zero − pole| log|x − pole| − Li₂(u).
    size = log(zero - pole) * residue
    if pole == point:
        total[0, 1] += size
    else:
        total[0, 0] += size * log(point - pole)
    total[0, 0] += dilogarithm((point - pole) / (zero - pole)) * -residue


def _integrated(
    fractions: PartialFractions,
) -> tuple[PartialFractions, Mapping[Fraction, Fraction]]:
    """Return the rational part of an antiderivative, and the residues of its logarithms by pole."""
    raised = {
        (pole, order - 1): -value / (order - 1)
        for (pole, order), value in fractions.poles.items()
        if order > 1
    }
    simple = {pole: value for (pole, order), value in fractions.poles.items() if order == 1}
    return PartialFractions(fractions.polynomial.integral(), raised), simple


def _expanded(fractions: PartialFractions, point: Fraction) -> dict[int, Fraction]:
    """Return the coefficients of the powers of x − point up to 0."""
    found = {0: as_fraction(fractions.polynomial(as_flint(point)))}
    for (pole, order), value in fractions.poles.items():
        if pole == point:
            found[-order] = value
        else:
            found[0] += value / (point - pole) ** order
    return found


def _quotient(fractions: PartialFractions) -> Quotient:
    import flint

    total = Quotient(fractions.polynomial)
    for (pole, order), value in fractions.poles.items():
        below = flint.fmpq_poly([as_flint(-pole), 1]) ** order
        total += Quotient([as_flint(value)], below)
    return total
