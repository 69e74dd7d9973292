"""Rule → circuit: the ways to compile a formula, and how much work they may take.

Elimination (`elimination.py`) suits rules over neighbours, and is taken where its tables are small.
Top-down compilation (`top_down.py`) depends on the order of the variables, and nobody knows
beforehand which is best. So each order gets the same amount of work, first little and then more,
until at least one of them ends; the smallest circuit counts. Work is counted in steps, not in
seconds: the same rule gives the same circuit on every machine. A large circuit is kept on disk
(`store.py`), so that the next process need not compile it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Final

from residuum.circuits.circuit import Builder, Circuit
from residuum.circuits.elimination import compile_by_elimination, elimination_order
from residuum.circuits.propositions import Propositions, Shape, members
from residuum.circuits.store import read_circuit, write_circuit
from residuum.circuits.top_down import OutOfWorkError, compile_top_down
from residuum.circuits.waiting import saying_after_a_second
from residuum.errors import CircuitError

Way = Callable[[Builder], Circuit]

WORK: Final = (1 << 15, 1 << 19, 1 << 23)
"""The steps that each way may take in the first, second and third round.

On one core of 2026 the rounds take some 0.05, 0.5 and 10 seconds for each way.
"""

STATES_PER_STEP: Final = 4
"""How many entries of tables are filled while top-down compilation takes one step, or more."""

WORTH_KEEPING: Final = 2_000
"""The fewest nodes of a circuit that is kept on disk.

It takes some 0.05 seconds to compile, and 0.002 seconds to read.
"""

VERSION: Final = 3
"""The version of the compiler. Raise it when the same formula gives another circuit than before."""

MOST_NODES: Final = 2_000_000
"""The most nodes of a circuit. One number for each node and 64 examples takes a gigabyte."""


def compile_circuit(
    propositions: Propositions, root: int, work: Sequence[int] | None = None
) -> Circuit:
    """Return the smallest circuit that the ways find within the first round in which one ends.

    `work` has the steps of each round, by default `WORK`. Raises CircuitError if none ends within
    the last round.

    >>> some = Propositions([2] * 20)
    >>> exactly_one = some.count_of(0b10, [some.literal(one, 0b10) for one in range(20)])
    >>> len(compile_circuit(some, exactly_one)) < 130
    True
    """
    work = WORK if work is None else work
    if root in (propositions.FALSE, propositions.TRUE):
        build = Builder(propositions.sizes, 2)
        return build.finish(build.TRUE if root == propositions.TRUE else build.FALSE)
    digest = digest_of(propositions, root)
    kept = read_circuit(digest)
    if kept is not None and kept.sizes == propositions.sizes:
        return kept
    with saying_after_a_second("compiling a rule to a circuit"):
        rounds = (_smallest(propositions, root, steps) for steps in work)
        found = next((one for one in rounds if one is not None), None)
    if found is None:
        raise CircuitError(
            f"expected a rule whose circuit takes at most {work[-1]:,} steps to compile and has at "
            f"most {MOST_NODES:,} nodes, and this rule needs more; make its domains smaller, split "
            "it into several rules, or choose a relaxation other than `exact`"
        )
    if len(found) >= WORTH_KEEPING:
        write_circuit(digest, found)
    return found


def _smallest(propositions: Propositions, root: int, steps: int) -> Circuit | None:
    """Return the smallest circuit that is found with so many steps for each way."""
    found: list[Circuit] = []
    for way in _ways(propositions, root, steps):
        with suppress(OutOfWorkError, CircuitError):  # too many steps, or nodes
            found.append(way(Builder(propositions.sizes, MOST_NODES)))
    return min(found, key=lambda circuit: len(circuit) + len(circuit.children), default=None)


def digest_of(propositions: Propositions, root: int) -> str:
    """Return a digest of all that the circuit of a formula depends on.

    Equal formulas have equal digests, whatever their numbers are.
    """
    known: dict[int, bytes] = {}
    for formula in propositions.below(root):
        shape, operands = propositions.shapes[formula], propositions.operands[formula]
        parts = propositions.parts(formula)
        # Sets are integers, which may have more decimal digits than Python writes.
        numbers = [f"{number:x}" for number in operands[: len(operands) - len(parts)]]
        content = b"".join(sorted(known[part] for part in parts))
        known[formula] = sha256(repr((int(shape), numbers)).encode() + content).digest()
    return sha256(repr((VERSION, propositions.sizes)).encode() + known[root]).hexdigest()


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
