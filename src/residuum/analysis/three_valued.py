"""S-Gödel by modules, through Kleene's three values.

Fix a threshold u ≤ 1/2 and call a degree low below u, high above 1 − u, and middling between.
min, max and 1 − x respect these three classes, so the class of a formula follows from those of
its atoms, and E[f] = 1/2 + ∫ (P(f high) − P(f low)) du over 0 ≤ u ≤ 1/2. Both probabilities are
polynomials in u; those of a conjunction of independent parts are products.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from residuum.analysis.giving_up import NotThisWay
from residuum.analysis.modules import Module, modules_of
from residuum.logic import And, Atom, Formula, Implies, Not, Or
from residuum.relaxations import Degree, Relaxation, interpret
from residuum.relaxations.arrays import ARRAYS
from residuum.relaxations.minimum import Minimum

MOST_PARTS = 8


class _Law(NamedTuple):
    """P(low) and P(high) of a module, as polynomials in u."""

    low: Any
    high: Any

    @property
    def negated(self) -> _Law:
        return _Law(self.high, self.low)


def integrate_three_valued(
    formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation
) -> Fraction:
    """Return the mean degree in the S-logic of the minimum, module by module."""
    import flint

    if not isinstance(relaxation.tnorm, Minimum) or relaxation.kind != "S":
        raise NotThisWay("it is not the S-logic of the minimum")
    u = flint.fmpq_poly([0, 1])
    known: dict[Formula, _Law] = dict.fromkeys(atoms, _Law(u, u))
    for node, module in modules_of(formula).items():
        known[node] = _law_of(module, known, relaxation)
    gain = (known[formula].high - known[formula].low).integral()(flint.fmpq(1, 2))
    return Fraction(1, 2) + Fraction(int(gain.p), int(gain.q))


def _law_of(module: Module, known: Mapping[Formula, _Law], relaxation: Relaxation) -> _Law:
    laws = {atom: known[part] for atom, part in module.parts}
    match module.core:
        case And(operands) if _are_independent(operands):
            return _conjoin(laws[atom] for atom in operands)  # type: ignore[index]
        case Or(operands) if _are_independent(operands):
            return _conjoin(laws[atom].negated for atom in operands).negated  # type: ignore[index]
        case Not(Atom() as operand):
            return laws[operand].negated
        case Implies(Atom() as antecedent, Atom() as consequent) if antecedent is not consequent:
            return _conjoin((laws[antecedent], laws[consequent].negated)).negated
        case core:
            return _by_enumeration(core, laws, relaxation)


def _are_independent(operands: tuple[Formula, ...]) -> bool:
    return all(isinstance(part, Atom) for part in operands) and len({*operands}) == len(operands)


def _conjoin(laws: Iterable[_Law]) -> _Law:
    # Atoms all have the same law object; runs of it become powers.
    runs = [list(run) for _, run in itertools.groupby(laws, key=id)]
    return _Law(
        1 - _product([(1 - run[0].low) ** len(run) for run in runs]),
        _product([run[0].high ** len(run) for run in runs]),
    )


def _product(factors: list[Any]) -> Any:
    """Multiply in pairs, so that both sides of a product have about the same length."""
    while len(factors) > 1:
        paired = zip(factors[::2], factors[1::2], strict=False)
        factors = [a * b for a, b in paired] + factors[len(factors) & ~1 :]
    return factors[0]


def _by_enumeration(core: Formula, laws: Mapping[Atom, _Law], relaxation: Relaxation) -> _Law:
    """Return the law of any core by going through the classes of its parts."""
    if len(laws) > MOST_PARTS:
        raise NotThisWay(f"a part of it has more than {MOST_PARTS} parts that hang together")
    classes = np.array([0.0, 0.5, 1.0])
    axes = np.meshgrid(*[classes] * len(laws), indexing="ij")
    points = {atom: Degree(ARRAYS, true=axis) for atom, axis in zip(laws, axes, strict=True)}
    degrees = interpret(core, points, relaxation, ARRAYS).true
    chances = [(law.low, 1 - law.low - law.high, law.high) for law in laws.values()]
    return _Law(_chance(degrees == 0, chances), _chance(degrees == 1, chances))


def _chance(happens: Any, chances: Sequence[tuple[Any, Any, Any]]) -> Any:
    """Return the probability of the marked states, one axis of three classes at a time."""
    table: list[Any] = happens.astype(int).ravel().tolist()
    for law in reversed(chances):
        rows = [table[i : i + 3] for i in range(0, len(table), 3)]
        table = [sum(p * q for p, q in zip(row, law, strict=True)) for row in rows]
    return table[0]
