"""What a circuit is, and a builder that shares equal nodes and leaves out constants.

A circuit says which joint states of some variables obey a rule. Its leaves are single values of
variables, and its other nodes are products (all children hold) and sums (one child holds).

Two properties make questions quick, since one pass over the nodes then answers each of them:

- decomposable: no two children of a product depend on the same variable;
- deterministic: no state obeys two children of one sum.

The children of a sum need not mention the same variables: a variable that a child does not mention
may have any value there, and the weights of all its values add up to 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from residuum.errors import CircuitError


class Kind(IntEnum):
    """The kinds of nodes. A product without children is true, a sum without children is false."""

    LEAF = 0
    PRODUCT = 1
    SUM = 2


@dataclass(frozen=True, eq=False)
class Circuit:
    """A circuit over variables with `sizes[i]` values each; a binary variable has two, 0 and 1.

    All values of all variables are numbered, variable by variable: value v of variable i has the
    number `offsets[i] + v`. Nodes come after their children, and the last node is the root. The
    children of node n are `children[starts[n] : starts[n + 1]]`; a leaf has none, and `leaves[n]`
    is the number of its value (−1 for other nodes). A variable that no leaf mentions is free.
    """

    sizes: tuple[int, ...]
    kinds: NDArray[np.int8]
    leaves: NDArray[np.int64]
    starts: NDArray[np.int64]
    children: NDArray[np.int64]

    @property
    def offsets(self) -> tuple[int, ...]:
        """The number of the first value of each variable; the last entry counts all values."""
        return tuple(accumulate(self.sizes, initial=0))

    def __len__(self) -> int:
        return len(self.kinds)


class Builder:
    """Builds a circuit node by node. A node is known by its number.

    Equal nodes are one node; true, false and nodes with one child are simplified away. The builder
    does not check that a circuit is decomposable and deterministic.
    """

    FALSE: Final = 0
    TRUE: Final = 1

    def __init__(self, sizes: Iterable[int], most_nodes: int) -> None:
        self.sizes: Final = tuple(sizes)
        self._offsets: Final = tuple(accumulate(self.sizes, initial=0))
        self._names: Sequence[int] = range(len(self.sizes))
        self._most: Final = most_nodes
        self._nodes: list[tuple[Kind, tuple[int, ...]]] = []
        self._numbers: dict[tuple[Kind, tuple[int, ...]], int] = {}
        self._add(Kind.SUM, ())
        self._add(Kind.PRODUCT, ())

    def renamed(self, names: Sequence[int]) -> Builder:
        """Return a builder of the same circuit in which `names[v]` is called variable v."""
        twin = copy(self)
        twin._names = tuple(names)
        return twin

    def leaf(self, variable: int, value: int) -> int:
        """Return the node that says that a variable has a value."""
        return self._add(Kind.LEAF, (self._offsets[self._names[variable]] + value,))

    def product(self, children: Iterable[int]) -> int:
        """Return the node that says that all children hold."""
        found = set(children) - {self.TRUE}
        return self.FALSE if self.FALSE in found else self._joined(Kind.PRODUCT, found, self.TRUE)

    def sum(self, children: Iterable[int]) -> int:
        """Return the node that says that one of the children holds."""
        return self._joined(Kind.SUM, set(children) - {self.FALSE}, self.FALSE)

    def finish(self, root: int) -> Circuit:
        """Return the circuit below a node, without the nodes that the root does not need."""
        needed = self._below(root)
        places = {node: place for place, node in enumerate(needed)}
        nodes = [self._nodes[node] for node in needed]
        below = [() if kind is Kind.LEAF else children for kind, children in nodes]
        return Circuit(
            self.sizes,
            np.array([kind for kind, _ in nodes], dtype=np.int8),
            np.array([of[0] if kind is Kind.LEAF else -1 for kind, of in nodes], dtype=np.int64),
            np.array(list(accumulate(map(len, below), initial=0)), dtype=np.int64),
            np.array([places[child] for group in below for child in group], dtype=np.int64),
        )

    def _joined(self, kind: Kind, children: set[int], empty: int) -> int:
        if len(children) > 1:
            return self._add(kind, tuple(sorted(children)))
        return next(iter(children), empty)

    def _add(self, kind: Kind, of: tuple[int, ...]) -> int:
        found = self._numbers.setdefault((kind, of), len(self._nodes))
        if found == len(self._nodes):
            if found > self._most:
                raise CircuitError(
                    f"expected a circuit of at most {self._most:,} nodes, and this rule needs "
                    "more; make its domains smaller, or choose a relaxation other than `exact`"
                )
            self._nodes.append((kind, of))
        return found

    def _below(self, root: int) -> Sequence[int]:
        """Return the root and all nodes below it, children first."""
        seen, waiting = {root}, [root]
        while waiting:
            kind, of = self._nodes[waiting.pop()]
            fresh = [] if kind is Kind.LEAF else [child for child in of if child not in seen]
            seen.update(fresh)
            waiting += fresh
        return sorted(seen)  # a node is added after its children
