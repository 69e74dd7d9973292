"""A formula of a rational logic as a tree of cases: rational functions between polynomial guards.

Almost everywhere in the unit cube the degree is a quotient of polynomials in the degrees of the
atoms. Which quotient it is depends on the signs of finitely many irreducible polynomials, the
*guards*. A branch is built when it is first visited. All of it is exact, up to sets without
volume: a polynomial that is not 0 everywhere is 0 almost nowhere.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, final

from residuum.analysis.cases.charts import Chart
from residuum.analysis.cases.signs import SignPair, definite_sign, exclusions
from residuum.analysis.methods import NotThisWay, RestrictedCarrier, RestrictedNumber
from residuum.logic import Atom, Formula
from residuum.relaxations import Degree, Relaxation, interpret
from residuum.relaxations.carriers import Exact

MOST_DEGREE = 40
"""The highest exponent of an atom in a polynomial."""

MOST_TERMS = 5_000
"""The most terms of a polynomial."""

MOST_WORK = 500_000
"""The most terms of one factor times those of the other."""

MOST_BRANCHES = 3_000
"""The most branches of a tree."""

Signs = Mapping[str, bool]


@final
class Leaf:
    """A case in which the degree is one rational function. Equal leaves are the same object."""

    __slots__ = ("denominator", "numerator")

    def __init__(self, numerator: Any, denominator: Any) -> None:
        self.numerator = numerator
        self.denominator = denominator

    def integral(self) -> Fraction | None:
        """Return the mean over the unit cube if this is a polynomial, else None."""
        if not self.denominator.is_constant():
            return None
        total = Fraction(0)
        for exponents, coefficient in self.numerator.terms():
            share = math.prod(int(exponent) + 1 for exponent in exponents)
            total += Fraction(int(coefficient.p), int(coefficient.q) * share)
        divisor = self.denominator.leading_coefficient()
        return total * int(divisor.q) / int(divisor.p)


@final
class Branch:
    """A node whose guard is positive in one subtree and negative in the other."""

    __slots__ = ("children", "guard", "name", "signs")

    def __init__(self, guard: Any, signs: Signs) -> None:
        self.guard = guard
        self.name = str(guard)
        self.signs = signs
        self.children: dict[bool, TreeNode] = {}


TreeNode = Leaf | Branch


@final
class Tree:
    """The cases of a formula's degree times the weight of a chart, built as they are visited.

    Building a branch after the deadline, by `time.perf_counter`, raises `OutOfTime`.
    """

    def __init__(
        self,
        formula: Formula,
        atoms: Sequence[Atom],
        relaxation: Relaxation,
        chart: Chart | None = None,
        *,
        deadline: float = math.inf,
    ) -> None:
        import flint

        self._formula = formula
        self._atoms = atoms
        self._relaxation = relaxation
        self._context = flint.fmpq_mpoly_ctx.get(tuple(f"x{i}" for i in range(len(atoms))), "lex")
        self._definite: dict[str, bool | None] = {}
        self._leaves: dict[str, Leaf] = {}
        self._guards: dict[str, Any] = {}
        self._exclusions: dict[tuple[str, str], frozenset[SignPair]] = {}
        self._branches = 0
        self._deadline = deadline
        degrees, self.weight = list(self._context.gens()), self._context.constant(1)
        if chart is not None:
            degrees, self.weight = chart.place(degrees, self.weight)
        self._degrees = degrees
        self.root = self._node({})

    def child(self, branch: Branch, positive: bool) -> TreeNode:
        """Return the case where the guard of a branch is positive, or negative."""
        if positive not in branch.children:
            branch.children[positive] = self._node({**branch.signs, branch.name: positive})
        return branch.children[positive]

    def exclude(self, left: str, right: str) -> frozenset[SignPair]:
        """Return pairs of signs that two guards never have at once. Some may not be found."""
        if (left, right) not in self._exclusions:
            found = exclusions(self._guards[left], self._guards[right])
            self._exclusions[left, right] = found
            self._exclusions[right, left] = frozenset((j, i) for i, j in found)
        return self._exclusions[left, right]

    def _node(self, signs: Signs) -> TreeNode:
        on = _Rationals(self._context, signs, self._definite, self._deadline)
        one = self._context.constant(1)
        known = {
            atom: Degree(on, true=Rational(degree, one))
            for atom, degree in zip(self._atoms, self._degrees, strict=True)
        }
        try:
            degree: Rational = interpret(self._formula, known, self._relaxation, on).true
        except _Unsettled as unsettled:
            self._branches += 1
            if self._branches > MOST_BRANCHES:
                raise NotThisWay(f"its degree has more than {MOST_BRANCHES:,} cases") from None
            branch = Branch(unsettled.guard, signs)
            self._guards[branch.name] = branch.guard
            return branch
        weighted = degree * Rational(self.weight, one)
        leaf = Leaf(weighted.numerator, weighted.denominator)
        return self._leaves.setdefault(f"{leaf.numerator} / {leaf.denominator}", leaf)


class OutOfTime(Exception):  # noqa: N818  # control flow, not an error
    """The deadline of a tree has passed."""


class _Unsettled(Exception):  # noqa: N818  # control flow, not an error
    """The sign of this polynomial is needed, but not known."""

    def __init__(self, guard: Any) -> None:
        super().__init__()
        self.guard = guard


@final
class Rational(RestrictedNumber):
    """A quotient of polynomials in lowest terms. The denominator has the leading coefficient 1."""

    __slots__ = ("denominator", "numerator")

    def __init__(self, numerator: Any, denominator: Any) -> None:
        common = numerator.gcd(denominator)
        if not common.is_constant():
            numerator, denominator = numerator // common, denominator // common
        leading = denominator.leading_coefficient()
        self.numerator = numerator / leading
        self.denominator = denominator / leading

    def _like(self, other: Any) -> Rational:
        if isinstance(other, Rational):
            return other
        return constant(self.numerator.context(), other)

    def __add__(self, other: Any) -> Rational:
        other = self._like(other)
        if self.denominator == other.denominator:
            return Rational(self.numerator + other.numerator, self.denominator)
        above = _times(self.numerator, other.denominator) + _times(
            other.numerator, self.denominator
        )
        return Rational(above, _times(self.denominator, other.denominator))

    def __neg__(self) -> Rational:
        return Rational(-self.numerator, self.denominator)

    def __sub__(self, other: Any) -> Rational:
        return self + -self._like(other)

    def __rsub__(self, other: Any) -> Rational:
        return self._like(other) + -self

    def __mul__(self, other: Any) -> Rational:
        other = self._like(other)
        # Common factors are cancelled before multiplying, which keeps products small.
        a = Rational(self.numerator, other.denominator)
        b = Rational(other.numerator, self.denominator)
        return Rational(_times(a.numerator, b.numerator), _times(a.denominator, b.denominator))

    __radd__, __rmul__ = __add__, __mul__

    def over(self, divisor: Rational) -> Rational:
        """Return this function divided by another, which must not be 0 everywhere."""
        inverse = Rational(divisor.denominator, divisor.numerator)
        return self * inverse


def constant(context: Any, value: Exact) -> Rational:
    """Return a finite number as a rational function."""
    if value in (math.inf, -math.inf):
        raise NotThisWay("a number in it is infinite")
    exact = Fraction(value)
    return Rational(context.constant(exact.numerator), context.constant(exact.denominator))


def _times(left: Any, right: Any) -> Any:
    """Return the product of two polynomials, or raise `NotThisWay` if it is too large."""
    degrees = [a + b for a, b in zip(left.degrees(), right.degrees(), strict=True)]
    if max(degrees, default=0) > MOST_DEGREE:
        raise NotThisWay(f"polynomials in it have a degree over {MOST_DEGREE}")
    if len(left) * len(right) > MOST_WORK:
        raise NotThisWay("polynomials in it are too long to multiply")
    product = left * right
    if len(product) > MOST_TERMS:
        raise NotThisWay(f"polynomials in it have more than {MOST_TERMS:,} terms")
    return product


@final
class _Rationals(RestrictedCarrier):
    what = "rational"

    def __init__(
        self, context: Any, signs: Signs, definite: dict[str, bool | None], deadline: float
    ) -> None:
        self._context = context
        self._signs = signs
        self._definite = definite
        self._deadline = deadline

    def constant(self, value: Exact) -> Rational:
        return constant(self._context, value)

    def minimum(self, x: Rational, y: Rational) -> Rational:
        return self.choose(x, y, x, y)

    def maximum(self, x: Rational, y: Rational) -> Rational:
        return self.choose(x, y, y, x)

    def excess(self, x: Rational, y: Rational) -> Rational:
        return self.choose(x, y, self.constant(0), x - y)

    def ratio(self, x: Rational, y: Rational, at_zero: Exact) -> Rational:
        return self.constant(at_zero) if y.numerator.is_zero() else x.over(y)

    def choose(self, x: Rational, y: Rational, then: Rational, otherwise: Rational) -> Rational:
        if time.perf_counter() > self._deadline:
            raise OutOfTime
        gap = x - y
        if gap.numerator.is_zero():
            return then
        above, below = self._is_positive(gap.numerator), self._is_positive(gap.denominator)
        return otherwise if above == below else then

    def _is_positive(self, polynomial: Any) -> bool:
        content, factors = polynomial.factor()
        positive = bool(content > 0)
        for factor, exponent in factors:
            if int(exponent) % 2:
                positive ^= not self._factor_is_positive(factor)
        return positive

    def _factor_is_positive(self, factor: Any) -> bool:
        name = str(factor)
        if name not in self._definite:
            self._definite[name] = definite_sign(factor)
        settled = self._definite[name]
        if settled is None:
            settled = self._signs.get(name)
        if settled is None:
            raise _Unsettled(factor)
        return settled
