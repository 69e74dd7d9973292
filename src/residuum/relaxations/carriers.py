"""Carriers: the arithmetic that a relaxation may use. Floats and fractions are two of them.

A relaxation is written once, for any carrier. A *number* is a value of the kind that the carrier
computes with. Numbers have the operators `+`, `-` and `*`; the carrier has all other functions.
`log(0)` is −inf and overflow is inf, never an exception or a NaN.
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
"""The largest exponent of a fraction. Beyond it a power has too many digits."""


def as_float(value: Exact) -> float:
    """Return the nearest float, by operations that PyTorch 2.11 can trace."""
    return value.numerator / value.denominator if isinstance(value, Fraction) else float(value)


class Carrier(Protocol):
    """The functions of a kind of number: floats, fractions, arrays, tensors, exact functions."""

    def constant(self, value: Exact) -> Number:
        """Return a parameter of a relaxation as a number."""
        ...

    def minimum(self, x: Number, y: Number) -> Number:
        """Return the smaller of two numbers."""
        ...

    def maximum(self, x: Number, y: Number) -> Number:
        """Return the larger of two numbers."""
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
"""A function that takes the numbers at some places of a side."""


class LazyCarrier(Carrier):
    """A carrier of large numbers, such as tensors. A side of a degree is computed when it is used.

    Each of the four sides is computed by its own formula, so that none loses digits of another.
    """

    @abstractmethod
    def log_or(self, x: Number, instead: Callable[[], Number]) -> Number:
        """Return log(x), but `instead()` where x is so small that it has lost digits."""

    @abstractmethod
    def log_complement(self, x: Number, rest: Number, instead: Callable[[], Number]) -> Number:
        """Return log(1 − x). `x` and `rest`, which is 1 − x, are computed when they are used.

        The result is `instead()` where 1 − x is so small that it has lost digits.
        """

    @abstractmethod
    def log_linear(self, x: Number, factor: float, instead: Callable[[], Number]) -> Number:
        """Return log(x · factor), but `instead()` where x is below the rounding error of 1.

        There a function that is linear near 0 equals its linear part to the last digit.
        """

    @abstractmethod
    def log_rest(
        self, x: Number, rest: Callable[[Pick], Number], log_rest: Callable[[Pick], Number]
    ) -> Number:
        """Return log(1 − x). `x` is computed when it is used.

        Where x is large the result is the logarithm of `rest(pick)`, and where 1 − x is so small
        that it has lost digits it is `log_rest(pick)`. `pick` takes from each side only the numbers
        that are needed there.
        """

    @abstractmethod
    def add_product(self, x: Number, y: Number, z: Number) -> Number:
        """Return x + yz in one operation."""


@final
class Floats:
    """Python floats as a carrier."""

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
    """Exact fractions as a carrier. A result that is irrational raises InexactError."""

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
        "expected a rational relaxation for degrees that are fractions, got an irrational value; "
        "give the degrees as floats"
    )


FLOATS = Floats()
FRACTIONS = Fractions()
