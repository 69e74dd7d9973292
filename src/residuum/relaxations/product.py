"""The product t-norm."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, NamedTuple, final

from residuum.relaxations.along import Along
from residuum.relaxations.carriers import Carrier, Exact, LazyCarrier, Number, Pick
from residuum.relaxations.counting import refuse_long
from residuum.relaxations.degrees import Degree, Later, log_norm
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.rows import Parts, Row
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

    def at_least(self, x: Degree, number: int, row: Row) -> Degree:
        """Return the probability of so many successes: a tail of the Poisson binomial."""
        fewest = len(row) - number + 1  # so many failures make it false
        if fewest < number:
            return self.at_least(x.negated, fewest, row).negated
        refuse_long(number, row)
        on, lazy = row.on, x.on
        plain = Later(lambda: _tails(x.true, x.false, number, row, _PLAIN))
        if not isinstance(lazy, LazyCarrier):
            return Degree(on, true=plain.number[0], false=plain.number[1])
        logs = Later(lambda: _tails(x.log_true, x.log_false, number, row, _logarithms(lazy)))
        # By rounding, the sums may be a little more than 1.
        true = Later(lambda: lazy.minimum(plain.number[0], lazy.constant(1)))
        false = Later(lambda: lazy.minimum(plain.number[1], lazy.constant(1)))
        return Degree(
            on,
            true=true,
            false=false,
            log_true=Later(lambda: lazy.log_complement(false, true, lambda: logs.number[0])),
            log_false=Later(lambda: lazy.log_complement(true, false, lambda: logs.number[1])),
        )

    def residuum(self, x: Degree, y: Degree) -> Degree:
        on = x.on
        if isinstance(on, LazyCarrier):
            return Degree(on, log_true=-on.excess(x.log_true, y.log_true))
        return Degree(on, true=on.minimum(on.constant(1), on.ratio(y.true, x.true, at_zero=1)))

    def relative_gap(self, x: Degree, y: Degree) -> Number:
        on = x.on
        drop = on.log1p(on.ratio(on.excess(x.true, y.true), y.true, at_zero=math.inf))
        return on.ratio(drop, -y.log_true, at_zero=0)


class _Arithmetic(NamedTuple):
    """How probabilities are added and multiplied: themselves, or their logarithms."""

    zero: Exact
    one: Exact
    plus: Callable[[Number, Number], Number]
    times: Callable[[Number, Number], Number]
    total: Callable[[Row, Number], Number]


_PLAIN: Final = _Arithmetic(
    0, 1, operator.add, operator.mul, lambda row, numbers: row.total(numbers)
)


def _logarithms(on: LazyCarrier) -> _Arithmetic:
    return _Arithmetic(
        -math.inf,
        0,
        lambda x, y: log_norm(on, (x, y), 1),
        operator.add,
        lambda row, logarithms: row.log_total(logarithms),
    )


def _tails(
    success: Number, failure: Number, number: int, row: Row, by: _Arithmetic
) -> tuple[Number, Number]:
    """Return the probabilities that so many succeed, and that fewer do, as sums without 1 − x.

    `exact` is the probability of exactly j successes up to each place: that of the place before,
    times a failure here, or that of j − 1 successes before, times a success here.
    """

    def follow(earlier: Parts, later: Parts) -> Parts:
        """Return two maps p → keep · p + gain as one, the earlier one first."""
        keep, gain = later
        return by.times(earlier[0], keep), by.plus(by.times(earlier[1], keep), gain)

    (exact,) = row.running((failure,), lambda x, y: (by.times(x[0], y[0]),))
    fewer, start = row.last(exact), by.one
    for _ in range(number - 1):
        gain = by.times(success, row.before(exact, start))
        _, exact = row.running((failure, gain), follow)
        fewer, start = by.plus(fewer, row.last(exact)), by.zero
    return by.total(row, by.times(success, row.before(exact, start))), fewer


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
