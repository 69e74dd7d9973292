"""The product t-norm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from residuum.relaxations.carriers import Carrier, Number
from residuum.relaxations.degrees import Degree
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.tnorms import GENTLE, ClosedForm


@final
@dataclass(frozen=True)
class Product(ClosedForm):
    """T(x, y) = xy; the penalty of labelled data is cross-entropy."""

    source = "Goguen 1969; Hájek, Godo and Esteva 1996"
    limit = math.inf
    is_steep = GENTLE
    expressions = Expressions(
        conjunction="x * y",
        disjunction="1 - (1 - x) * (1 - y)",
        residuum="1 if x <= y else y / x",
        penalty="-log(x)",
    )

    def penalty(self, x: Degree) -> Number:
        return -x.log_true

    def degree(self, on: Carrier, penalty: Number) -> Degree:
        return Degree(on, log_true=-penalty)

    def conjoin(self, x: Degree, y: Degree) -> Degree:
        # The false side is 1 − xy without cancellation.
        return Degree(x.on, true=x.true * y.true, false=x.false + x.true * y.false)

    def residuum(self, x: Degree, y: Degree) -> Degree:
        on = x.on
        return Degree(on, true=on.minimum(on.constant(1), on.ratio(y.true, x.true, at_zero=1)))

    def relative_gap(self, x: Degree, y: Degree) -> Number:
        on = x.on
        drop = on.log1p(on.ratio(on.excess(x.true, y.true), y.true, at_zero=math.inf))
        return on.ratio(drop, -y.log_true, at_zero=0)
