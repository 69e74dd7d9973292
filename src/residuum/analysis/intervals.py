"""Interval arithmetic on arrays: bounds that provably hold, each operation rounded outwards."""

from __future__ import annotations

from typing import Any, final

import numpy as np


@final
class Interval:
    """Lower and upper bounds of many numbers; a bound may be infinite."""

    __slots__ = ("high", "low")

    def __init__(self, low: Any, high: Any) -> None:
        self.low = low
        self.high = high

    def __add__(self, other: Interval) -> Interval:
        return _outwards(self.low + other.low, self.high + other.high)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        corners = [
            # An infinite bound stands for large numbers, and 0 times each of them is 0.
            np.nan_to_num(a * b, nan=0.0, posinf=np.inf, neginf=-np.inf)
            for a in (self.low, self.high)
            for b in (other.low, other.high)
        ]
        return _outwards(np.minimum.reduce(corners), np.maximum.reduce(corners))

    def reciprocal(self) -> Interval:
        """Return 1 / x for x ≥ 0, and no bound where x may be negative."""
        fits = self.low >= 0
        low = np.where(fits, 1 / self.high, -np.inf)
        high = np.where(fits & (self.low > 0), 1 / self.low, np.inf)
        return _outwards(low, high)

    def meet(self, other: Interval) -> Interval:
        """Return what both allow, where both are known to hold the number."""
        return Interval(np.maximum(self.low, other.low), np.minimum(self.high, other.high))

    def hull(self, other: Interval) -> Interval:
        """Return what either allows."""
        return Interval(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def where(self, chosen: Any, other: Interval) -> Interval:
        """Return these bounds where chosen, the others elsewhere."""
        return Interval(
            np.where(chosen, self.low, other.low), np.where(chosen, self.high, other.high)
        )


UNBOUNDED = Interval(-np.inf, np.inf)


def exactly(value: Any) -> Interval:
    """Return the interval of a number that is known exactly."""
    number = np.asarray(value, dtype=float)  # not a Python float, which cannot divide by zero
    return Interval(number, number)


def _outwards(low: Any, high: Any) -> Interval:
    # NaN comes of inf − inf: nothing is known then.
    low = np.where(np.isnan(low), -np.inf, np.nextafter(low, -np.inf))
    high = np.where(np.isnan(high), np.inf, np.nextafter(high, np.inf))
    return Interval(low, high)
