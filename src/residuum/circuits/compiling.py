"""Rule → circuit: the ways to compile a formula, tried in turn until the smallest circuit is found.

Top-down compilation (`top_down.py`) depends on the order of the variables, and elimination
(`elimination.py`) suits rules over neighbours. Nobody knows beforehand which is best. So each way
gets the same amount of work, first little and then more, until at least one of them ends. Work is
counted in steps, not in seconds: the same rule gives the same circuit on every machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from residuum.circuits.circuit import Builder, Circuit
from residuum.circuits.elimination import compile_by_elimination, elimination_order
from residuum.circuits.propositions import Propositions, Shape, members
from residuum.circuits.top_down import OutOfWorkError, compile_top_down
from residuum.errors import CircuitError

Way = Callable[[Builder], Circuit]

WORK: Final = (1 << 15, 1 << 19, 1 << 23)
"""The steps that each way may take in the first, second and third round.

On one core of 2026 the rounds take some 0.05, 0.5 and 10 seconds for each way.
"""

STATES_PER_STEP: Final = 4
"""How many entries of tables are filled while top-down compilation takes one step, or more."""

MOST_NODES: Final = 2_000_000
"""The most nodes of a circuit. One number for each node and 64 examples takes a gigabyte."""


def compile_circuit(propositions: Propositions, root: int) -> Circuit:
    """Return the smallest circuit that the ways find within the first round in which one ends.

    Raises CircuitError if none ends within the last round.

    >>> some = Propositions([2] * 20)
    >>> exactly_one = some.count_of(0b10, [some.literal(one, 0b10) for one in range(20)])
    >>> len(compile_circuit(some, exactly_one)) < 130
    True
    """
    if root in (propositions.FALSE, propositions.TRUE):
        build = Builder(propositions.sizes, 2)
        return build.finish(build.TRUE if root == propositions.TRUE else build.FALSE)
    too_large: CircuitError | None = None
    for steps in WORK:
        found: list[Circuit] = []
        for way in _ways(propositions, root, steps):
            try:
                found.append(way(Builder(propositions.sizes, MOST_NODES)))
            except OutOfWorkError:
                continue
            except CircuitError as error:
                too_large = error
        if found:
            return min(found, key=lambda circuit: len(circuit) + len(circuit.children))
    raise too_large or CircuitError(
        f"expected a rule whose circuit takes at most {WORK[-1]:,} steps to compile, and this rule "
        "takes more; make its domains smaller, split it into several rules, or choose a relaxation "
        "other than `exact`"
    )


def _ways(propositions: Propositions, root: int, steps: int) -> Iterator[Way]:
    """Yield functions that compile a formula in at most so many steps, or raise OutOfWorkError."""
    order = elimination_order(propositions, root, STATES_PER_STEP * steps)
    if order is not None:
        yield lambda build: compile_by_elimination(propositions, root, build, order)
        return  # whatever top-down compilation finds is hardly ever smaller
    seen = set()
    for variables in _orders(propositions, root):
        if variables in seen:
            continue
        seen.add(variables)
        yield partial(_top_down, propositions, root, variables, steps)


def _top_down(
    propositions: Propositions, root: int, order: Sequence[int], steps: int, build: Builder
) -> Circuit:
    places = [0] * len(order)
    for place, variable in enumerate(order):
        places[variable] = place
    translated, formula = propositions.translated(root, places)
    return compile_top_down(translated, formula, build.renamed(order), steps)


def _orders(propositions: Propositions, root: int) -> Iterator[tuple[int, ...]]:
    """Yield orders of the variables: as they are numbered, and the most frequent ones first."""
    everything = range(len(propositions.sizes))
    yield tuple(everything)
    often: Counter[int] = Counter()
    for formula in propositions.below(root):
        for part in propositions.parts(formula):
            if propositions.shapes[part] is Shape.LITERAL:
                often[next(members(propositions.variables[part]))] += 1
    yield tuple(sorted(everything, key=lambda variable: -often[variable]))
