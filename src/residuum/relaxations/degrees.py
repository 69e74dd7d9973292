"""Degrees of truth. A degree x is stored by one or more of its sides.

The *sides* are x, 1 − x, log x and log(1 − x). Near 0 and 1 some of them keep digits that others
lose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final, final

from residuum.relaxations.carriers import Carrier, Exact, LazyCarrier, Number

SIDES: Final = ("true", "false", "log_true", "log_false")
"""The names of the sides x, 1 − x, log x and log(1 − x)."""


@final
class Later:
    """A side that is computed when it is first used, and then kept."""

    __slots__ = ("_compute", "_number")

    def __init__(self, compute: Callable[[], Number]) -> None:
        self._compute: Callable[[], Number] | None = compute
        self._number: Number = None

    @property
    def number(self) -> Number:
        """The value of the side."""
        if self._compute is not None:
            self._number, self._compute = self._compute(), None
        return self._number


@final
class Degree:
    """A degree of truth x.

    At least one side is known, as a number or as a `Later`. The other sides are computed from it,
    in the way that loses the fewest digits. Negation swaps the sides and loses nothing: ¬¬x is x.

    >>> import residuum as rs
    >>> from residuum.relaxations import FLOATS
    >>> tiny = rs.Degree(FLOATS, false=1e-30)  # 1 − 1e-30, which no float is
    >>> tiny.true, tiny.false
    (1.0, 1e-30)
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
        """The side x."""
        if self._true is not None:
            return _now(self._true)
        if self._false is not None:
            return 1 - _now(self._false)
        if self._log_true is not None:
            return self.on.exp(_now(self._log_true))
        return -self.on.expm1(_now(self._log_false))

    @property
    def log_true(self) -> Number:
        """The side log x."""
        if self._log_true is not None:
            return _now(self._log_true)
        if self._true is not None:
            return self.on.log(_now(self._true))
        if self._false is not None:
            return self.on.log1p(-_now(self._false))
        return log1mexp(self.on, _now(self._log_false))

    @property
    def false(self) -> Number:
        """The side 1 − x."""
        return self.negated.true

    @property
    def log_false(self) -> Number:
        """The side log(1 − x)."""
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
        """Whether x itself is known, rather than computed from another side."""
        return self._true is not None

    @property
    def known_sides(self) -> list[str]:
        """The names of the sides that are known."""
        return [name for name in SIDES if getattr(self, f"_{name}") is not None]


def _now(side: Number) -> Number:
    return side.number if isinstance(side, Later) else side


def log1mexp(on: Carrier, x: Number) -> Number:
    """Return log(1 − exp(x)) for x ≤ 0, by one formula above −log 2 and another below."""
    near_zero = on.log(-on.expm1(x))
    return on.choose(x, on.constant(-math.log(2)), on.log1p(-on.exp(x)), near_zero)


def log1mexp_or(on: LazyCarrier, x: Number, instead: Callable[[], Number]) -> Number:
    """Return log(1 − exp(x)) for x ≤ 0, but `instead()`, which is log(−x), where x is tiny."""
    near_zero = on.log_linear(-on.expm1(x), 1, instead)
    return on.choose(x, on.constant(-math.log(2)), on.log1p(-on.exp(x)), near_zero)


def log1pexp(on: Carrier, x: Number) -> Number:
    """Return log(1 + exp(x)) without overflow."""
    return on.choose(x, on.constant(0), on.log1p(on.exp(x)), x + on.log1p(on.exp(-x)))


def log_norm(on: Carrier, logarithms: Sequence[Number], p: Exact) -> Number:
    """Return the logarithm of the p-norm of numbers, from the logarithms of these numbers.

    For p = 1 this is log-sum-exp. All its derivatives lie between 0 and 1.
    """

    def add(x: Number, y: Number) -> Number:
        apart = on.excess(x, y) + on.excess(y, x)
        rest = on.log1p(on.exp(-on.constant(p) * apart)) * on.constant(1 / p)
        return on.maximum(x, y) + rest

    return reduce(add, logarithms)


def log_remainder(on: Carrier, x: Number, y: Number, p: Exact) -> Number:
    """Return log (exp(py) − exp(px))^(1/p) for x < y: the z for which `log_norm` of x, z is y."""
    remaining = log1mexp(on, -on.constant(p) * on.excess(y, x))
    return y + remaining * on.constant(1 / p)


def ordered(x: Degree, y: Degree) -> tuple[Number, Number]:
    """Return two numbers of which the first is at most the second exactly if x ≤ y.

    If the same side of both degrees is known, that side is compared, so that nothing is rounded.
    """
    known = x.knows_true and y.knows_true
    if not known and x.negated.knows_true and y.negated.knows_true:
        return y.false, x.false
    return x.true, y.true


def lesser(x: Degree, y: Degree) -> Degree:
    """Return the smaller of two degrees."""
    if isinstance(x.on, LazyCarrier):  # only the side that is used is computed
        on = x.on
        return both_sides(
            on, lambda: on.minimum(x.true, y.true), lambda: on.maximum(x.false, y.false)
        )
    return choose(*ordered(x, y), x, y)


def choose(low: Number, high: Number, then: Degree, otherwise: Degree) -> Degree:
    """Return the degree `then` where low ≤ high, and `otherwise` elsewhere."""
    on = then.on
    return both_sides(
        on,
        lambda: on.choose(low, high, then.true, otherwise.true),
        lambda: on.choose(low, high, then.false, otherwise.false),
    )


def both_sides(on: Carrier, true: Callable[[], Number], false: Callable[[], Number]) -> Degree:
    """Return the degree with these two sides. A lazy carrier computes them when they are used."""
    if isinstance(on, LazyCarrier):
        return Degree(on, true=Later(true), false=Later(false))
    return Degree(on, true=true(), false=false())


def truth_of(on: Carrier, value: bool) -> Degree:
    """Return `true` or `false` as a degree."""
    return Degree(on, true=on.constant(int(value)), false=on.constant(int(not value)))
