"""The method "antiderivative": closed forms for rational logics, over one or two atoms.

The unit square is cut into columns of cases. Over y, a case has an antiderivative by partial
fractions over the rational functions of x, so that a column's integral over y is
R(x) + Σ A(x) log|C(x)|. Over x, partial fractions again lead to powers, logarithms, their
products and dilogarithms. Single terms may grow without bound towards the end of a column; their
expansions there cancel, because the degree is bounded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, final

from residuum.analysis.cases.tree import Leaf, Tree
from residuum.analysis.closed_forms.decomposition import Column, Strip, columns_of, rows_of
from residuum.analysis.closed_forms.numbers import ClosedForm, constant, dilogarithm, log
from residuum.analysis.closed_forms.univariate import (
    PartialFractions,
    Quotient,
    as_flint,
    as_fraction,
    partial_fractions,
    root,
)
from residuum.analysis.methods import NotThisWay
from residuum.logic import Atom, Formula
from residuum.relaxations import Relaxation


def integrate_in_closed_form(
    formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation
) -> Fraction | ClosedForm:
    """Return the mean degree of a formula of one or two atoms of a rational logic."""
    if len(atoms) == 1:
        atoms = [*atoms, Atom(f"{atoms[0].predicate}_unused")]
    try:
        return _integrate(formula, atoms, relaxation)
    except NotThisWay as reason:
        # Where curves are no rational functions of the first atom, they may be of the second.
        with suppress(NotThisWay):
            return _integrate(formula, atoms[::-1], relaxation)
        raise reason from None


def _integrate(
    formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation
) -> Fraction | ClosedForm:
    columns = columns_of(Tree(formula, atoms, relaxation))
    total = sum(map(_over_column, columns), ClosedForm())
    rational = total.rational
    return total if rational is None else rational


def _over_column(column: Column) -> ClosedForm:
    integrand = Integrand()
    for strip in column.strips:
        _add_over_strip(integrand, strip)
    return integrand.integral(column.low, column.high)


def _add_over_strip(integrand: Integrand, strip: Strip) -> None:
    """Add the integral of a case over y, from its lower to its upper curve, as a function of x."""
    whole, poles = _partial_fractions(strip.leaf)
    for end, sign in ((strip.upper, Quotient([1])), (strip.lower, Quotient([-1]))):
        power = sign
        for exponent, coefficient in enumerate(whole, start=1):
            power *= end
            integrand.add(coefficient * power / Quotient([exponent]))
        for pole, coefficients in poles:
            distance = end - pole
            if not distance:
                raise NotThisWay("one of its cases has a pole where it ends")
            power = sign
            for order, coefficient in enumerate(coefficients, start=1):
                if order == 1:
                    integrand.add_log(coefficient * sign, distance)
                else:
                    power /= distance
                    integrand.add(coefficient * power / Quotient([1 - order]))


Poles = list[tuple[Quotient, list[Quotient]]]


def _partial_fractions(leaf: Leaf) -> tuple[list[Quotient], Poles]:
    """Return a case as a polynomial in y, and poles y(x) with coefficients from order 1 on."""
    content, factors = leaf.denominator.factor()
    scale = Quotient([content])
    linear: list[tuple[Quotient, int]] = []
    for factor, multiplicity in factors:
        rows = rows_of(factor)
        if len(rows) > 2:
            raise NotThisWay(f"one of its cases has a pole where {factor} is 0, no rational curve")
        leading = Quotient(rows[-1])
        for _ in range(int(multiplicity)):
            scale *= leading
        if len(rows) == 2:
            linear.append((-(Quotient(rows[0]) / leading), int(multiplicity)))
    numerator = [Quotient(row) / scale for row in rows_of(leaf.numerator)]
    product = [Quotient([1])]
    for pole, multiplicity in linear:
        for _ in range(multiplicity):
            product = _times_linear(product, pole)
    whole, rest = _divided(numerator, product)
    poles = []
    for pole, multiplicity in linear:
        others = [Quotient([1])]
        for other, order in linear:
            for _ in range(order if other is not pole else 0):
                others = _times_linear(others, other)
        series = _series(_shifted(rest, pole), _shifted(others, pole), multiplicity)
        poles.append((pole, series[::-1]))
    return whole, poles


PolynomialInY = list[Quotient]
"""The coefficients of 1, y, y², …"""


def _times_linear(polynomial: PolynomialInY, root: Quotient) -> PolynomialInY:
    zero = Quotient([0])
    raised, lowered = [zero, *polynomial], [*(root * one for one in polynomial), zero]
    return [a - b for a, b in zip(raised, lowered, strict=True)]


def _divided(numerator: PolynomialInY, monic: PolynomialInY) -> tuple[PolynomialInY, PolynomialInY]:
    rest, degree = list(numerator), len(monic) - 1
    whole: PolynomialInY = []
    while len(rest) > degree:
        leading = rest.pop()
        whole.append(leading)
        for index in range(degree):
            place = len(rest) - degree + index
            rest[place] -= leading * monic[index]
    return whole[::-1], rest


def _shifted(polynomial: PolynomialInY, by: Quotient) -> PolynomialInY:
    """Return the coefficients in powers of y − by, by repeated division (Horner)."""
    rest, found = list(polynomial), []
    while rest:
        for index in range(len(rest) - 2, -1, -1):
            rest[index] += by * rest[index + 1]
        found.append(rest.pop(0))
    return found


def _series(numerator: PolynomialInY, denominator: PolynomialInY, length: int) -> PolynomialInY:
    """Return the first coefficients of a quotient of power series."""
    zero = Quotient([0])

    def at(polynomial: PolynomialInY, index: int) -> Quotient:
        return polynomial[index] if index < len(polynomial) else zero

    found: PolynomialInY = []
    for index in range(length):
        value = at(numerator, index)
        for k in range(index):
            value -= found[k] * at(denominator, index - k)
        found.append(value / denominator[0])
    return found


@final
class Integrand:
    """R(x) + Σ A(x) log|C(x)|, a function to be integrated, with rational R, A and C."""

    def __init__(self) -> None:
        self._plain = Quotient([0])
        self._constants: dict[ClosedForm, Quotient] = defaultdict(lambda: Quotient([0]))
        self._factors: dict[str, tuple[Any, Quotient]] = {}

    def add(self, value: Quotient) -> None:
        """Add a rational function to the integrand."""
        self._plain += value

    def add_log(self, coefficient: Quotient, argument: Quotient) -> None:
        """Add coefficient · log|argument| to the integrand."""
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
        """Return the integral between two rationals. The integrand must be bounded there."""
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
