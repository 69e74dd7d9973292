"""Fodor's nilpotent minimum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from residuum.relaxations.degrees import Degree, choose, lesser, ordered, truth_of
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.tnorms import GENTLE, Jump, TNorm


@final
@dataclass(frozen=True)
class NilpotentMinimum(TNorm):
    """T(x, y) = min(x, y) where x + y > 1, else 0. Its S-logic and its R-logic are the same."""

    source = "Fodor 1995"
    structure = "left-continuous"
    expressions = Expressions(
        conjunction="0 if x + y <= 1 else min(x, y)",
        disjunction="1 if x + y >= 1 else max(x, y)",
        residuum="1 if x <= y else max(1 - x, y)",
        penalty="1 - x",
    )

    is_steep = GENTLE

    @property
    def jumps(self) -> Mapping[str, Jump]:
        antidiagonal = Jump("0 < x == 1 - y < 1", inside=True)
        diagonal = Jump("0 < x == y < 1", inside=True)
        return {
            "and": antidiagonal,
            "or": antidiagonal,
            "s-implies": diagonal,
            "residuum": diagonal,
        }

    def conjoin(self, x: Degree, y: Degree) -> Degree:
        # x + y ≤ 1 is decided by min(x, y) ≤ 1 − max(x, y), which is symmetric in x and y.
        smaller, rest = lesser(x, y), lesser(x.negated, y.negated)
        return choose(*ordered(smaller, rest), truth_of(x.on, False), smaller)

    def residuum(self, x: Degree, y: Degree) -> Degree:
        larger = lesser(x, y.negated).negated
        return choose(*ordered(x, y), truth_of(x.on, True), larger)
