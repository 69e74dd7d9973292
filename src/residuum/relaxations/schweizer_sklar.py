"""The family of t-norms of Schweizer and Sklar."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import final

from residuum.relaxations.carriers import Carrier, Exact, LazyCarrier, Number
from residuum.relaxations.degrees import (
    Degree,
    Later,
    choose,
    log1mexp,
    log1mexp_or,
    log1pexp,
    log_norm,
    log_remainder,
    ordered,
    truth_of,
)
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.hamacher import Hamacher
from residuum.relaxations.lukasiewicz import Lukasiewicz
from residuum.relaxations.minimum import Minimum
from residuum.relaxations.product import Product
from residuum.relaxations.tnorms import GENTLE, OnLogarithms, TNorm, exactly_false, unless

_SMALL = 1e-3  # below it −p times a penalty may underflow
_EXPRESSIONS = Expressions(
    conjunction="max(0, x**p + y**p - 1)**(1 / p)",
    disjunction="1 - max(0, (1 - x)**p + (1 - y)**p - 1)**(1 / p)",
    residuum="1 if x <= y else (1 - x**p + y**p)**(1 / p)",
    penalty="(1 - x**p) / p",
)


def schweizer_sklar(p: Exact) -> TNorm:
    """Return the t-norm of Schweizer and Sklar.

    p = −inf is the minimum, −1 Hamacher's t-norm with γ = 0, 0 the product, and 1 Łukasiewicz.
    """
    known: Mapping[Exact, TNorm] = {
        -math.inf: Minimum(), -1: Hamacher(0), 0: Product(), 1: Lukasiewicz()
    }  # fmt: skip
    return known.get(p) or (SchweizerSklarNilpotent(p) if p > 0 else SchweizerSklarStrict(p))


# Powers of x overflow, underflow and cancel. So T and the residuum of both classes are computed on
# logarithms, and no exponential has a large argument.


@final
@dataclass(frozen=True)
class SchweizerSklarNilpotent(OnLogarithms):
    """T(x, y) = max(0, xᵖ + yᵖ − 1)^(1/p), p > 0."""

    p: Exact
    source = "Schweizer and Sklar 1963"
    expressions = _EXPRESSIONS

    @property
    def limit(self) -> Exact:
        return 1 / self.p

    @property
    def parameters(self) -> Mapping[str, Exact]:
        return {"p": self.p}

    @property
    def is_steep(self) -> Mapping[str, bool | None]:
        return {"and": self.p > 1, "residuum": False}  # g′(0) = 0 for p > 1

    def penalty(self, x: Degree) -> Number:
        p = x.on.constant(self.p)
        return -x.on.expm1(p * x.log_true) * x.on.constant(1 / self.p)

    def _log_power(self, x: Degree) -> Number:
        """Return log xᵖ, which may be −inf."""
        on = x.on
        return on.maximum(on.constant(self.p) * x.log_true, on.constant(-math.inf))

    def degree(self, on: Carrier, penalty: Number) -> Degree:
        spent = on.minimum(on.constant(1), on.constant(self.p) * penalty)
        return Degree(on, log_true=on.log1p(-spent) * on.constant(1 / self.p))

    # On a lazy carrier the logarithm of the penalty (1 − xᵖ) / p keeps the digits of x near 1, and
    # log x keeps them near 0. So near 1 log x is computed from the penalty, and near 0 directly.

    def conjoin_all(self, degrees: Sequence[Degree]) -> Degree:
        on = degrees[0].on
        if not isinstance(on, LazyCarrier):
            return self.plain_conjunction(degrees)
        return reduce(partial(self._conjoin_lazily, on), degrees)

    def residuum(self, x: Degree, y: Degree) -> Degree:
        on = x.on
        if not isinstance(on, LazyCarrier):
            return self.plain_residuum(x, y)
        u, v = self._log_power(x), self._log_power(y)
        drop = u + log1mexp(on, -on.excess(u, v)) - math.log(on.constant(self.p))
        near_true = log_remainder(on, self.log_root(x), self.log_root(y), 1)
        log_root = on.choose(u, on.constant(-math.log(2)), drop, near_true)

        def near_false() -> Number:
            return log_norm(on, (log1mexp(on, u), v), 1) * on.constant(1 / self.p)

        return unless(on, u, v, self._degree(on, log_root, near_false))

    def log_root(self, x: Degree) -> Number:
        on = x.on
        assert isinstance(on, LazyCarrier)
        minus_log = on.log_linear(-x.log_true, 1, lambda: x.log_false)
        spent = -on.expm1(self._log_power(x))
        return on.log_linear(spent, 1 / on.constant(self.p), lambda: minus_log)

    def degree_at(self, on: LazyCarrier, log_root: Number) -> Degree:
        def near_false() -> Number:
            rest = on.excess(on.constant(1), on.exp(log_root + math.log(on.constant(self.p))))
            return self._root(on, rest, on.log(rest))

        return self._degree(on, log_root, near_false)

    def _conjoin_lazily(self, on: LazyCarrier, x: Degree, y: Degree) -> Degree:
        def near_false() -> Number:
            gap, smaller = self._gap(x, y)
            return self._root(on, gap, smaller + log1mexp(on, -gap))

        log_root = log_norm(on, (self.log_root(x), self.log_root(y)), 1)
        return exactly_false(on, (x, y), self._degree(on, log_root, near_false))

    def _root(self, on: Carrier, rest: Number, log_power: Number) -> Number:
        """Return the logarithm of a p-th root, but log 0 where `rest` is 0."""
        root = log_power * on.constant(1 / self.p)
        return on.choose(rest, on.constant(0), on.log(rest), root)

    def _degree(
        self, on: LazyCarrier, log_root: Number, near_false: Callable[[], Number]
    ) -> Degree:
        """Return the degree with this penalty, and with `near_false()` for log x if xᵖ < 1/2."""
        half = on.constant(0.5)

        def log_true() -> Number:
            spent = on.exp(log_root + math.log(on.constant(self.p)))
            near_true = on.log1p(-on.minimum(spent, half)) * on.constant(1 / self.p)
            return on.choose(spent, half, near_true, near_false())

        known = Later(log_true)
        log_false = Later(lambda: log1mexp_or(on, known.number, lambda: log_root))
        return Degree(on, log_true=known, log_false=log_false)

    def plain_conjunction(self, degrees: Sequence[Degree]) -> Degree:
        return reduce(self._conjoin_two, degrees)

    def _conjoin_two(self, x: Degree, y: Degree) -> Degree:
        on = x.on
        gap, smaller = self._gap(x, y)
        above = Degree(on, log_true=(smaller + log1mexp(on, -gap)) * on.constant(1 / self.p))
        return choose(gap, on.constant(0), truth_of(on, False), above)

    def _gap(self, x: Degree, y: Degree) -> tuple[Number, Number]:
        """Return log(xᵖ / (1 − yᵖ)) for x ≤ y where that is positive, and log xᵖ."""
        on = x.on
        u, v = self._log_power(x), self._log_power(y)
        smaller, larger = on.minimum(u, v), on.maximum(u, v)
        return on.excess(smaller, log1mexp(on, larger)), smaller

    def plain_residuum(self, x: Degree, y: Degree) -> Degree:
        on = x.on
        u, v = self._log_power(x), self._log_power(y)
        if self.p < 1:
            power = on.log1p(on.exp(u) * on.expm1(-on.excess(u, v)))
        else:  # log((1 − exp(u)) + exp(v)), as a sum of exponentials
            rest = log1mexp(on, u)
            larger, smaller = on.maximum(rest, v), on.minimum(rest, v)
            power = larger + on.log1p(on.exp(-on.excess(larger, smaller)))
        below = Degree(on, log_true=on.minimum(on.constant(0), power) * on.constant(1 / self.p))
        return choose(*ordered(x, y), truth_of(on, True), below)


@final
@dataclass(frozen=True)
class SchweizerSklarStrict(OnLogarithms):
    """T(x, y) = (xᵖ + yᵖ − 1)^(1/p), p < 0."""

    p: Exact
    source = "Schweizer and Sklar 1963"
    limit = math.inf
    is_steep = GENTLE
    expressions = _EXPRESSIONS

    @property
    def parameters(self) -> Mapping[str, Exact]:
        return {"p": self.p}

    def penalty(self, x: Degree) -> Number:
        on = x.on
        if isinstance(on, LazyCarrier):
            return on.exp(self.log_root(x))
        return on.expm1(on.constant(self.p) * x.log_true) * on.constant(-1 / self.p)

    def degree(self, on: Carrier, penalty: Number) -> Degree:
        power = on.log1p(on.constant(-self.p) * penalty)
        return Degree(on, log_true=power * on.constant(1 / self.p))

    def log_root(self, x: Degree) -> Number:
        on, a = x.on, x.on.constant(-self.p)
        assert isinstance(on, LazyCarrier)
        # log((exp(au) − 1) / a), in which only exp(au) can overflow
        u = -x.log_true
        log_u = on.log_linear(u, 1, lambda: x.log_false)
        shrunk = -on.expm1(-a * u)
        return a * u + on.log_linear(shrunk, 1 / a, lambda: log_u)

    def degree_at(self, on: LazyCarrier, log_root: Number) -> Degree:
        factor = 1 / on.constant(-self.p)
        weighed = log1pexp(on, log_root - math.log(factor))
        log_u = on.log_linear(weighed, factor, lambda: log_root)
        u = on.exp(log_u) if self.p > -_SMALL else weighed * factor
        log_false = Later(lambda: log1mexp_or(on, -u, lambda: log_u))
        return Degree(on, log_true=-u, log_false=log_false)

    def plain_conjunction(self, degrees: Sequence[Degree]) -> Degree:
        return reduce(self._conjoin_two, degrees)

    def _conjoin_two(self, x: Degree, y: Degree) -> Degree:
        on, a = x.on, x.on.constant(-self.p)
        u, v = -x.log_true, -y.log_true
        larger, smaller = on.maximum(u, v), on.minimum(u, v)
        # log(exp(au) + exp(av) − 1) = a·larger + log1p(excess)
        excess = on.exp(-a * on.excess(larger, smaller)) * -on.expm1(-a * smaller)
        return Degree(on, log_true=-(larger + on.log1p(excess) * on.constant(-1 / self.p)))

    def plain_residuum(self, x: Degree, y: Degree) -> Degree:
        on, a = x.on, x.on.constant(-self.p)
        u, v = -x.log_true, -y.log_true
        # log(exp(av) − exp(au) + 1) = av + log(exp(−av) + 1 − exp(−a(v − u)))
        drop = -on.expm1(-a * on.excess(v, u))
        small = on.log1p(on.expm1(-a * v) + drop)
        large = on.log(on.exp(-a * v) + drop)
        saved = on.choose(a * v, on.constant(1), small, large) * on.constant(1 / self.p)
        below = Degree(on, log_true=-on.excess(v, saved))
        return choose(*ordered(x, y), truth_of(on, True), below)
