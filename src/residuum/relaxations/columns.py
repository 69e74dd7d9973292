"""Columns: several numbers of one kind as one number, so that truth functions take all at once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import final

from residuum.relaxations.carriers import Carrier, Exact, Number


@final
class Column:
    """Several numbers. Operators and functions go number by number."""

    __slots__ = ("numbers",)
    __array_ufunc__ = None  # NumPy leaves `array + column` to the column

    def __init__(self, numbers: Iterable[Number]) -> None:
        self.numbers = tuple(numbers)

    def __neg__(self) -> Column:
        return Column(-number for number in self.numbers)

    def __add__(self, other: Number) -> Number:
        return each(operator.add, self, other)

    def __radd__(self, other: Number) -> Number:
        return each(operator.add, other, self)

    def __sub__(self, other: Number) -> Number:
        return each(operator.sub, self, other)

    def __rsub__(self, other: Number) -> Number:
        return each(operator.sub, other, self)

    def __mul__(self, other: Number) -> Number:
        return each(operator.mul, self, other)

    def __rmul__(self, other: Number) -> Number:
        return each(operator.mul, other, self)

    # Generators that users define may divide and take powers as well.

    def __truediv__(self, other: Number) -> Number:
        return each(operator.truediv, self, other)

    def __rtruediv__(self, other: Number) -> Number:
        return each(operator.truediv, other, self)

    def __pow__(self, other: Number) -> Number:
        return each(operator.pow, self, other)


def each(function: Callable[..., Number], *arguments: Number) -> Number:
    """Return a function of each number of columns; of other arguments it is a single number."""
    columns = [given for given in arguments if isinstance(given, Column)]
    if not columns:
        return function(*arguments)
    length = len(columns[0].numbers)
    rows = zip(
        *(one.numbers if isinstance(one, Column) else (one,) * length for one in arguments),
        strict=True,
    )
    return Column(function(*row) for row in rows)


@final
class Columns:
    """A carrier of columns of one length, by the functions of the carrier of their numbers."""

    def __init__(self, on: Carrier, length: int) -> None:
        self._on = on
        self._length = length

    def constant(self, value: Exact) -> Number:
        # No single number: an exact one does not know how to add itself to a column.
        return Column((self._on.constant(value),) * self._length)

    def minimum(self, x: Number, y: Number) -> Number:
        return each(self._on.minimum, x, y)

    def maximum(self, x: Number, y: Number) -> Number:
        return each(self._on.maximum, x, y)

    def excess(self, x: Number, y: Number) -> Number:
        return each(self._on.excess, x, y)

    def ratio(self, x: Number, y: Number, at_zero: Exact) -> Number:
        return each(lambda one, other: self._on.ratio(one, other, at_zero), x, y)

    def choose(self, x: Number, y: Number, then: Number, otherwise: Number) -> Number:
        return each(self._on.choose, x, y, then, otherwise)

    def power(self, x: Number, exponent: Exact) -> Number:
        return each(lambda one: self._on.power(one, exponent), x)

    def log(self, x: Number) -> Number:
        return each(self._on.log, x)

    def log1p(self, x: Number) -> Number:
        return each(self._on.log1p, x)

    def exp(self, x: Number) -> Number:
        return each(self._on.exp, x)

    def expm1(self, x: Number) -> Number:
        return each(self._on.expm1, x)
