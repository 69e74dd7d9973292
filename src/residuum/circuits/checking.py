"""Checks of a circuit that came from outside: its arrays, and its products and sums.

`check_structure` looks at the arrays alone and is quick; whatever passes it can be evaluated
without an error. The other checks need the variables below each node.
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Final

import numpy as np
from numpy.typing import NDArray

from residuum.circuits.circuit import Circuit, Kind
from residuum.errors import CircuitError

MOST_BITS: Final = 2**32
"""The most variables below nodes, added up over the nodes: each is a bit, and these are 512 MiB."""


def check_structure(circuit: Circuit) -> None:
    """Raise CircuitError unless the arrays of a circuit fit together as `Circuit` says."""
    problem = _problem_of(circuit)
    if problem:
        raise CircuitError(f"{problem}; build the circuit with `Builder`, or load it from a file")


def _problem_of(circuit: Circuit) -> str | None:
    kinds, leaves, starts, children = (
        circuit.kinds, circuit.leaves, circuit.starts, circuit.children,
    )  # fmt: skip
    if not all(type(size) is int and size > 0 for size in circuit.sizes):
        return "expected variables with one value or more, found one with none"
    if any(array.ndim != 1 for array in (kinds, leaves, starts, children)):
        return "expected arrays of one dimension, found another shape"
    if kinds.dtype != np.int8 or any(a.dtype != np.int64 for a in (leaves, starts, children)):
        return "expected kinds of 8 bits and numbers of 64 bits, found another type"
    nodes = len(kinds)
    if not nodes or len(leaves) != nodes or len(starts) != nodes + 1:
        return f"expected a kind, a leaf and a start for each node, found {nodes:,} kinds"
    counts = np.diff(starts)
    if starts[0] != 0 or starts[-1] != len(children) or (counts < 0).any():
        return "expected the starts of children to rise from 0 to their number, found others"
    return _problem_of_nodes(circuit, counts)


def _problem_of_nodes(circuit: Circuit, counts: NDArray[np.int64]) -> str | None:
    is_leaf = circuit.kinds == Kind.LEAF
    if not np.isin(circuit.kinds, list(Kind)).all():
        return "expected leaves, products and sums, found another kind of node"
    parents = np.repeat(np.arange(len(circuit)), counts)
    if ((circuit.children < 0) | (circuit.children >= parents)).any():
        return "expected every node after its children, found one before"
    if len(np.unique(parents * len(circuit) + circuit.children)) != len(circuit.children):
        return "expected children that differ, found a node with the same child twice"
    if counts[is_leaf].any():
        return "expected leaves without children, found one with children"
    values = circuit.leaves[is_leaf]
    if ((values < 0) | (values >= circuit.offsets[-1])).any():
        return f"expected leaves to be one of {circuit.offsets[-1]:,} values, found another number"
    if (circuit.leaves[~is_leaf] != -1).any():
        return "expected −1 as the leaf of a product or a sum, found another number"
    return None


def scopes(circuit: Circuit) -> list[int]:
    """Return the variables below each node: bit i is set if the node depends on variable i."""
    if len(circuit) * len(circuit.sizes) > MOST_BITS:
        raise CircuitError(
            f"expected a circuit with at most {MOST_BITS:,} nodes times variables, found "
            f"{len(circuit):,} nodes and {len(circuit.sizes):,} variables; make it smaller"
        )
    found: list[int] = []
    for leaf, children in zip(variables_of_leaves(circuit), children_of(circuit), strict=True):
        found.append(
            1 << leaf if leaf >= 0 else reduce(or_, (found[child] for child in children), 0)
        )
    return found


def variables_of_leaves(circuit: Circuit) -> list[int]:
    """Return the variable of each leaf, and −1 for nodes that are no leaves."""
    ends = np.cumsum(circuit.sizes, dtype=np.int64)
    variables = np.searchsorted(ends, circuit.leaves, side="right")
    return np.where(circuit.kinds == Kind.LEAF, variables, -1).tolist()  # type: ignore[no-any-return]


def children_of(circuit: Circuit) -> list[list[int]]:
    """Return the children of each node."""
    starts, children = circuit.starts.tolist(), circuit.children.tolist()
    return [children[first:last] for first, last in pairwise(starts)]


def check_decomposable(circuit: Circuit) -> None:
    """Raise CircuitError if two children of a product depend on the same variable."""
    below = scopes(circuit)
    is_product = circuit.kinds == Kind.PRODUCT
    groups = children_of(circuit)
    for node in np.flatnonzero(is_product).tolist():
        seen = 0
        for child in groups[node]:
            if seen & below[child]:
                variable = (seen & below[child]).bit_length()
                raise CircuitError(
                    "expected a decomposable circuit, found a product (∧) with two children that "
                    f"depend on variable {variable}; compile the formula to d-DNNF or SDD"
                )
            seen |= below[child]
