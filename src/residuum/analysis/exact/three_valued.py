"""The method "three-valued": S-Gödel by modules, through Kleene's three values.

Fix a threshold u ≤ 1/2 and call a degree low below u, high above 1 − u, and middling between.
min, max and 1 − x respect these three classes, so the class of a formula follows from those of
its parts, and its distribution from theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from residuum.analysis.exact.distributions import Budget, Distribution, mean_by_modules
from residuum.analysis.methods import NotThisWay
from residuum.logic import Atom, Formula
from residuum.relaxations import Degree, Relaxation, interpret
from residuum.relaxations.arrays import ARRAYS

MOST_PARTS = 8
"""The most parts of a core."""


def integrate_three_valued(
    formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation
) -> Fraction:
    """Return the mean degree in the S-logic of the minimum, module by module."""

    def law_of_core(
        core: Formula, laws: Mapping[Atom, Distribution], budget: Budget
    ) -> Distribution:
        return _by_enumeration(core, laws, relaxation, budget)

    return mean_by_modules(formula, atoms, relaxation, law_of_core)


def _by_enumeration(
    core: Formula, laws: Mapping[Atom, Distribution], relaxation: Relaxation, budget: Budget
) -> Distribution:
    """Return the law of any core by going through the classes of its parts."""
    if len(laws) > MOST_PARTS:
        raise NotThisWay(f"a part of it has more than {MOST_PARTS} parts that hang together")
    for law in laws.values():
        budget.spend(law.low, law.high)
    classes = np.array([0.0, 0.5, 1.0])
    axes = np.meshgrid(*[classes] * len(laws), indexing="ij")
    points = {atom: Degree(ARRAYS, true=axis) for atom, axis in zip(laws, axes, strict=True)}
    found = interpret(core, points, relaxation, ARRAYS).true
    degrees = np.broadcast_to(found, (3,) * len(laws))  # `at least 0 of (P)` is a single number
    chances = [(law.low, 1 - law.low - law.high, law.high) for law in laws.values()]
    return Distribution(_chance(degrees == 0, chances), _chance(degrees == 1, chances))


def _chance(happens: Any, chances: Sequence[tuple[Any, Any, Any]]) -> Any:
    """Return the probability of the marked states, one axis of three classes at a time."""
    table: list[Any] = happens.astype(int).ravel().tolist()
    for law in reversed(chances):
        rows = [table[i : i + 3] for i in range(0, len(table), 3)]
        table = [sum(p * q for p, q in zip(row, law, strict=True)) for row in rows]
    return table[0]
