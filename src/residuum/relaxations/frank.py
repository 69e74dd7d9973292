"""Frank's family of t-norms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from residuum.relaxations.carriers import Carrier, Exact, LazyCarrier, Number, as_float
from residuum.relaxations.degrees import Degree, Later, choose, log1pexp, ordered, truth_of
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.lukasiewicz import Lukasiewicz
from residuum.relaxations.product import Product
from residuum.relaxations.tnorms import GENTLE, OnLogarithms, TNorm

_STEEP = 1e3  # above it the penalty overflows for large logits, because it is steep at 0
_LARGE = 40  # above it exp(−log s) is below the rounding error of 1


def frank(s: Exact) -> TNorm:
    """Return Frank's t-norm: s = 1 is the product, s = inf is Łukasiewicz."""
    return Product() if s == 1 else Lukasiewicz() if s == math.inf else Frank(s)


@final
@dataclass(frozen=True)
class Frank(OnLogarithms):
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
        # log1p keeps the digits of a parameter close to 1. PyTorch cannot trace `math` functions of
        # fractions; PyTorch 2.11 can compare a fraction with a float, but no float with a fraction.
        is_near = self.s > 0.5 and self.s < 2
        return math.log1p(as_float(self.s - 1)) if is_near else math.log(as_float(self.s))

    @property
    def _scale(self) -> float:
        return -math.expm1(-self._log_s) / self._log_s

    def penalty(self, x: Degree) -> Number:
        on = x.on
        if isinstance(on, LazyCarrier):
            return self._scaled(on, self._unscaled(x))
        log_s, scale = on.constant(self._log_s), on.constant(self._scale)
        if self._log_s > _LARGE:  # sˣ overflows, its logarithm does not
            near, far = -on.expm1(-x.true * log_s), -on.expm1(-log_s)
            return scale * (x.false * log_s - on.log(near) + on.log(far))
        # This is (s − 1) / (sˣ − 1) − 1, written so that no exponential overflows.
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

    def plain_conjunction(self, degrees: Sequence[Degree]) -> Degree:
        return self.conjoin_by_generator(degrees)

    def plain_residuum(self, x: Degree, y: Degree) -> Degree:
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
        else:  # share = 1 − drop, where `share` would lose digits
            gap = on.excess(x.true, y.true)
            drop = on.ratio(on.exp(v) * on.expm1(gap * log_s), on.expm1(u), at_zero=0)
            power = on.log1p(on.expm1(-log_s) * drop)
            falsity = on.ratio(power, -log_s, at_zero=0)
            below = Degree(on, false=on.minimum(on.constant(1), falsity))
        return choose(*ordered(x, y), truth_of(on, True), below)

    # On a lazy carrier the penalty is a multiple of u = log((s − 1) / (sˣ − 1)). Let a = |log s|.

    def _unscaled(self, x: Degree) -> Number:
        """Return u, from x where x is small and from 1 − x elsewhere."""
        on, a = x.on, abs(self._log_s)
        assert isinstance(on, LazyCarrier)
        whole = -math.expm1(-a)
        part = on.log_linear(-on.expm1(-a * x.true), 1, lambda: x.log_true + math.log(a))
        missing = on.exp(-a * x.true) * -on.expm1(-a * x.false) * on.constant(1 / whole)
        near_true = -on.log1p(-on.minimum(missing, on.constant(0.5)))
        drop = on.choose(missing, on.constant(0.5), near_true, math.log(whole) - part)
        return drop + a * x.false if self._log_s > 0 else drop

    def _scaled(self, on: Carrier, u: Number) -> Number:
        """Return the penalty, computed from its logarithm where the product would overflow."""
        scale = self._scale
        if scale < _STEEP:
            return scale * u
        far = on.constant(1e3)
        beyond = on.exp(on.log(on.maximum(u, far)) + math.log(scale))
        return on.choose(u, far, scale * on.minimum(u, far), beyond)

    def log_root(self, x: Degree) -> Number:
        on, scale = x.on, self._scale
        assert isinstance(on, LazyCarrier)
        return on.log_linear(self.penalty(x), 1 / scale, lambda: x.log_false - math.log(scale))

    def degree_at(self, on: LazyCarrier, log_root: Number) -> Degree:
        u = on.exp(log_root)
        half = on.constant(math.log1p(math.exp(self._log_s / 2)))  # u at x = 1/2
        near_false, log_near_false = self._times_truth(on, u)
        near_true, log_near_true = self._times_falsity(on, u, log_root)
        log_a, shrink = math.log(abs(self._log_s)), on.constant(1 / abs(self._log_s))

        def log_true() -> Number:
            small = on.log_linear(near_false, 1, lambda: log_near_false) - log_a
            return on.choose(u, half, on.log1p(-near_true * shrink), small)

        def log_false() -> Number:
            small = on.log_linear(near_true, 1, lambda: log_near_true) - log_a
            return on.choose(u, half, small, on.log1p(-near_false * shrink))

        truth, falsity = near_false * shrink, near_true * shrink
        return Degree(
            on,
            true=Later(lambda: on.choose(u, half, 1 - falsity, truth)),
            false=Later(lambda: on.choose(u, half, falsity, 1 - truth)),
            log_true=Later(log_true),
            log_false=Later(log_false),
        )

    def _times_truth(self, on: Carrier, u: Number) -> tuple[Number, Number]:
        """Return ax, accurate for x ≤ 1/2, and its logarithm, accurate where ax is tiny."""
        a = abs(self._log_s)
        log_whole = math.log(-math.expm1(-a))
        if self._log_s > 0:
            return log1pexp(on, a + log_whole - u), a + log_whole - u
        product = -on.log1p(math.expm1(-a) * on.exp(-u))
        if a > 1:  # for small u this is the logarithm of a small difference
            difference = on.exp(-a - u) - on.expm1(-u)
            product = on.choose(u, on.constant(1), -on.log(difference), product)
        return product, log_whole - u

    def _times_falsity(self, on: Carrier, u: Number, log_u: Number) -> tuple[Number, Number]:
        """Return a(1 − x), accurate for x ≥ 1/2, and its logarithm, accurate where it is tiny."""
        a = abs(self._log_s)
        log_whole, shrunk = math.log(-math.expm1(-a)), -on.expm1(-u)
        if self._log_s < 0:
            return on.log1p(math.expm1(a) * shrunk), log_u + a + log_whole
        if a < 1:
            return -on.log1p(math.expm1(-a) * shrunk), log_u + log_whole
        return u - on.log1p(on.exp(u - a) * shrunk), log_u + log_whole
