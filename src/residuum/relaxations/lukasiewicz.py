"""The Łukasiewicz t-norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from residuum.relaxations.carriers import Carrier, Number
from residuum.relaxations.degrees import Degree, both_sides
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.rows import Row
from residuum.relaxations.tnorms import GENTLE, Archimedean


@final
@dataclass(frozen=True)
class Lukasiewicz(Archimedean):
    """T(x, y) = max(0, x + y − 1). The sides 1 − x add up, to 1 at most.

    `Archimedean` in `tnorms.py` adds them: `conjoin_penalties` inside formulas, and
    `penalties_add_up` tells the routes of losses to do so.
    """

    source = "Łukasiewicz 1920; Hájek 1998"
    limit = 1
    is_steep = GENTLE
    expressions = Expressions(
        conjunction="max(0, x + y - 1)",
        disjunction="min(1, x + y)",
        residuum="min(1, 1 - x + y)",
        penalty="1 - x",
    )

    def penalty(self, x: Degree) -> Number:
        return x.false

    def degree(self, on: Carrier, penalty: Number) -> Degree:
        return Degree(on, false=penalty)

    def at_least(self, x: Degree, number: int, row: Row) -> Degree:
        # max(0, min(1, Σx − k + 1)). The sum of the sides 1 − x is smaller if k is large, and a
        # smaller sum has more digits.
        on, rest = row.on, len(row) - number
        one, few, many = on.constant(1), on.constant(number), on.constant(rest)
        if 2 * number > len(row):
            lacking = row.total(x.false)
            return both_sides(
                on,
                lambda: on.minimum(one, on.excess(many + one, lacking)),
                lambda: on.minimum(one, on.excess(lacking, many)),
            )
        found = row.total(x.true)
        return both_sides(
            on,
            lambda: on.minimum(one, on.excess(found, few - one)),
            lambda: on.minimum(one, on.excess(few, found)),
        )

    def relative_gap(self, x: Degree, y: Degree) -> Number:
        return x.on.ratio(x.on.excess(x.true, y.true), y.false, at_zero=0)
