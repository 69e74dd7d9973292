"""What can be known of a circuit's determinism: no state obeys two children of one sum.

Deciding it in general is as hard as the formula was to compile. Two checks are cheap:

- A proof for most sums of compiled files: two children exclude each other if one fixes a variable
  to a value that the other excludes, as the branches of a decision do.
- A test for circuits with a sum that has no such proof. It draws pairs of a state and a way to
  obey the circuit uniformly, where a way chooses one child of each sum it meets, and refuses the
  circuit if a drawn state has two ways. A circuit in which a share ε of all pairs belongs to states
  with several ways, so that its count may be too large by a factor of 1 / (1 − ε), is accepted
  with a probability of (1 − ε)^SAMPLES. This says nothing of states that other weights favour.
"""

from __future__ import annotations

import math
import random
from bisect import bisect
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import accumulate, combinations
from operator import and_, or_
from typing import Final

from residuum.circuits.checking import children_of
from residuum.circuits.circuit import Circuit, Kind
from residuum.circuits.counting import node_counts
from residuum.errors import CircuitError

SAMPLES: Final = 256
"""The number of states that the test draws."""

_ALL: Final = (1 << SAMPLES) - 1
"""The set of all drawn states."""

MOST_CHILDREN: Final = 64
"""The most children of a sum whose pairs are compared: there are 2,016 of them."""

_RANDOM: Final = random.Random()
"""Random numbers of its own: a file that is loaded changes no other random numbers."""


def undecided_sums(circuit: Circuit) -> list[int]:
    """Return the sums of a decomposable circuit without a proof that their children exclude.

    A value is fixed at a node if all states that obey the node have it, excluded if none has it.
    """
    fixed: list[int] = []  # bit i is value number i
    excluded: list[int] = []
    undecided = []
    others = _other_values(circuit)
    nodes = zip(circuit.kinds.tolist(), circuit.leaves.tolist(), children_of(circuit), strict=True)
    for node, (kind, leaf, children) in enumerate(nodes):
        if kind == Kind.LEAF:
            fixed.append(1 << leaf)
            excluded.append(others[leaf])
            continue
        join = or_ if kind == Kind.PRODUCT else and_
        of_fixed, of_excluded = [fixed[c] for c in children], [excluded[c] for c in children]
        fixed.append(reduce(join, of_fixed) if children else 0)
        excluded.append(reduce(join, of_excluded) if children else 0)
        if kind == Kind.SUM and not _exclude_each_other(of_fixed, of_excluded):
            undecided.append(node)
    return undecided


def _other_values(circuit: Circuit) -> list[int]:
    """Return, for each value, the set of the other values of its variable."""
    offsets = circuit.offsets
    groups = [
        ((1 << size) - 1) << first for size, first in zip(circuit.sizes, offsets, strict=False)
    ]
    return [
        group ^ (1 << value)
        for group, first, size in zip(groups, offsets, circuit.sizes, strict=False)
        for value in range(first, first + size)
    ]


def _exclude_each_other(fixed: Sequence[int], excluded: Sequence[int]) -> bool:
    if len(fixed) > MOST_CHILDREN:
        return False
    pairs = combinations(zip(fixed, excluded, strict=True), 2)
    return all(one[0] & other[1] or one[1] & other[0] for one, other in pairs)


def check_deterministic(circuit: Circuit) -> None:
    """Raise CircuitError if a decomposable circuit is found not to be deterministic.

    The first lines of this file say what is proven, and what is tested on random states.
    """
    if undecided_sums(circuit) and (
        _exceeds_all_states(circuit) or _has_two_ways(circuit, _draw(circuit))
    ):
        raise CircuitError(
            "expected a deterministic circuit, found a state that obeys two children of a sum (∨), "
            "so that counts would be too large; compile the formula to d-DNNF or SDD"
        )


def _exceeds_all_states(circuit: Circuit) -> bool:
    """Return whether a node counts more states than there are, beyond rounding.

    Exact counts of such a circuit may have millions of digits.
    """
    shares = node_counts(circuit, [1 / size for size in circuit.sizes for _ in range(size)])
    return not all(share <= 1.001 for share in shares)  # also if one is NaN


def _draw(circuit: Circuit) -> list[int]:
    """Return the drawn states: for each value, bit s says that state s has it."""
    shares = node_counts(
        circuit, [Fraction(1, size) for size in circuit.sizes for _ in range(size)]
    )
    visited = [0] * len(circuit)  # bit s: the way of state s passes through the node
    visited[-1] = _ALL if shares[-1] else 0
    states = [0] * circuit.offsets[-1]
    kinds, leaves, groups = circuit.kinds.tolist(), circuit.leaves.tolist(), children_of(circuit)
    for node in reversed(range(len(circuit))):
        if kinds[node] == Kind.LEAF:
            states[leaves[node]] |= visited[node]
        elif kinds[node] == Kind.PRODUCT:
            for child in groups[node]:
                visited[child] |= visited[node]
        elif visited[node]:
            for child, chosen in _divide(visited[node], groups[node], shares):
                visited[child] |= chosen
    _fill(circuit, states)
    return states


def _divide(
    samples: int, children: Sequence[int], shares: Sequence[Fraction]
) -> Iterator[tuple[int, int]]:
    """Yield a child for each sample that passes through a sum, drawn by the shares of children."""
    ends = list(accumulate(shares[child] for child in children))
    scale = math.lcm(*(end.denominator for end in ends))
    whole = [int(end * scale) for end in ends]
    for sample in _bits(samples):
        yield children[bisect(whole, _RANDOM.randrange(whole[-1]))], 1 << sample


def _fill(circuit: Circuit, states: list[int]) -> None:
    """Draw the values of variables that a state does not have yet: any value obeys the circuit."""
    for first, size in zip(circuit.offsets, circuit.sizes, strict=False):
        for sample in _bits(_ALL & ~reduce(or_, states[first : first + size])):
            states[first + _RANDOM.randrange(size)] |= 1 << sample


def _bits(of: int) -> list[int]:
    return [bit for bit in range(of.bit_length()) if of >> bit & 1]


def _has_two_ways(circuit: Circuit, states: Sequence[int]) -> bool:
    """Return whether one of the drawn states obeys the circuit in two ways."""
    once: list[int] = []  # bit s: the node holds in state s
    twice: list[int] = []
    nodes = zip(circuit.kinds.tolist(), circuit.leaves.tolist(), children_of(circuit), strict=True)
    for kind, leaf, children in nodes:
        if kind == Kind.LEAF:
            one, two = states[leaf], 0
        elif kind == Kind.PRODUCT:
            one = reduce(and_, (once[child] for child in children), _ALL)
            two = one & reduce(or_, (twice[child] for child in children), 0)
        else:
            one = two = 0
            for child in children:
                two |= one & once[child] | twice[child]
                one |= once[child]
        once.append(one)
        twice.append(two)
    return bool(twice[-1])
