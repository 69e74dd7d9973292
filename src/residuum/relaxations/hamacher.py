"""Hamacher's family of t-norms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import final

from residuum.relaxations.carriers import Carrier, Exact, LazyCarrier, Number, as_float
from residuum.relaxations.degrees import Degree, Later, log1pexp, log_norm, log_remainder
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.product import Product
from residuum.relaxations.tnorms import (
    GENTLE,
    OnLogarithms,
    TNorm,
    exactly,
    exactly_false,
    lost,
    unless,
)

_SMALL = 1e-3  # below it γ times the odds may underflow


def hamacher(gamma: Exact) -> TNorm:
    """Return Hamacher's t-norm: γ = 1 is the product."""
    return Product() if gamma == 1 else Hamacher(gamma)


@final
@dataclass(frozen=True)
class Hamacher(OnLogarithms):
    """T(x, y) = xy / (γ + (1 − γ)(x + y − xy)), γ ≥ 0; γ = 1 is the product."""

    gamma: Exact
    source = "Hamacher 1978"
    limit = math.inf
    is_steep = GENTLE

    @property
    def parameters(self) -> Mapping[str, Exact]:
        return {"γ": self.gamma}

    @property
    def expressions(self) -> Expressions:
        return Expressions(
            conjunction="0 if x == y == 0 else x * y / (γ + (1 - γ) * (x + y - x * y))",
            disjunction="1 if x == y == 1 else (x + y + (γ - 2) * x * y) / (1 + (γ - 1) * x * y)",
            residuum="1 if x <= y else y * (γ + (1 - γ) * x) / (y * (γ + (1 - γ) * x) + x - y)",
            penalty="(1 - x) / x" if self.gamma == 0 else "log(1 + γ * (1 - x) / x) / γ",
        )

    def penalty(self, x: Degree) -> Number:
        on, gamma = x.on, x.on.constant(self.gamma)
        if isinstance(on, LazyCarrier):
            if self.gamma < _SMALL:
                found = on.exp(self.log_root(x))
            else:
                weighed = log1pexp(on, self._log_gamma + log_odds_against(x))
                found = weighed * on.constant(1 / self.gamma)
            return exactly(on, lost(on, x.false, x.log_false), found, 0)
        odds = on.ratio(x.false, x.true, at_zero=math.inf)
        return on.ratio(on.log1p(gamma * odds), gamma, at_zero=0) if self.gamma else odds

    def degree(self, on: Carrier, penalty: Number) -> Degree:
        odds = penalty
        if self.gamma != 0:
            gamma = on.constant(self.gamma)
            odds = on.ratio(on.expm1(gamma * penalty), gamma, at_zero=0)
        one, infinity = on.constant(1), on.constant(math.inf)
        false = on.choose(infinity, odds, one, on.ratio(odds, 1 + odds, at_zero=0))
        return Degree(on, true=on.ratio(one, 1 + odds, at_zero=0), false=false)

    @property
    def _log_gamma(self) -> float:
        return math.log(as_float(self.gamma))

    # A lazy carrier computes with the logarithm of the odds o = (1 − x) / x.

    def conjoin_all(self, degrees: Sequence[Degree]) -> Degree:
        on = degrees[0].on
        if not isinstance(on, LazyCarrier):
            return self.plain_conjunction(degrees)

        def add(u: Number, v: Number) -> Number:  # the odds of T are o + o′ + γ o o′
            parts = (u, v) if self.gamma == 0 else (u, v, self._log_gamma + u + v)
            return log_norm(on, parts, 1)

        odds = reduce(add, [log_odds_against(x) for x in degrees])
        return exactly_false(on, degrees, degree_with_odds(on, odds))

    def residuum(self, x: Degree, y: Degree) -> Degree:
        on = x.on
        if not isinstance(on, LazyCarrier):
            return self.plain_residuum(x, y)
        u, v = log_odds_against(x), log_odds_against(y)
        log_odds = log_remainder(on, u, v, 1)  # the odds of x → y are (o′ − o) / (1 + γ o)
        if self.gamma != 0:
            log_odds = log_odds - log1pexp(on, self._log_gamma + u)
        return unless(on, v, u, degree_with_odds(on, log_odds))

    def log_root(self, x: Degree) -> Number:
        log_odds = log_odds_against(x)
        if self.gamma == 0:
            return log_odds
        on = x.on
        assert isinstance(on, LazyCarrier)
        weighed = log1pexp(on, self._log_gamma + log_odds)
        return on.log_linear(weighed, 1 / as_float(self.gamma), lambda: log_odds)

    def degree_at(self, on: LazyCarrier, log_root: Number) -> Degree:
        if self.gamma == 0:
            return degree_with_odds(on, log_root)
        weighed = on.exp(log_root + self._log_gamma)
        shrunk = on.log_linear(-on.expm1(-weighed), 1 / as_float(self.gamma), lambda: log_root)
        return degree_with_odds(on, weighed + shrunk)

    def plain_conjunction(self, degrees: Sequence[Degree]) -> Degree:
        return reduce(self._conjoin_two, degrees)

    def _conjoin_two(self, x: Degree, y: Degree) -> Degree:
        on = x.on
        # The denominator γ + (1 − γ)(x + y − xy), as a sum without cancellation.
        neither = on.constant(self.gamma) * x.false * y.false
        below = neither + x.true + x.false * y.true
        rest = neither + x.true * y.false + x.false * y.true
        return Degree(
            on,
            true=on.ratio(x.true, below, at_zero=0) * y.true,
            false=on.ratio(rest, below, at_zero=1),
        )

    def plain_residuum(self, x: Degree, y: Degree) -> Degree:
        on = x.on
        above = y.true * (x.true + on.constant(self.gamma) * x.false)
        gap = on.excess(x.true, y.true)
        below = above + gap
        return Degree(
            on, true=on.ratio(above, below, at_zero=1), false=on.ratio(gap, below, at_zero=0)
        )

    def relative_gap(self, x: Degree, y: Degree) -> Number:
        if self.gamma != 0:
            return super().relative_gap(x, y)
        return x.on.ratio(x.on.excess(x.true, y.true), x.true * y.false, at_zero=0)


def log_odds_against(x: Degree) -> Number:
    """Return log((1 − x) / x)."""
    return x.log_false - x.log_true


def degree_with_odds(on: LazyCarrier, log_odds: Number) -> Degree:
    """Return the degree x for which log((1 − x) / x) is this number."""
    return Degree(
        on,
        log_true=Later(lambda: -log1pexp(on, log_odds)),
        log_false=Later(lambda: -log1pexp(on, -log_odds)),
    )
