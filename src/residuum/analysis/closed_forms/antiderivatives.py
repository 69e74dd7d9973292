"""The method "antiderivative": closed forms for rational logics, over one or two atoms.

The unit square is cut into columns of cases. Over y, a case has an antiderivative by partial
fractions over the rational functions of x, so that a column's integral over y is
R(x) + Σ A(x) log|C(x)|. Over x, partial fractions again lead to powers, logarithms, their
products and dilogarithms. Single terms may grow without bound towards the end of a column; their
expansions there cancel, because the degree is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction

from residuum.analysis.cases.tree import Leaf, Tree
from residuum.analysis.closed_forms.logarithmic import Integrand
from residuum.analysis.closed_forms.numbers import ClosedForm
from residuum.analysis.closed_forms.quotients import Quotient
from residuum.analysis.closed_forms.square_columns import Column, Strip, columns_of, rows_of
from residuum.analysis.methods import ExactMethod, NotThisWay
from residuum.logic import Atom, Formula
from residuum.relaxations import Relaxation


def integrate_in_closed_form(
    formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation
) -> Fraction | ClosedForm:
    """Return the mean degree of a formula of one or two atoms of a rational logic."""
    if len(atoms) > ANTIDERIVATIVE.most_atoms:
        raise NotThisWay("it has more than two atoms")
    if len(atoms) == 1:
        atoms = [*atoms, Atom(f"{atoms[0].predicate}_unused")]
    try:
        return _integrate(formula, atoms, relaxation)
    except NotThisWay as reason:
        # Curves may be rational functions of the other atom.
        with suppress(NotThisWay):
            return _integrate(formula, atoms[::-1], relaxation)
        raise reason from None


ANTIDERIVATIVE = ExactMethod("antiderivative", integrate_in_closed_form, most_atoms=2)


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
"""Coefficients of 1, y, y², …"""


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
