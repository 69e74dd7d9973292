"""The family of Schweizer and Sklar."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from residuum.relaxations.carriers import Carrier, Exact, Number
from residuum.relaxations.degrees import Degree, choose, ordered, truth_of
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.hamacher import Hamacher
from residuum.relaxations.lukasiewicz import Lukasiewicz
from residuum.relaxations.minimum import Minimum
from residuum.relaxations.product import Product
from residuum.relaxations.tnorms import Archimedean, ClosedForm, TNorm

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


@final
@dataclass(frozen=True)
class SchweizerSklarNilpotent(Archimedean):
    """T(x, y) = max(0, xᵖ + yᵖ − 1)^(1/p), p > 0."""

    source = "Schweizer and Sklar 1963"
    p: Exact

    @property
    def limit(self) -> Exact:
        return 1 / self.p

    @property
    def parameters(self) -> Mapping[str, Exact]:
        return {"p": self.p}

    @property
    def expressions(self) -> Expressions:
        return _EXPRESSIONS

    @property
    def is_steep(self) -> Mapping[str, bool | None]:
        return {"and": self.p > 1, "residuum": False}  # g′(0) = 0 for p > 1

    def penalty(self, x: Degree) -> Number:
        p = x.on.constant(self.p)
        return -x.on.expm1(p * x.log_true) * x.on.constant(1 / self.p)

    def degree(self, on: Carrier, penalty: Number) -> Degree:
        spent = on.minimum(on.constant(1), on.constant(self.p) * penalty)
        return Degree(on, log_true=on.log1p(-spent) * on.constant(1 / self.p))


@final
@dataclass(frozen=True)
class SchweizerSklarStrict(ClosedForm):
    """T(x, y) = (xᵖ + yᵖ − 1)^(1/p), p < 0.

    The generator overflows where p log x is large, so T and the residuum are computed on
    u = −log x, with everything large taken out of the exponentials.
    """

    source = "Schweizer and Sklar 1963"
    p: Exact

    @property
    def limit(self) -> Exact:
        return math.inf

    @property
    def parameters(self) -> Mapping[str, Exact]:
        return {"p": self.p}

    @property
    def expressions(self) -> Expressions:
        return _EXPRESSIONS

    def penalty(self, x: Degree) -> Number:
        on = x.on
        return on.expm1(on.constant(self.p) * x.log_true) * on.constant(-1 / self.p)

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
        # log(exp(av) − exp(au) + 1) = av + log(remainder)
        remainder = on.exp(-a * v) - on.expm1(-a * on.excess(v, u))
        saved = on.log(remainder) * on.constant(1 / self.p)
        below = Degree(on, log_true=-on.excess(v, saved))
        return choose(*ordered(x, y), truth_of(on, True), below)
