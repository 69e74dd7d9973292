"""The method "orderings": logics that only compare degrees, such as R-Gödel, by modules.

In these logics the degree of a formula is 0, 1, or x or 1 − x for one of its parts x; which one
follows from the parts that are 0 or 1 and from the order of all other x and 1 − x. Written as
chains, these orderings are: each part lies in the low or the high half, and the distances to the
nearer end, v = min(x, 1 − x), grow along the chain. So the distribution of the formula is a sum
of integrals along chains of the parts' densities, all of them polynomials.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, reduce
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from residuum.analysis.exact.distributions import Budget, Distribution, mean_by_modules
from residuum.analysis.methods import NotThisWay
from residuum.logic import Atom, Formula, distinct_nodes
from residuum.relaxations import Degree, Relaxation, interpret
from residuum.relaxations.arrays import ARRAYS

MOST_PARTS = 7
"""The most parts of a core."""

MOST_CHAINS = 1_000_000
"""The most chains of the parts of a core."""

MOST_WORK = 5 * 10**8
"""The most chains times nodes of the core: a few seconds."""

AT_ONCE = 2**14
"""The chains whose degrees are computed together, which bounds the memory."""

Outcomes = NDArray[np.int8]
"""Where the degree lies, chain by chain: at 0, at 1, or with part i in the low or the high half.

