"""The drastic t-norm, which is the smallest of all t-norms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from residuum.errors import UnknownRelaxationError
from residuum.relaxations.degrees import Degree, choose, ordered, truth_of
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.tnorms import GENTLE, Jump, TNorm


@final
@dataclass(frozen=True)
class Drastic(TNorm):
    """T(x, y) is y where x = 1, x where y = 1, and 0 elsewhere. It has no residuum."""

    source = "Schweizer and Sklar 1960"
    structure = "discontinuous"
    expressions = Expressions(
        conjunction="min(x, y) if max(x, y) == 1 else 0",
        disjunction="max(x, y) if min(x, y) == 0 else 1",
        residuum=None,
        penalty="1 - x",
    )

    is_steep = GENTLE

    @property
    def jumps(self) -> Mapping[str, Jump]:
        return {
            "and": Jump("0 < min(x, y) <= max(x, y) == 1", inside=False),
            "or": Jump("0 == min(x, y) <= max(x, y) < 1", inside=False),
            "s-implies": Jump("0 == min(1 - x, y) <= max(1 - x, y) < 1", inside=False),
            "iff": Jump("(min(x, y) == 0 or max(x, y) == 1) and not x == y", inside=False),
        }

    def conjoin(self, x: Degree, y: Degree) -> Degree:
        one, zero = truth_of(x.on, True), truth_of(x.on, False)
        return choose(*ordered(one, x), y, choose(*ordered(one, y), x, zero))

    def residuum(self, x: Degree, y: Degree) -> Degree:  # noqa: ARG002
        raise UnknownRelaxationError(
            "expected a left-continuous t-norm, got the drastic one, which has no residuum; use "
            "`s-drastic`"
        )
