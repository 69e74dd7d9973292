"""The product t-norm."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import final

from residuum.relaxations.along import Along
from residuum.relaxations.carriers import Carrier, LazyCarrier, Number, Pick
from residuum.relaxations.degrees import Degree, Later
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.tnorms import GENTLE, InClosedForm


@final
@dataclass(frozen=True)
class Product(InClosedForm):
    """T(x, y) = xy. The penalty −log x of labelled data is the cross-entropy."""

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
        if isinstance(x.on, LazyCarrier):
            return _conjoin_lazily(x.on, (x, y))
        # 1 − xy is (1 − x) + x(1 − y): no cancellation.
        return Degree(x.on, true=x.true * y.true, false=x.false + x.true * y.false)

    def conjoin_all(self, degrees: Sequence[Degree]) -> Degree:
        if isinstance(degrees[0].on, LazyCarrier):
            return _conjoin_lazily(degrees[0].on, degrees)
        return super().conjoin_all(degrees)

    def conjoin_along(self, x: Degree, along: Along) -> Degree:
        on = x.on
        total = Later(lambda: along.total(x.log_true, elsewhere=0.0))
        true = Later(lambda: on.exp(total.number))
        false = Later(lambda: -on.expm1(total.number))
        log_false = Later(lambda: along.log_total(x.log_false))
        if isinstance(on, LazyCarrier):
            instead = log_false
            log_false = Later(lambda: on.log_complement(true, false, lambda: instead.number))
        return Degree(on, true=true, log_true=total, false=false, log_false=log_false)

    def residuum(self, x: Degree, y: Degree) -> Degree:
        on = x.on
        if isinstance(on, LazyCarrier):
            return Degree(on, log_true=-on.excess(x.log_true, y.log_true))
        return Degree(on, true=on.minimum(on.constant(1), on.ratio(y.true, x.true, at_zero=1)))

    def relative_gap(self, x: Degree, y: Degree) -> Number:
        on = x.on
        drop = on.log1p(on.ratio(on.excess(x.true, y.true), y.true, at_zero=math.inf))
        return on.ratio(drop, -y.log_true, at_zero=0)


def _conjoin_lazily(on: LazyCarrier, degrees: Sequence[Degree]) -> Degree:
    """Return the product. Each side is computed by its own formula, without cancellation."""
    *others, last = degrees

    def rest(pick: Pick) -> Number:
        # 1 − xyz is (1 − x) + x((1 − y) + y(1 − z)), computed from the right.
        def add(below: Number, x: Degree) -> Number:
            return on.add_product(pick(x.false), pick(x.true), below)

        return reduce(add, reversed(others), pick(last.false))

    def log_rest(pick: Pick) -> Number:
        def add(below: Number, x: Degree) -> Number:
            first, second = pick(x.log_false), pick(x.log_true) + below
            apart = on.excess(first, second) + on.excess(second, first)
            return on.maximum(first, second) + on.log1p(on.exp(-apart))

        return reduce(add, reversed(others), pick(last.log_false))

    true = Later(lambda: reduce(operator.mul, [x.true for x in degrees]))
    return Degree(
        on,
        true=true,
        # By rounding, x and 1 − x may add up to a little more than 1.
        false=Later(lambda: on.minimum(on.constant(1), rest(lambda side: side))),
        log_true=Later(lambda: reduce(operator.add, [x.log_true for x in degrees])),
        log_false=Later(lambda: on.log_rest(true, rest, log_rest)),
    )
