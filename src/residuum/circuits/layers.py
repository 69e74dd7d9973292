"""A circuit in layers: the form in which tensors are sent through it.

Every node that is evaluated is a row. A row is a sum of pairs: the products of two rows each. Rows
of one layer depend only on rows of the layers before, so that a layer is evaluated at once. A sum
takes in the products below it, which makes half as many layers.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from residuum.circuits.circuit import Circuit, Kind

Numbers = NDArray[np.int64]


class Layer(NamedTuple):
    """The rows `first` to `last` (exclusive), and the pairs that they add up.

    Pair p is the product of the rows `left[p]` and `right[p]`, and is added to row `first +
    owner[p]`. The pairs of one row stand beside each other.
    """

    first: int
    last: int
    left: Numbers
    right: Numbers
    owner: Numbers


class Layers(NamedTuple):
    """A circuit in layers. Row 0 is the constant 1; row 1 + i is the value `leaves[i]`.

    The last row is the root, unless `constant` says that the circuit is always true or false.
    """

    leaves: Numbers
    layers: tuple[Layer, ...]
    rows: int
    constant: bool | None


def layers_of(circuit: Circuit) -> Layers:
    """Return a circuit in layers."""
    kind = circuit.kinds[-1]
    if kind != Kind.LEAF and circuit.starts[-1] == circuit.starts[-2]:
        return Layers(np.zeros(0, np.int64), (), 1, bool(kind == Kind.PRODUCT))
    return _Layering(circuit).run()


def all_pairs(layers: Layers) -> tuple[Numbers, Numbers, Numbers]:
    """Return the owner, as a row, and the two factors of all pairs of all layers."""
    each = [(layer.first + layer.owner, layer.left, layer.right) for layer in layers.layers]
    nothing = (np.zeros(0, np.int64),) * 3  # a circuit of one leaf has no layers
    owner, left, right = map(np.concatenate, zip(nothing, *each, strict=True))
    return owner, left, right


@final
class _Layering:
    def __init__(self, circuit: Circuit) -> None:
        self._circuit: Final = circuit
        self._starts: Final = circuit.starts.tolist()
        self._children: Final = circuit.children.tolist()
        self._kinds: Final = circuit.kinds.tolist()
        is_leaf = circuit.kinds == Kind.LEAF
        self._leaves: Final = circuit.leaves[is_leaf]
        self._depths = [0] * (1 + len(self._leaves))
        self._pairs: list[list[tuple[int, int]]] = [[] for _ in self._depths]
        self._row: dict[int, int] = {
            node: 1 + place for place, node in enumerate(np.flatnonzero(is_leaf).tolist())
        }

    def run(self) -> Layers:
        for node, kind in enumerate(self._kinds):
            if kind == Kind.SUM:
                self._row[node] = self._new_row([self._pair(child) for child in self._below(node)])
        root = self._row_of(len(self._kinds) - 1)
        return self._in_order(root)

    def _below(self, node: int) -> list[int]:
        found: list[int] = self._children[self._starts[node] : self._starts[node + 1]]
        return found

    def _row_of(self, node: int) -> int:
        """Return the row of a node. A product has one only if something else than a sum needs it.

        Its factors have their rows already, since nodes come after their children.
        """
        found = self._row.get(node)
        if found is None:
            found = self._row[node] = self._new_row([self._pair(node)])
        return found

    def _pair(self, node: int) -> tuple[int, int]:
        """Return two rows whose product a node is. Factors of few layers are multiplied first."""
        if self._kinds[node] != Kind.PRODUCT:
            return self._row_of(node), 0
        factors = [self._row_of(child) for child in self._below(node)]
        while len(factors) > 2:
            factors.sort(key=self._depths.__getitem__, reverse=True)
            pair = factors.pop(), factors.pop()
            factors.append(self._new_row([pair]))
        return factors[0], factors[1]

    def _new_row(self, pairs: list[tuple[int, int]]) -> int:
        self._pairs.append(pairs)
        self._depths.append(1 + max(self._depths[row] for pair in pairs for row in pair))
        return len(self._depths) - 1

    def _in_order(self, root: int) -> Layers:
        """Return the rows in the order of their depths, without those that the root lacks."""
        depths = np.array(self._depths)
        order = np.argsort(depths, kind="stable")
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        layers = []
        first = 1 + len(self._leaves)
        for depth in range(1, self._depths[root] + 1):
            rows = np.flatnonzero(depths == depth).tolist()
            pairs = np.array([pair for row in rows for pair in self._pairs[row]])
            sizes = [len(self._pairs[row]) for row in rows]
            owner = np.repeat(np.arange(len(rows)), sizes)
            left, right = places[pairs].T
            layers.append(Layer(first, first + len(rows), left.copy(), right.copy(), owner))
            first += len(rows)
        return Layers(self._leaves, tuple(layers), first, None)
