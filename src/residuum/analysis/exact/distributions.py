"""Distributions of degrees, and how the connectives of the minimum combine independent ones.

A degree x is known by P(x ≤ u) and P(x ≥ 1 − u) for 0 ≤ u ≤ 1/2. Both are polynomials in u for
an atom and stay so under min, max, 1 − x and the residuum; their constants are the chances of 0
and of 1. Numbers are exact and may grow large, so that the work is counted in their bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar, final

from residuum.analysis.exact.modules import modules_of
from residuum.analysis.methods import NotThisWay
from residuum.logic import (
    And,
    Atom,
    Formula,
    Implies,
    Not,
    Or,
    Truth,
    atoms,
    atoms_of,
    distinct_nodes,
)
from residuum.logic.nodes import Node
from residuum.relaxations import Relaxation
from residuum.relaxations.minimum import Minimum

MOST_WORK = 5 * 10**10
"""The most bits of all products, each times the logarithm of its shorter side: a few seconds."""

WORK_BESIDE = 10**5
"""The work that is added for every product, however short."""

T = TypeVar("T")


class Distribution(NamedTuple):
    """P(x ≤ u) and P(x ≥ 1 − u) of a degree x, as polynomials in u."""

    low: Any
    high: Any

    @property
    def negated(self) -> Distribution:
        """The distribution of 1 − x."""
        return self if self.low is self.high else Distribution(self.high, self.low)

    @property
    def mean(self) -> Fraction:
        """The expected degree: 1/2 + ∫ (P(x ≥ 1 − u) − P(x ≤ u)) du."""
        import flint

        gain = (self.high - self.low).integral()(flint.fmpq(1, 2))
        return Fraction(1, 2) + Fraction(int(gain.p), int(gain.q))


CoreLaw = Callable[[Formula, Mapping[Atom, Distribution], "Budget"], Distribution]


@final
class Budget:
    """The work that may still be spent on polynomials."""

    def __init__(self) -> None:
        self._left = MOST_WORK

    def spend(self, *factors: Any) -> None:
        """Subtract the work that the product of these polynomials may need."""
        degrees = [int(factor.degree()) for factor in factors]
        whole = sum(degrees)
        bits = (1 + whole) * sum(map(_height, factors))
        self._left -= bits * (1 + whole - max(degrees)).bit_length() + WORK_BESIDE
        if self._left < 0:
            raise NotThisWay("its distribution has numbers too long to compute with")


def _height(polynomial: Any) -> int:
    return int(polynomial.numer().height_bits()) + int(polynomial.denom()).bit_length()


def mean_by_modules(
    formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation, law_of_core: CoreLaw
) -> Fraction:
    """Return the mean degree, module by module.

    `law_of_core` gives the distribution of a core whose parts hang together.
    """
    import flint

    u = flint.fmpq_poly([0, 1])
    uniform, budget = Distribution(u, u), Budget()
    known: dict[Formula, _Minimum] = {atom: _Minimum([uniform]) for atom in atoms}
    for node, module in modules_of(formula).items():
        # A part belongs to one module only, so that its law is not needed again.
        parts = {atom: known.pop(part) for atom, part in module.parts}
        known[node] = _Law(parts, relaxation, law_of_core, budget).of(module.core)
    return known[formula].distribution(budget).mean


@final
class _Minimum:
    """The minimum of independent degrees, or its complement. Products are computed when used."""

    def __init__(self, operands: list[Distribution], *, is_negated: bool = False) -> None:
        self._operands = operands
        self._is_negated = is_negated

    @property
    def negated(self) -> _Minimum:
        return _Minimum(self._operands, is_negated=not self._is_negated)

    @classmethod
    def of(cls, parts: Iterable[_Minimum], budget: Budget) -> _Minimum:
        """Return the minimum of parts that nothing else refers to."""
        lists = [
            [part.distribution(budget)] if part._is_negated else part._operands for part in parts
        ]
        longest = max(lists, key=len)  # a chain of thousands is gathered without copying it
        for operands in lists:
            if operands is not longest:
                longest.extend(operands)
        return cls(longest)

    def distribution(self, budget: Budget) -> Distribution:
        law = _conjoin(self._operands, budget)
        return law.negated if self._is_negated else law


def _conjoin(laws: Sequence[Distribution], budget: Budget) -> Distribution:
    if len(laws) == 1:
        return laws[0]
    budget.spend(*(law.low for law in laws))
    budget.spend(*(law.high for law in laws))
    # All atoms share one law object, so that many atoms become a power.
    alike: dict[int, list[Distribution]] = {}
    for law in laws:
        alike.setdefault(id(law), []).append(law)
    return Distribution(
        1 - _in_pairs([(1 - same[0].low) ** len(same) for same in alike.values()]),
        _in_pairs([same[0].high ** len(same) for same in alike.values()]),
    )


def _in_pairs(items: list[T], combine: Callable[[T, T], T] = operator.mul) -> T:
    """Return all items combined in pairs, so that both sides have about the same size."""
    while len(items) > 1:
        paired = zip(items[::2], items[1::2], strict=False)
        items = [combine(a, b) for a, b in paired] + items[len(items) & ~1 :]
    return items[0]


@final
@dataclass(frozen=True)
class _Law:
    """The law of a core, from the laws of its parts."""

    parts: Mapping[Atom, _Minimum]
    relaxation: Relaxation
    law_of_core: CoreLaw
    budget: Budget

    def of(self, core: Formula) -> _Minimum:
        match core:
            case Atom():
                return self.parts[core]
            case Not(Atom() as operand):
                return self.parts[operand].negated
            case And() | Or():
                groups = _groups(core)
                if len(groups) > 1:
                    return self._join(type(core), [self.of(group) for group in groups])
            case Implies(Atom() as left, Atom() as right) if left is not right:
                if self.relaxation.kind == "S":
                    return self._join(Or, [self.parts[left].negated, self.parts[right]])
                if isinstance(self.relaxation.tnorm, Minimum):
                    return self._residuum(self.parts[left], self.parts[right])
        return self._whole(core, self.parts)

    def _join(self, kind: type[And | Or], laws: list[_Minimum]) -> _Minimum:
        if not isinstance(self.relaxation.tnorm, Minimum):
            left, right = atoms("left right")
            return _in_pairs(laws, lambda x, y: self._whole(kind(left, right), {left: x, right: y}))
        if kind is And:
            return _Minimum.of(laws, self.budget)
        return _Minimum.of([law.negated for law in laws], self.budget).negated

    def _residuum(self, left: _Minimum, right: _Minimum) -> _Minimum:
        x, y = left.distribution(self.budget), right.distribution(self.budget)
        return _Minimum([_residuum(x, y, self.budget)])

    def _whole(self, core: Formula, parts: Mapping[Atom, _Minimum]) -> _Minimum:
        needed = {atom: parts[atom].distribution(self.budget) for atom in atoms_of(core)}
        return _Minimum([self.law_of_core(core, needed, self.budget)])


def _groups(core: And | Or) -> list[Formula]:
    """Return the operands of a core; operands that share a part become one."""
    leader: dict[Node, Node] = {}

    def lead(node: Node) -> Node:
        while (above := leader.setdefault(node, node)) is not node:
            leader[node] = leader[above]
            node = leader[node]
        return node

    for node in distinct_nodes(core)[:-1]:
        for child in () if isinstance(node, Atom) else node.children:
            if not isinstance(child, Truth):
                leader[lead(child)] = lead(node)
    groups: dict[Node, list[Formula]] = {}
    for operand in core.operands:
        groups.setdefault(lead(operand), []).append(operand)
    return [type(core)(*group) for group in groups.values()]


def _residuum(x: Distribution, y: Distribution, budget: Budget) -> Distribution:
    """Return the law of x → y: below 1 it is y, where y < x."""
    import flint

    budget.spend(x.low, y.low)
    budget.spend(x.high, y.high)
    half = flint.fmpq(1, 2)
    low = ((1 - x.low) * y.low.derivative()).integral() + (1 - x.low[0]) * y.low[0]
    high = (x.high * y.high.derivative()).integral()
    return Distribution(low, high + (1 - low(half) - high(half)))
