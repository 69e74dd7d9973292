"""The method "moments": the S-logic of the product, module by module.

A module is known by its moments E[fᵏ]. Those of a conjunction of independent parts are products
of the parts' moments, so that the cost grows with the number of atoms only. Other cores are
polynomials in their parts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from residuum.analysis.exact.modules import Module, modules_of
from residuum.analysis.exact.polynomials import Polynomial, polynomial_of
from residuum.analysis.methods import NotThisWay
from residuum.logic import And, Atom, Formula, Implies, Not, Or
from residuum.relaxations import Relaxation

MOST_MOMENTS = 200
"""The most moments of one part."""

Moments = list[Any]
"""E[f⁰], E[f¹], … as exact rationals."""


def integrate_by_moments(
    formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation
) -> Fraction:
    """Return the mean degree under the product t-norm, module by module."""
    modules = modules_of(formula)
    cores = {node: _Core(module, relaxation) for node, module in modules.items()}
    needed: dict[Formula, int] = dict.fromkeys([formula, *atoms], 1)
    for node in reversed(cores):
        for part, degree in cores[node].degrees():
            needed[part] = max(needed.get(part, 1), degree * needed[node])
            if needed[part] > MOST_MOMENTS:
                raise NotThisWay(f"it needs more than {MOST_MOMENTS} moments of a part")
    known: dict[Formula, Moments] = {atom: _uniform(needed[atom]) for atom in atoms}
    for node, core in cores.items():
        known[node] = core.moments(known, needed[node])
    mean = known[formula][1]
    return Fraction(int(mean.p), int(mean.q))


def _uniform(most: int) -> Moments:
    import flint

    return [flint.fmpq(1, k + 1) for k in range(most + 1)]


def _complement(moments: Moments) -> Moments:
    """Return the moments of 1 − f from those of f."""
    return [
        sum((-1) ** j * math.comb(k, j) * moments[j] for j in range(k + 1))
        for k in range(len(moments))
    ]


class _Core:
    """A module's core: a product of independent parts and complements, or any polynomial."""

    def __init__(self, module: Module, relaxation: Relaxation) -> None:
        self._parts = dict(module.parts)
        self._factors = _factors(module.core)
        self._polynomial: Polynomial | None = None
        if self._factors is None:
            self._polynomial = polynomial_of(module.core, tuple(self._parts), relaxation)

    def degrees(self) -> list[tuple[Formula, int]]:
        """Return how many moments of each part one moment of the module takes."""
        if self._polynomial is None:
            return [(part, 1) for part in self._parts.values()]
        return list(zip(self._parts.values(), self._polynomial.degrees(), strict=True))

    def moments(self, known: Mapping[Formula, Moments], most: int) -> Moments:
        if self._factors is not None:
            return self._product_moments(known, most)
        assert self._polynomial is not None
        laws = [known[part] for part in self._parts.values()]
        power = self._polynomial.one()
        found = [power.expectation(laws)]
        for _ in range(most):
            power = power * self._polynomial
            found.append(power.expectation(laws))
        return found

    def _product_moments(self, known: Mapping[Formula, Moments], most: int) -> Moments:
        assert self._factors is not None
        negated_result, factors = self._factors
        result = [_one()] * (most + 1)
        for atom, negated in factors:
            law = known[self._parts[atom]][: most + 1]
            law = _complement(law) if negated else law
            result = [a * b for a, b in zip(result, law, strict=True)]
        return _complement(result) if negated_result else result


def _one() -> Any:
    import flint

    return flint.fmpq(1)


Factors = tuple[bool, list[tuple[Atom, bool]]]


def _factors(core: Formula) -> Factors | None:
    """Return a core as a product of distinct stand-ins or their complements, or its complement.

    The first entry says whether the product is complemented. None: the core is of another form.
    """
    match core:
        case And(operands):
            found: Factors = (False, [(a, False) for a in operands if isinstance(a, Atom)])
        case Or(operands):
            found = (True, [(a, True) for a in operands if isinstance(a, Atom)])
        case Implies(Atom() as antecedent, Atom() as consequent):
            found = (True, [(antecedent, False), (consequent, True)])
        case Not(Atom() as operand):
            return True, [(operand, False)]
        case _:
            return None
    whole = len(found[1]) == len(core.children)
    distinct = len({atom for atom, _ in found[1]}) == len(found[1])
    return found if whole and distinct else None
