"""Frank's family."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from residuum.relaxations.carriers import Carrier, Exact, Number
from residuum.relaxations.degrees import Degree
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.lukasiewicz import Lukasiewicz
from residuum.relaxations.product import Product
from residuum.relaxations.tnorms import Archimedean, TNorm


def frank(s: Exact) -> TNorm:
    """Return Frank's t-norm: s = 1 is the product, s = inf is Łukasiewicz."""
    return Product() if s == 1 else Lukasiewicz() if s == math.inf else Frank(s)


@final
@dataclass(frozen=True)
class Frank(Archimedean):
    """T(x, y) = log_s(1 + (sˣ − 1)(sʸ − 1) / (s − 1)), s > 0, s ≠ 1."""

    source = "Frank 1979"
    s: Exact

    @property
    def limit(self) -> Exact:
        return math.inf

    @property
    def parameters(self) -> Mapping[str, Exact]:
        return {"s": self.s}

    @property
    def expressions(self) -> Expressions:
        return Expressions(
            conjunction="log(1 + (s**x - 1) * (s**y - 1) / (s - 1)) / log(s)",
            disjunction="1 - log(1 + (s**(1 - x) - 1) * (s**(1 - y) - 1) / (s - 1)) / log(s)",
            residuum="1 if x <= y else log(1 + (s - 1) * (s**y - 1) / (s**x - 1)) / log(s)",
            penalty="(1 - 1 / s) / log(s) * log((s - 1) / (s**x - 1))",
        )

    @property
    def _log_s(self) -> float:
        # log1p keeps the digits of a parameter close to 1.
        return math.log1p(float(self.s - 1)) if 0.5 < self.s < 2 else math.log(self.s)

    @property
    def _scale(self) -> float:
        return -math.expm1(-self._log_s) / self._log_s

    def penalty(self, x: Degree) -> Number:
        on = x.on
        log_s = on.constant(self._log_s)
        # (s − 1) / (sˣ − 1) − 1, in the form whose exponentials cannot overflow.
        if self._log_s > 0:
            above, below = on.expm1(x.false * log_s), -on.expm1(-x.true * log_s)
        else:
            above = on.exp(x.true * log_s) * on.expm1(x.false * log_s)
            below = on.expm1(x.true * log_s)
        return on.constant(self._scale) * on.log1p(on.ratio(above, below, at_zero=math.inf))

    def degree(self, on: Carrier, penalty: Number) -> Degree:
        u = penalty * on.constant(1 / self._scale)
        log_s = on.constant(self._log_s)
        if self._log_s > -1:
            power = on.log1p(on.expm1(log_s) * on.exp(-u))
        else:  # 1 + (s − 1) exp(−u) would round to 0 for small u
            power = on.log(on.exp(log_s - u) - on.expm1(-u))
        return Degree(on, true=on.ratio(power, log_s, at_zero=0) + 0)  # + 0: never −0
