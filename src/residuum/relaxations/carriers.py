"""The arithmetic a relaxation may use, and the plain numbers that have it.

A relaxation is written once, against this protocol. A *number* is whatever a carrier computes
with; numbers combine with `+`, `-` and `*`, and the carrier adds what operators cannot say.
Numbers are extended: `log(0)` is −inf and overflow is inf, never an exception or a NaN.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol, final

from residuum.errors import InexactError

Number = Any
Exact = Fraction | int | float

LARGEST_EXACT_EXPONENT = 1000
"""Beyond it a power of a fraction has too many digits to be worth having."""


def as_float(value: Exact) -> float:
    """Return the nearest float, in a way that traces of PyTorch 2.11 know too."""
    return value.numerator / value.denominator if isinstance(value, Fraction) else float(value)


class Carrier(Protocol):
    """What floats, fractions, arrays, tensors and exact functions all offer."""

    def constant(self, value: Exact) -> Number:
        """Return a parameter of a relaxation as a number."""
        ...

    def minimum(self, x: Number, y: Number) -> Number:
        """Return the smaller."""
        ...

    def maximum(self, x: Number, y: Number) -> Number:
        """Return the larger."""
        ...

    def excess(self, x: Number, y: Number) -> Number:
        """Return max(0, x − y), with inf − inf = 0."""
        ...

    def ratio(self, x: Number, y: Number, at_zero: Exact) -> Number:
        """Return x / y, and `at_zero` where y is 0."""
        ...

    def choose(self, x: Number, y: Number, then: Number, otherwise: Number) -> Number:
        """Return `then` where x ≤ y and `otherwise` elsewhere."""
        ...

    def power(self, x: Number, exponent: Exact) -> Number:
        """Return x to a positive exponent, for x ≥ 0."""
        ...

    def log(self, x: Number) -> Number:
        """Return the natural logarithm, −inf at 0."""
        ...

    def log1p(self, x: Number) -> Number:
        """Return log(1 + x), −inf at −1."""
        ...

    def exp(self, x: Number) -> Number:
        """Return e to the x."""
        ...

    def expm1(self, x: Number) -> Number:
        """Return exp(x) − 1."""
        ...


Pick = Callable[[Number], Number]
"""Takes from a side the numbers at some places."""


class LazyCarrier(Carrier):
    """A carrier of large numbers: a side of a degree is computed only when something asks for it.

    All four sides of its degrees stay within reach, so that none need be derived from another.
    """

    @abstractmethod
    def log_or(self, x: Number, instead: Callable[[], Number]) -> Number:
        """Return log(x), but `instead()` where x is too small to have its digits."""

    @abstractmethod
    def log_complement(self, x: Number, rest: Number, instead: Callable[[], Number]) -> Number:
        """Return log(1 − x), for x and `rest`, which is 1 − x, to be computed later.

        `instead()` gives it where 1 − x is too small to have its digits.
        """

    @abstractmethod
    def log_linear(self, x: Number, factor: float, instead: Callable[[], Number]) -> Number:
        """Return log(x · factor), but `instead()` where x is less than a rounding of 1.

        A function of x that is linear near 0 equals its linear part there, to the last digit.
        """

    @abstractmethod
    def log_rest(
        self, x: Number, rest: Callable[[Pick], Number], log_rest: Callable[[Pick], Number]
    ) -> Number:
        """Return log(1 − x), for x to be computed later.

        `rest(pick)` gives 1 − x where x is large, from sides of which `pick` takes what is needed
        there; `log_rest(pick)` gives its logarithm where it is too small to have its digits.
        """

    @abstractmethod
    def add_product(self, x: Number, y: Number, z: Number) -> Number:
        """Return x + yz, in one pass."""


@final
class Floats:
    """Python floats."""

    def constant(self, value: Exact) -> float:
        return float(value)

    def minimum(self, x: float, y: float) -> float:
        return min(x, y)

    def maximum(self, x: float, y: float) -> float:
        return max(x, y)

    def excess(self, x: float, y: float) -> float:
        return x - y if x > y else 0.0

    def ratio(self, x: float, y: float, at_zero: Exact) -> float:
        return x / y if y else float(at_zero)

    def choose(self, x: float, y: float, then: float, otherwise: float) -> float:
        return then if x <= y else otherwise

    def power(self, x: float, exponent: Exact) -> float:
        try:
            return math.pow(x, exponent)
        except OverflowError:
            return math.inf

    def log(self, x: float) -> float:
        return math.log(x) if x else -math.inf

    def log1p(self, x: float) -> float:
        return math.log1p(x) if x != -1 else -math.inf

    def exp(self, x: float) -> float:
        try:
            return math.exp(x)
        except OverflowError:
            return math.inf

    def expm1(self, x: float) -> float:
        try:
            return math.expm1(x)
        except OverflowError:
            return math.inf


@final
class Fractions:
    """Exact fractions; what is not rational raises InexactError."""

    def constant(self, value: Exact) -> Fraction | float:
        return value if value in (math.inf, -math.inf) else Fraction(value)

    def minimum(self, x: Fraction, y: Fraction) -> Fraction:
        return min(x, y)

    def maximum(self, x: Fraction, y: Fraction) -> Fraction:
        return max(x, y)

    def excess(self, x: Fraction, y: Fraction) -> Fraction:
        return x - y if x > y else Fraction(0)

    def ratio(self, x: Fraction, y: Fraction, at_zero: Exact) -> Fraction | float:
        if y == math.inf:
            return Fraction(0)
        return x / y if y else self.constant(at_zero)

    def choose(self, x: Fraction, y: Fraction, then: Number, otherwise: Number) -> Number:
        return then if x <= y else otherwise

    def power(self, x: Fraction, exponent: Exact) -> Fraction:
        if exponent > LARGEST_EXACT_EXPONENT or exponent != int(exponent):
            raise _inexact()
        return x ** int(exponent)

    def log(self, x: Fraction) -> Fraction:
        return _zero_at(x, 1)

    def log1p(self, x: Fraction) -> Fraction:
        return _zero_at(x, 0)

    def exp(self, x: Fraction) -> Fraction:
        return 1 + _zero_at(x, 0)

    def expm1(self, x: Fraction) -> Fraction:
        return _zero_at(x, 0)


def _zero_at(x: Fraction, root: int) -> Fraction:
    if x == root:
        return Fraction(0)
    raise _inexact()


def _inexact() -> InexactError:
    return InexactError(
        "this relaxation is not rational, so it has no exact value on fractions; "
        "give the degrees as floats"
    )


FLOATS = Floats()
FRACTIONS = Fractions()
