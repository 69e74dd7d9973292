"""The family of Schweizer and Sklar."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from residuum.relaxations.carriers import Carrier, Exact, LazyCarrier, Number
from residuum.relaxations.degrees import Degree, choose, log1mexp, ordered, truth_of
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.hamacher import Hamacher
from residuum.relaxations.lukasiewicz import Lukasiewicz
from residuum.relaxations.minimum import Minimum
from residuum.relaxations.product import Product
from residuum.relaxations.tnorms import GENTLE, ClosedForm, TNorm

_EXPRESSIONS = Expressions(
    conjunction="max(0, x**p + y**p - 1)**(1 / p)",
    disjunction="1 - max(0, (1 - x)**p + (1 - y)**p - 1)**(1 / p)",
    residuum="1 if x <= y else (1 - x**p + y**p)**(1 / p)",
    penalty="(1 - x**p) / p",
)


def schweizer_sklar(p: Exact) -> TNorm:
    """Return the t-norm: −inf is the minimum, −1 Hamacher's with γ = 0, 0 the product, 1
    Łukasiewicz.
    """
    known: Mapping[Exact, TNorm] = {
        -math.inf: Minimum(), -1: Hamacher(0), 0: Product(), 1: Lukasiewicz()
    }  # fmt: skip
    return known.get(p) or (SchweizerSklarNilpotent(p) if p > 0 else SchweizerSklarStrict(p))


# Powers of x overflow, underflow and cancel, so T and the residuum of both branches are computed
# on logarithms, with everything large taken out of the exponentials.


@final
@dataclass(frozen=True)
class SchweizerSklarNilpotent(ClosedForm):
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

    def degree(self, on: Carrier, penalty: Number) -> Degree:
        spent = on.minimum(on.constant(1), on.constant(self.p) * penalty)
        return Degree(on, log_true=on.log1p(-spent) * on.constant(1 / self.p))

    def conjoin(self, x: Degree, y: Degree) -> Degree:
        on, p = x.on, x.on.constant(self.p)
        u, v = p * x.log_true, p * y.log_true
        smaller, larger = on.minimum(u, v), on.maximum(u, v)
        # log(exp(smaller) − (1 − exp(larger))), where that is positive
        gap = on.excess(smaller, log1mexp(on, larger))
        above = Degree(on, log_true=(smaller + log1mexp(on, -gap)) * on.constant(1 / self.p))
        return choose(gap, on.constant(0), truth_of(on, False), above)

    def residuum(self, x: Degree, y: Degree) -> Degree:
        on, p = x.on, x.on.constant(self.p)
        u, v = p * x.log_true, p * y.log_true
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
class SchweizerSklarStrict(ClosedForm):
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
        power, scale = on.constant(self.p) * x.log_true, on.constant(-1 / self.p)
        if not isinstance(on, LazyCarrier) or scale <= 1:
            return on.expm1(power) * scale
        one = on.constant(1)  # beyond it the scale goes into the exponential, which cannot overflow
        far = on.exp(power + math.log(scale)) - scale
        return on.choose(power, one, on.expm1(on.minimum(power, one)) * scale, far)

    def degree(self, on: Carrier, penalty: Number) -> Degree:
        power = on.log1p(on.constant(-self.p) * penalty)
        return Degree(on, log_true=power * on.constant(1 / self.p))

    def conjoin(self, x: Degree, y: Degree) -> Degree:
        on, a = x.on, x.on.constant(-self.p)
        u, v = -x.log_true, -y.log_true
        larger, smaller = on.maximum(u, v), on.minimum(u, v)
        # log(exp(au) + exp(av) − 1) = a·larger + log1p(excess)
        excess = on.exp(-a * on.excess(larger, smaller)) * -on.expm1(-a * smaller)
        return Degree(on, log_true=-(larger + on.log1p(excess) * on.constant(-1 / self.p)))

    def residuum(self, x: Degree, y: Degree) -> Degree:
        on, a = x.on, x.on.constant(-self.p)
        u, v = -x.log_true, -y.log_true
        # log(exp(av) − exp(au) + 1) = av + log(exp(−av) + 1 − exp(−a(v − u)))
        drop = -on.expm1(-a * on.excess(v, u))
        small = on.log1p(on.expm1(-a * v) + drop)
        large = on.log(on.exp(-a * v) + drop)
        saved = on.choose(a * v, on.constant(1), small, large) * on.constant(1 / self.p)
        below = Degree(on, log_true=-on.excess(v, saved))
        return choose(*ordered(x, y), truth_of(on, True), below)
