"""Making a circuit smooth: the children of each sum then depend on the same variables.

Counts with arbitrary weights need that. Probabilities do not: those of a variable add up to 1.

A child that lacks variables is multiplied by nodes that allow every value of these. Such products
are shared: a balanced binary tree lies over all variables, and the product over a set of variables
consists of products over parts of the tree. Neighbours that are often missing together thus cost
one node.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Final

from residuum.circuits.checking import children_of, variables_of_leaves
from residuum.circuits.circuit import Builder, Circuit, Kind
from residuum.errors import CircuitError

MOST_NODES: Final = 2_000_000
"""The most nodes of a circuit that is made smooth."""


def smoothed(circuit: Circuit, *, most_nodes: int = MOST_NODES) -> Circuit:
    """Return a smooth circuit that the same states obey; a variable of no leaf stays free."""
    build = Builder(circuit.sizes, most_nodes)
    try:
        return _Smoothing(build).smooth(circuit)
    except CircuitError:  # the builder speaks of rules
        raise CircuitError(
            f"expected a circuit of at most {most_nodes:,} nodes, and this one needs more to be "
            "smooth; compile the formula with another order of its variables"
        ) from None


class _Smoothing:
    """The nodes of a smooth circuit, and the variables of each: bit i is variable i."""

    def __init__(self, build: Builder) -> None:
        self._build = build
        self._variables: dict[int, int] = {build.FALSE: 0, build.TRUE: 0}
        self._free: dict[int, int] = {0: build.TRUE}

    def smooth(self, circuit: Circuit) -> Circuit:
        made: list[int] = []
        nodes = zip(
            circuit.kinds.tolist(), circuit.leaves.tolist(), variables_of_leaves(circuit),
            children_of(circuit), strict=True,
        )  # fmt: skip
        offsets = circuit.offsets
        for kind, leaf, variable, children in nodes:
            if kind == Kind.LEAF:
                made.append(self._leaf(variable, leaf - offsets[variable]))
            elif kind == Kind.PRODUCT:
                made.append(self._product([made[child] for child in children]))
            else:
                made.append(self._sum([made[child] for child in children]))
        return self._build.finish(made[-1])

    def _leaf(self, variable: int, value: int) -> int:
        node = self._build.leaf(variable, value)
        self._variables[node] = 1 << variable
        return node

    def _product(self, children: Sequence[int]) -> int:
        node = self._build.product(children)
        if node not in self._variables:
            self._variables[node] = self._union(children)
        return node

    def _sum(self, children: Sequence[int]) -> int:
        possible = [child for child in children if child != self._build.FALSE]
        every = self._union(possible)
        full = [
            self._product([child, self._any_values(every & ~self._variables[child])])
            for child in possible
        ]
        node = self._build.sum(full)
        self._variables.setdefault(node, every)
        return node

    def _any_values(self, variables: int) -> int:
        """Return the node that allows every value of a set of variables."""
        node = self._free.get(variables)
        if node is not None:
            return node
        low, high = (variables & -variables).bit_length() - 1, variables.bit_length() - 1
        if low == high:
            values = range(self._build.sizes[low])
            node = self._build.sum([self._build.leaf(low, value) for value in values])
        else:
            level = (low ^ high).bit_length() - 1
            cut = high >> level << level  # where the tree parts the set
            upper = variables >> cut << cut
            node = self._build.product(map(self._any_values, (variables ^ upper, upper)))
        self._free[variables] = node
        self._variables[node] = variables
        return node

    def _union(self, nodes: Sequence[int]) -> int:
        return reduce(or_, map(self._variables.__getitem__, nodes), 0)
