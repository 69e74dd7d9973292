"""The minimum: Gödel's t-norm, which is also the limit of several families."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from residuum.relaxations.along import Along
from residuum.relaxations.degrees import Degree, both_sides, choose, lesser, ordered, truth_of
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.rows import Row
from residuum.relaxations.tnorms import GENTLE, Jump, TNorm


@final
@dataclass(frozen=True)
class Minimum(TNorm):
    """T(x, y) = min(x, y), the largest t-norm and the only idempotent one."""

    source = "Gödel 1932; Dummett 1959"
    structure = "idempotent"

    @property
    def jumps(self) -> Mapping[str, Jump]:
        return {"residuum": Jump("x == y < 1", inside=True)}

    is_steep = GENTLE
    expressions = Expressions(
        conjunction="min(x, y)",
        disjunction="max(x, y)",
        residuum="1 if x <= y else y",
        penalty="1 - x",
    )

    def conjoin(self, x: Degree, y: Degree) -> Degree:
        return lesser(x, y)

    def conjoin_along(self, x: Degree, along: Along) -> Degree:
        return both_sides(
            x.on,
            lambda: -along.largest(-x.true, elsewhere=-1.0),
            lambda: along.largest(x.false, elsewhere=0.0),
        )

    def at_least(self, x: Degree, number: int, row: Row) -> Degree:
        # The k-th largest degree. Its other side is the k-th smallest of the other sides.
        return both_sides(
            row.on,
            lambda: row.largest(x.true, number),
            lambda: -row.largest(-x.false, number),
        )

    def residuum(self, x: Degree, y: Degree) -> Degree:
        return choose(*ordered(x, y), truth_of(x.on, True), y)
