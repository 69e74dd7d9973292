"""A degree of truth, carried on whichever sides are known: x, 1 − x, log x, log(1 − x)."""

from __future__ import annotations

import math
from typing import final

from residuum.relaxations.carriers import Carrier, Number


@final
class Degree:
    """A relaxed truth value.

    At least one side is known; the others are derived from the known ones, by the route that
    loses least. Negation swaps the sides, so that it loses nothing at all: ¬¬x is x.
    """

    __slots__ = ("_false", "_log_false", "_log_true", "_true", "on")

    def __init__(
        self,
        on: Carrier,
        *,
        true: Number | None = None,
        false: Number | None = None,
        log_true: Number | None = None,
        log_false: Number | None = None,
    ) -> None:
        self.on = on
        self._true = true
        self._false = false
        self._log_true = log_true
        self._log_false = log_false

    @property
    def true(self) -> Number:
        """x."""
        if self._true is not None:
            return self._true
        if self._false is not None:
            return 1 - self._false
        if self._log_true is not None:
            return self.on.exp(self._log_true)
        return -self.on.expm1(self._log_false)

    @property
    def log_true(self) -> Number:
        """log x."""
        if self._log_true is not None:
            return self._log_true
        if self._true is not None:
            return self.on.log(self._true)
        if self._false is not None:
            return self.on.log1p(-self._false)
        return log1mexp(self.on, self._log_false)

    @property
    def false(self) -> Number:
        """1 − x."""
        return self.negated.true

    @property
    def log_false(self) -> Number:
        """log(1 − x)."""
        return self.negated.log_true

    @property
    def negated(self) -> Degree:
        """The degree 1 − x."""
        return Degree(
            self.on,
            true=self._false,
            false=self._true,
            log_true=self._log_false,
            log_false=self._log_true,
        )

    @property
    def knows_true(self) -> bool:
        """Whether x itself is known, rather than derived from 1 − x or a logarithm."""
        return self._true is not None


def log1mexp(on: Carrier, x: Number) -> Number:
    """Return log(1 − exp(x)) for x ≤ 0, by the route that is accurate on either side of −log 2."""
    near_zero = on.log(-on.expm1(x))
    return on.choose(x, on.constant(-math.log(2)), on.log1p(-on.exp(x)), near_zero)


def ordered(x: Degree, y: Degree) -> tuple[Number, Number]:
    """Return two numbers that are in order exactly when the degrees are.

    Where both degrees are known on the same side, they are compared there: no rounding.
    """
    known = x.knows_true and y.knows_true
    if not known and x.negated.knows_true and y.negated.knows_true:
        return y.false, x.false
    return x.true, y.true


def lesser(x: Degree, y: Degree) -> Degree:
    """Return the smaller degree."""
    return choose(*ordered(x, y), x, y)


def choose(low: Number, high: Number, then: Degree, otherwise: Degree) -> Degree:
    """Return `then` where low ≤ high and `otherwise` elsewhere, on both sides."""
    on = then.on
    return Degree(
        on,
        true=on.choose(low, high, then.true, otherwise.true),
        false=on.choose(low, high, then.false, otherwise.false),
    )


def truth_of(on: Carrier, value: bool) -> Degree:
    """Return `true` or `false` as a degree."""
    return Degree(on, true=on.constant(int(value)), false=on.constant(int(not value)))
