"""Hamacher's family."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from residuum.relaxations.carriers import Carrier, Exact, LazyCarrier, Number, as_float
from residuum.relaxations.degrees import Degree, log1pexp
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.product import Product
from residuum.relaxations.tnorms import GENTLE, ClosedForm, TNorm

_SMALL = 1e-3  # where γ times the odds may be below the range of floats


def hamacher(gamma: Exact) -> TNorm:
    """Return Hamacher's t-norm: γ = 1 is the product."""
    return Product() if gamma == 1 else Hamacher(gamma)


@final
@dataclass(frozen=True)
class Hamacher(ClosedForm):
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
        odds = on.ratio(x.false, x.true, at_zero=math.inf)
        near_true = on.ratio(on.log1p(gamma * odds), gamma, at_zero=0) if self.gamma else odds
        if not isinstance(on, LazyCarrier):
            return near_true
        return on.choose(on.constant(0.5), x.true, near_true, self._near_false(x))

    def _near_false(self, x: Degree) -> Number:
        """Return the penalty through the logarithm of the odds, which do overflow."""
        on, log_odds = x.on, x.log_false - x.log_true
        if self.gamma == 0:
            return on.exp(log_odds)
        if self.gamma < _SMALL:
            weighed = on.constant(self.gamma) * on.exp(log_odds)
            return on.log1p(weighed) * on.constant(1 / self.gamma)
        weighed = log_odds + math.log(as_float(self.gamma))
        return log1pexp(on, weighed) * on.constant(1 / self.gamma)

    def degree(self, on: Carrier, penalty: Number) -> Degree:
        odds = penalty
        if self.gamma != 0:
            gamma = on.constant(self.gamma)
            odds = on.ratio(on.expm1(gamma * penalty), gamma, at_zero=0)
        one, infinity = on.constant(1), on.constant(math.inf)
        false = on.choose(infinity, odds, one, on.ratio(odds, 1 + odds, at_zero=0))
        return Degree(on, true=on.ratio(one, 1 + odds, at_zero=0), false=false)

    def conjoin(self, x: Degree, y: Degree) -> Degree:
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

    def residuum(self, x: Degree, y: Degree) -> Degree:
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
