"""Frank's family."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from residuum.relaxations.carriers import Carrier, Exact, Number, as_float
from residuum.relaxations.degrees import Degree, choose, log1pexp, ordered, truth_of
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.lukasiewicz import Lukasiewicz
from residuum.relaxations.product import Product
from residuum.relaxations.tnorms import GENTLE, Archimedean, TNorm

_LARGE = 40  # where exp(−log s) is below a rounding of 1


def frank(s: Exact) -> TNorm:
    """Return Frank's t-norm: s = 1 is the product, s = inf is Łukasiewicz."""
    return Product() if s == 1 else Lukasiewicz() if s == math.inf else Frank(s)


@final
@dataclass(frozen=True)
class Frank(Archimedean):
    """T(x, y) = log_s(1 + (sˣ − 1)(sʸ − 1) / (s − 1)), s > 0, s ≠ 1."""

    s: Exact
    source = "Frank 1979"
    limit = math.inf
    is_steep = GENTLE
    expressions = Expressions(
        conjunction="log(1 + (s**x - 1) * (s**y - 1) / (s - 1)) / log(s)",
        disjunction="1 - log(1 + (s**(1 - x) - 1) * (s**(1 - y) - 1) / (s - 1)) / log(s)",
        residuum="1 if x <= y else log(1 + (s - 1) * (s**y - 1) / (s**x - 1)) / log(s)",
        penalty="(1 - 1 / s) / log(s) * log((s - 1) / (s**x - 1))",
    )

    @property
    def parameters(self) -> Mapping[str, Exact]:
        return {"s": self.s}

    @property
    def _log_s(self) -> float:
        # log1p keeps the digits of a parameter close to 1. Traces know no `math` of fractions, and
        # those of PyTorch 2.11 not that a float may be compared with one.
        is_near = self.s > 0.5 and self.s < 2
        return math.log1p(as_float(self.s - 1)) if is_near else math.log(as_float(self.s))

    @property
    def _scale(self) -> float:
        return -math.expm1(-self._log_s) / self._log_s

    def penalty(self, x: Degree) -> Number:
        on = x.on
        log_s, scale = on.constant(self._log_s), on.constant(self._scale)
        if self._log_s > _LARGE:  # sˣ overflows in quotients; its logarithm does not
            near, far = -on.expm1(-x.true * log_s), -on.expm1(-log_s)
            return scale * (x.false * log_s - on.log(near) + on.log(far))
        # (s − 1) / (sˣ − 1) − 1, in the form whose exponentials cannot overflow.
        if self._log_s > 0:
            above, below = on.expm1(x.false * log_s), -on.expm1(-x.true * log_s)
        else:
            above = on.exp(x.true * log_s) * -on.expm1(x.false * log_s)
            below = -on.expm1(x.true * log_s)
        return scale * on.log1p(on.ratio(above, below, at_zero=math.inf))

    def degree(self, on: Carrier, penalty: Number) -> Degree:
        u = penalty * on.constant(1 / self._scale)
        log_s = on.constant(self._log_s)
        far = on.log1p(on.expm1(log_s) * on.exp(-u))
        if self._log_s > _LARGE:
            power = log1pexp(on, log_s - u)
        elif self._log_s > -1:
            power = far
        else:  # 1 + (s − 1) exp(−u) rounds to 0 for small u
            near = on.log(on.exp(log_s - u) - on.expm1(-u))
            power = on.choose(u, on.constant(1), near, far)
        true = on.ratio(power, log_s, at_zero=0) + 0  # + 0: never −0
        small = on.ratio(on.log1p(-on.expm1(-u) * on.expm1(-log_s)), -log_s, at_zero=0)
        return Degree(on, true=true, false=on.choose(u, on.constant(1), small, 1 - true))

    def residuum(self, x: Degree, y: Degree) -> Degree:
        on = x.on
        log_s = on.constant(self._log_s)
        u, v = x.true * log_s, y.true * log_s
        if self._log_s > 0:
            if self._log_s > _LARGE:
                share = v - u + on.log(-on.expm1(-v)) - on.log(-on.expm1(-u))
                power = log1pexp(on, log_s + share)
            else:
                share = on.ratio(on.expm1(v), on.expm1(u), at_zero=1)
                power = on.log1p(on.expm1(log_s) * share)
            below = Degree(on, true=on.minimum(on.constant(1), on.ratio(power, log_s, at_zero=0)))
        else:  # the share is 1 − drop, where s loses the digits of the share
            gap = on.excess(x.true, y.true)
            drop = on.ratio(on.exp(v) * on.expm1(gap * log_s), on.expm1(u), at_zero=0)
            power = on.log1p(on.expm1(-log_s) * drop)
            falsity = on.ratio(power, -log_s, at_zero=0)
            below = Degree(on, false=on.minimum(on.constant(1), falsity))
        return choose(*ordered(x, y), truth_of(on, True), below)
