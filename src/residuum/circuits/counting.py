"""Exact counts: how many joint states obey a circuit, or what these weigh together.

The circuit is decomposable, which is checked, and deterministic, which is not: `determinism.py`
says what can be known of that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeVar

from residuum.circuits.checking import (
    check_decomposable,
    check_structure,
    children_of,
    variables_of_leaves,
)
from residuum.circuits.circuit import Circuit, Kind
from residuum.circuits.smoothing import smoothed
from residuum.errors import CircuitError, shown

Number = TypeVar("Number", int, float, Fraction)


def count(circuit: Circuit) -> int:
    """Return the number of joint states of all variables that obey a circuit.

    >>> from residuum.circuits.circuit import Builder
    >>> build = Builder([2, 3], 100)
    >>> count(build.finish(build.leaf(0, 1)))  # the second variable is free
    3
    """
    return weighted_count(circuit, [[1] * size for size in circuit.sizes])


def weighted_count(circuit: Circuit, weights: Sequence[Sequence[Number]]) -> Number:
    """Return the sum, over all states that obey a circuit, of the product of their weights.

    `weights[i][v]` is the weight of value v of variable i. With integers or fractions the result
    is exact. A free variable contributes the sum of its weights.
    """
    check_structure(circuit)
    check_decomposable(circuit)
    _check_weights(circuit, weights)
    flat = [weight for of_variable in weights for weight in of_variable]
    smooth = smoothed(circuit)
    mentioned = set(variables_of_leaves(smooth))
    free = [sum(weights[i]) for i in range(len(weights)) if i not in mentioned]
    return node_counts(smooth, flat)[-1] * math.prod(free)


def node_counts(circuit: Circuit, weights: Sequence[Number]) -> list[Number]:
    """Return the weighted count of each node, over the variables below it.

    `weights` has one weight for each value of each variable, variable by variable. The circuit is
    smooth, or the weights of each variable add up to 1.
    """
    found: list[Any] = []
    nodes = zip(circuit.kinds.tolist(), circuit.leaves.tolist(), children_of(circuit), strict=True)
    for kind, leaf, children in nodes:
        if kind == Kind.LEAF:
            found.append(weights[leaf])
        else:
            join = math.prod if kind == Kind.PRODUCT else sum
            found.append(join(found[child] for child in children))
    return found


def _check_weights(circuit: Circuit, weights: Sequence[Sequence[Number]]) -> None:
    expected, found = list(circuit.sizes), [len(of_variable) for of_variable in weights]
    if expected != found:
        raise CircuitError(
            f"expected weights for variables with {shown(expected)} values, found "
            f"{shown(found)}; give one weight for each value of each variable"
        )
