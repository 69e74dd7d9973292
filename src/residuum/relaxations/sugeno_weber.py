"""The family of t-norms of Sugeno and Weber."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from residuum.relaxations.carriers import Carrier, Exact, Number, as_float
from residuum.relaxations.degrees import Degree
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.lukasiewicz import Lukasiewicz
from residuum.relaxations.product import Product
from residuum.relaxations.tnorms import GENTLE, InClosedForm, TNorm


def sugeno_weber(weight: Exact) -> TNorm:
    """Return the t-norm of Sugeno and Weber, λ > −1. λ = 0 is Łukasiewicz, inf the product."""
    if weight == 0:
        return Lukasiewicz()
    return Product() if weight == math.inf else SugenoWeber(weight)


@final
@dataclass(frozen=True)
class SugenoWeber(InClosedForm):
    """T(x, y) = max(0, (x + y − 1 + λxy) / (1 + λ)), λ > −1, λ ≠ 0."""

    weight: Exact
    source = "Sugeno 1974; Weber 1983"
    is_steep = GENTLE
    expressions = Expressions(
        conjunction="max(0, (x + y - 1 + λ * x * y) / (1 + λ))",
        disjunction="min(1, x + y - λ / (1 + λ) * x * y)",
        residuum="1 if x <= y else (1 - x + (1 + λ) * y) / (1 + λ * x)",
        penalty="(1 + λ) / λ * log((1 + λ) / (1 + λ * x))",
    )

    @property
    def limit(self) -> Exact:
        return self._logarithm / as_float(self._kappa)

    @property
    def parameters(self) -> Mapping[str, Exact]:
        return {"λ": self.weight}

    @property
    def _kappa(self) -> Exact:
        """κ = λ / (1 + λ) < 1. T adds up 1 − x and 1 − y, less κ times their product."""
        return Fraction(self.weight) / (1 + Fraction(self.weight))

    @property
    def _logarithm(self) -> float:
        """log(1 + λ), even for λ so close to −1 that its float is −1."""
        weight = Fraction(self.weight)
        if abs(weight) < Fraction(1, 2):
            return math.log1p(as_float(weight))
        return math.log(as_float(1 + weight))  # PyTorch cannot trace `math` of fractions

    def penalty(self, x: Degree) -> Number:
        on = x.on
        weight, kappa = on.constant(self.weight), on.constant(self._kappa)
        # Both forms are log((1 + λ) / (1 + λx)). Each is accurate at one end.
        near_false = on.constant(self._logarithm) - on.log1p(weight * x.true)
        near_true = -on.log1p(-kappa * x.false)
        logarithm = on.choose(x.true, on.constant(0.5), near_false, near_true)
        return on.constant(1 / self._kappa) * logarithm

    def degree(self, on: Carrier, penalty: Number) -> Degree:
        logarithm = penalty * on.constant(self._kappa)
        true = on.expm1(on.constant(self._logarithm) - logarithm) * on.constant(1 / self.weight)
        false = -on.expm1(-logarithm) * on.constant(1 / self._kappa)
        zero, one = on.constant(0), on.constant(1)
        return Degree(on, true=on.maximum(zero, true), false=on.minimum(one, false))

    def conjoin(self, x: Degree, y: Degree) -> Degree:
        on = x.on
        larger, smaller = on.maximum(x.false, y.false), on.minimum(x.false, y.false)
        falsity = larger + smaller * (1 - on.constant(self._kappa) * larger)
        return Degree(on, false=on.minimum(on.constant(1), falsity))

    def residuum(self, x: Degree, y: Degree) -> Degree:
        on = x.on
        factor = on.constant(1 + self.weight)
        below = x.false + factor * x.true
        above = x.false + factor * on.minimum(x.true, y.true)
        gap = factor * on.excess(x.true, y.true)
        return Degree(
            on, true=on.ratio(above, below, at_zero=1), false=on.ratio(gap, below, at_zero=0)
        )
