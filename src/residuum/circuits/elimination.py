"""Compilation by elimination: the variables of a conjunction are summed out one by one.

Each part of the conjunction is a table over the variables it mentions. To sum out a variable, the
tables with it become one table over their other variables, whose entries are nodes of the circuit.
The variable with the smallest table comes first. For a rule over neighbours in a sequence this is
the forward algorithm, and the circuit grows linearly with the sequence.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residuum.circuits.circuit import Builder, Circuit
from residuum.circuits.propositions import Propositions, Shape, members

Scope = tuple[int, ...]


class Order(NamedTuple):
    """The order in which variables are summed out, each with the other variables of its table.

    `states` counts the entries of all tables.
    """

    steps: tuple[tuple[int, Scope], ...]
    states: int


def elimination_order(propositions: Propositions, root: int, most_states: int) -> Order | None:
    """Return an order of the variables; None if their tables have more entries than allowed."""
    around: dict[int, set[int]] = {}
    for variables in map(propositions.variables.__getitem__, _parts(propositions, root)):
        mentioned = set(members(variables))
        if math.prod(propositions.sizes[v] for v in mentioned) > most_states:
            return None
        for variable in mentioned:
            around.setdefault(variable, set()).update(mentioned)
    for variable, others in around.items():
        others.discard(variable)

    def states(variable: int) -> int:
        return math.prod(propositions.sizes[v] for v in (variable, *around[variable]))

    waiting = [(states(variable), variable) for variable in around]
    heapq.heapify(waiting)
    steps: list[tuple[int, Scope]] = []
    total = 0
    while waiting:
        size, variable = heapq.heappop(waiting)
        if variable not in around or size != states(variable):
            continue  # an entry of the past: the variable is gone, or has other neighbours now
        total += size
        if total > most_states:
            return None
        others = around.pop(variable)
        steps.append((variable, tuple(sorted(others))))
        for other in others:
            around[other] |= others
            around[other] -= {other, variable}
            heapq.heappush(waiting, (states(other), other))
    return Order(tuple(steps), total)


def compile_by_elimination(
    propositions: Propositions, root: int, build: Builder, order: Order
) -> Circuit:
    """Return a circuit of a conjunction, with its variables summed out in an order."""
    places = {variable: place for place, (variable, _) in enumerate(order.steps)}
    allowed: list[list[tuple[Scope, NDArray[np.bool_]]]] = [[] for _ in order.steps]
    for scope, table in _tables(propositions, root):
        allowed[min(places[variable] for variable in scope)].append((scope, table))
    messages: list[list[tuple[Scope, dict[Scope, int]]]] = [[] for _ in order.steps]
    left = [build.TRUE]
    for place, (variable, others) in enumerate(order.steps):
        may_be = _joined(allowed[place], (*others, variable), propositions.sizes)
        sent = _summed_out(variable, others, may_be, messages[place], build)
        if others:
            messages[min(places[other] for other in others)].append((others, sent))
        else:
            left.append(sent[()])
    return build.finish(build.product(left))


def _parts(propositions: Propositions, root: int) -> tuple[int, ...]:
    """Return the parts of a conjunction, or the formula itself if it is none."""
    return propositions.operands[root] if propositions.shapes[root] is Shape.ALL else (root,)


def _tables(propositions: Propositions, root: int) -> list[tuple[Scope, NDArray[np.bool_]]]:
    """Return for each set of variables which states obey the parts over exactly these."""
    by_scope: dict[int, list[int]] = {}
    for part in _parts(propositions, root):
        by_scope.setdefault(propositions.variables[part], []).append(part)
    found = []
    for variables, parts in by_scope.items():
        scope = tuple(members(variables))
        table = np.ones([propositions.sizes[variable] for variable in scope], dtype=bool)
        for part in parts:
            broken = _only_broken_by(propositions, part)
            if broken is None:
                table &= truth_table(propositions, part, scope)
            else:
                table[broken] = False
        found.append((scope, table))
    return found


def _only_broken_by(propositions: Propositions, part: int) -> Scope | None:
    """Return the one state that breaks a formula: most rules over neighbours are of this kind.

    Returns None for formulas that several states break, and for those that are no clauses.
    """
    if propositions.shapes[part] is not Shape.ANY:
        return None
    state: list[tuple[int, int]] = []
    for literal in propositions.operands[part]:
        if propositions.shapes[literal] is not Shape.LITERAL:
            return None
        variable, values = propositions.operands[literal]
        left = propositions.every[variable] & ~values
        if left & (left - 1):
            return None
        state.append((variable, left.bit_length() - 1))
    return tuple(value for _, value in sorted(state))


def truth_table(propositions: Propositions, root: int, scope: Scope) -> NDArray[np.bool_]:
    """Return which joint states of the variables of a formula obey it, one axis per variable."""
    axes = {variable: axis for axis, variable in enumerate(scope)}
    known: dict[int, Any] = {propositions.FALSE: np.False_, propositions.TRUE: np.True_}
    for formula in propositions.below(root):
        operands = propositions.operands[formula]
        match propositions.shapes[formula]:
            case Shape.LITERAL:
                variable, values = operands
                shape = [1] * len(scope)
                shape[axes[variable]] = -1
                each = [bool(values >> value & 1) for value in range(propositions.sizes[variable])]
                known[formula] = np.array(each).reshape(shape)
            case Shape.ALL:
                known[formula] = _reduced(np.logical_and, [known[one] for one in operands])
            case Shape.ANY:
                known[formula] = _reduced(np.logical_or, [known[one] for one in operands])
            case Shape.COUNT:
                counts = sum(known[one].astype(np.int64) for one in operands[1:])
                may_be = [bool(operands[0] >> count & 1) for count in range(len(operands))]
                known[formula] = np.array(may_be)[counts]
    shape = [propositions.sizes[variable] for variable in scope]
    table: NDArray[np.bool_] = np.broadcast_to(known[root], shape)
    return table


def _reduced(connect: Any, tables: Sequence[Any]) -> Any:
    found = tables[0]
    for table in tables[1:]:
        found = connect(found, table)
    return found


def _joined(
    tables: Iterable[tuple[Scope, NDArray[np.bool_]]], scope: Scope, sizes: Sequence[int]
) -> NDArray[np.bool_]:
    """Return which joint states of a scope all tables allow."""
    found = np.ones([sizes[variable] for variable in scope], dtype=bool)
    for own, table in tables:
        order = sorted(range(len(own)), key=lambda axis: scope.index(own[axis]))
        shape = [1] * len(scope)
        for axis in order:
            shape[scope.index(own[axis])] = table.shape[axis]
        found &= table.transpose(order).reshape(shape)
    return found


def _summed_out(
    variable: int,
    others: Scope,
    may_be: NDArray[np.bool_],
    messages: Sequence[tuple[Scope, dict[Scope, int]]],
    build: Builder,
) -> dict[Scope, int]:
    """Return a node for each joint state of the other variables: the sum over one variable."""
    places = {other: place for place, other in enumerate((*others, variable))}
    read = [([places[one] for one in scope], sent) for scope, sent in messages]
    found: dict[Scope, int] = {}
    for state in product(*map(range, may_be.shape[:-1])):
        cases: dict[Scope, list[int]] = {}
        for value in np.flatnonzero(may_be[state]).tolist():
            joint = (*state, value)
            factors = tuple(sent[tuple(joint[place] for place in own)] for own, sent in read)
            if build.FALSE not in factors:
                cases.setdefault(factors, []).append(build.leaf(variable, value))
        found[state] = build.sum(
            build.product([build.sum(leaves), *factors]) for factors, leaves in cases.items()
        )
    return found
