"""The Łukasiewicz t-norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from residuum.relaxations.carriers import Carrier, Number
from residuum.relaxations.degrees import Degree
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.tnorms import GENTLE, Archimedean


@final
@dataclass(frozen=True)
class Lukasiewicz(Archimedean):
    """T(x, y) = max(0, x + y − 1). The sides 1 − x add up, to 1 at most."""

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

    def relative_gap(self, x: Degree, y: Degree) -> Number:
        return x.on.ratio(x.on.excess(x.true, y.true), y.false, at_zero=0)