Chains are listed by their first part, then by its half, then by the chain of the others: the
chains that begin alike are one block.
"""

NOWHERE, AT_ZERO, AT_ONE, AT_PARTS = 0, 1, 2, 3
LOW, HIGH = 0, 1


def integrate_by_orderings(
    formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation
) -> Fraction:
    """Return the mean degree in a logic that only compares degrees, module by module."""

    def law_of_core(
        core: Formula, laws: Mapping[Atom, Distribution], budget: Budget
    ) -> Distribution:
        return _law_of_core(core, laws, relaxation, budget)

    return mean_by_modules(formula, atoms, relaxation, law_of_core)


def _law_of_core(
    core: Formula, laws: Mapping[Atom, Distribution], relaxation: Relaxation, budget: Budget
) -> Distribution:
    too_many = NotThisWay(f"{len(laws)} parts of it that hang together have too many orderings")
    if len(laws) > MOST_PARTS:
        raise too_many
    settings = list(_settings(laws))
    most = min(MOST_CHAINS, MOST_WORK // len(distinct_nodes(core)))
    if sum(_count(len(laws) - len(crisp)) for crisp, _ in settings) > most:
        raise too_many
    low, high = 0, 0
    for crisp, chance in settings:
        fluid = {atom: law for atom, law in laws.items() if atom not in crisp}
        outcomes = _outcomes(core, crisp, tuple(fluid), relaxation)
        law = _Chains(tuple(fluid.values()), budget).law(outcomes)
        low, high = low + chance * law.low, high + chance * law.high
    return Distribution(low, high)


def _count(parts: int) -> int:
    return int(2**parts * math.factorial(parts))


def _settings(laws: Mapping[Atom, Distribution]) -> Iterator[tuple[dict[Atom, float], Any]]:
    """Yield every choice of parts that are 0 or 1, and the probability of that choice."""
    choices: list[list[tuple[float | None, Any]]] = [
        [(None, 1), *((end, mass) for end, mass in ((0.0, low[0]), (1.0, high[0])) if mass)]
        for low, high in laws.values()
    ]
    for chosen in itertools.product(*choices):
        ends = zip(laws, chosen, strict=True)
        crisp = {atom: end for atom, (end, _) in ends if end is not None}
        yield crisp, math.prod(mass for _, mass in chosen)


@cache
def _chains(parts: int) -> NDArray[np.int8]:
    """Return for each part and chain the place of the part, from 1, negative in the high half."""
    if parts == 0:
        return np.zeros((0, 1), np.int8)
    others = _chains(parts - 1)
    farther = others + np.sign(others)
    blocks = [
        np.insert(farther, first, place, axis=0) for first in range(parts) for place in (1, -1)
    ]
    return np.concatenate(blocks, axis=1)


def _outcomes(
    core: Formula, crisp: Mapping[Atom, float], fluid: Sequence[Atom], relaxation: Relaxation
) -> Outcomes:
    chains = _chains(len(fluid))
    found = []
    for start in range(0, chains.shape[1], AT_ONCE):
        places = chains[:, start : start + AT_ONCE]
        near = places / 2.0**16  # 1 − x is exact
        degrees = {**crisp, **dict(zip(fluid, np.where(places > 0, near, 1 + near), strict=True))}
        known = {atom: Degree(ARRAYS, true=np.asarray(x)) for atom, x in degrees.items()}
        value = interpret(core, known, relaxation, ARRAYS).true
        found.append(_outcome(np.broadcast_to(value, places.shape[1]), near))
    return np.concatenate(found)


def _outcome(value: NDArray[Any], near: NDArray[Any]) -> Outcomes:
    is_high = value > 0.5
    outcome = np.where(is_high, AT_ONE, AT_ZERO)
    for part, is_here in enumerate(np.abs(near) == np.minimum(value, 1 - value)):
        outcome = np.where(is_here, AT_PARTS + 2 * part + is_high, outcome)
    return outcome.astype(np.int8)


@final
class _Chains:
    """Integrals along the chains of parts that are neither 0 nor 1."""

    def __init__(self, laws: Sequence[Distribution], budget: Budget) -> None:
        import flint

        self._half = flint.fmpq(1, 2)
        self._one = flint.fmpq_poly([1])
        self._densities = [(law.low.derivative(), law.high.derivative()) for law in laws]
        self._beyond = [1 - law.low - law.high for law in laws]
        self._budget = budget
        self._known: dict[tuple[tuple[int, ...], bytes], Any] = {}

    def law(self, outcomes: Outcomes) -> Distribution:
        everything = tuple(range(len(self._densities)))
        low, high = (self._chance(everything, outcomes == end)[0] for end in (AT_ZERO, AT_ONE))
        densities = self._collect(everything, np.where(outcomes < AT_PARTS, NOWHERE, outcomes))
        return Distribution(
            *(d.integral() + end for d, end in zip(densities, (low, high), strict=True))
        )

    def _blocks(
        self, parts: tuple[int, ...], table: NDArray[Any]
    ) -> Iterator[tuple[int, Any, tuple[int, ...], NDArray[Any]]]:
        """Yield what a chain can begin with: a part, its density, the others, their block."""
        blocks = iter(table.reshape(2 * len(parts), -1))
        for part in parts:
            others = tuple(other for other in parts if other != part)
            for density in self._densities[part]:
                yield part, density, others, next(blocks)

    def _chance(self, parts: tuple[int, ...], marked: NDArray[np.bool_]) -> Any:
        """Return the chance that all distances exceed u, in one of the marked chains."""
        if not marked.any():
            return self._one - self._one
        key = parts, marked.tobytes()
        if key not in self._known:
            if marked.all():
                self._known[key] = reduce(self._times, [self._beyond[i] for i in parts], self._one)
            else:
                total = self._one - self._one
                for _, density, others, block in self._blocks(parts, marked):
                    total += self._times(density, self._chance(others, block))
                whole = total.integral()
                self._known[key] = whole(self._half) - whole
        return self._known[key]

    def _collect(self, parts: tuple[int, ...], outcomes: Outcomes) -> list[Any]:
        """Return the densities of the degree in the low half and, mirrored, in the high half.

        Walks along the chains; those whose rests have the same outcomes go on as one.
        """
        found = [self._one - self._one] * 2
        start = parts, outcomes.astype(np.int8).tobytes()
        frontier = {start: self._one} if outcomes.any() else {}
        while frontier:
            beyond: dict[tuple[tuple[int, ...], bytes], Any] = {}
            for (rest, table), so_far in frontier.items():
                for part, density, others, block in self._blocks(
                    rest, np.frombuffer(table, np.int8)
                ):
                    if not block.any():
                        continue
                    here = self._times(so_far, density)
                    for half in (LOW, HIGH):
                        marked = block == AT_PARTS + 2 * part + half
                        found[half] += self._times(here, self._chance(others, marked))
                        block = np.where(marked, NOWHERE, block)
                    if block.any():
                        key = others, block.astype(np.int8).tobytes()
                        beyond[key] = beyond.get(key, 0) + here.integral()
            frontier = beyond
        return found

    def _times(self, left: Any, right: Any) -> Any:
        self._budget.spend(left, right)
        return left * right
