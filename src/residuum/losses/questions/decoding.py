"""Predictions that obey a rule: the most probable ones, and random ones.

Labels are class numbers for a softmax, and 0 or 1 for a sigmoid.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.evidence import IGNORED
from residuum.losses.questions.distribution import Given, assembled, given_in
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.rule_circuits import RuleCircuit

ABSENT: Final = IGNORED
"""The label of padding, and of a prediction that does not exist."""

Labels = dict[str, Tensor]
Tables = list[Tensor]


def decode(definition: Definition, call: Call) -> Labels:
    """Return the most probable prediction of each example that obeys the rule."""

    def best(given: Given) -> Sequence[Tables]:
        return [_best(given.circuit, _tables(given))]

    return _asked(definition, call, best, may_search=True)[0]


def decode_several(definition: Definition, call: Call, count: int) -> list[Labels]:
    """Return the most probable predictions that obey the rule, the best ones first.

    Where fewer predictions obey the rule than are asked for, labels are `ABSENT`.
    """

    def best(given: Given) -> Sequence[Tables]:
        return _several(given.circuit, _tables(given), count)

    return _asked(definition, call, best, may_search=True)


def sample(
    definition: Definition, call: Call, count: int, generator: torch.Generator | None
) -> Labels:
    """Return random predictions that obey the rule, each with its probability given the rule."""
    drawn = _asked(definition, call, lambda given: _drawn(given, count, generator))
    names = [slot.name for slot in definition.plan.outputs]
    return {name: torch.stack([one[name] for one in drawn]) for name in names}


@torch.no_grad()
def _asked(
    definition: Definition,
    call: Call,
    answer: Callable[[Given], Sequence[Tables]],
    *,
    may_search: bool = False,
) -> list[Labels]:
    """Return several predictions, each as labels of the whole call."""
    _refuse_vmap(call)
    parts, found = [], []
    for given in given_in(definition, call, may_search=may_search):
        _refuse_nan(given)
        parts.append(given.part)
        found.append(answer(given))
    return [
        assembled(definition.plan, call, parts, each, ABSENT, are_labels=True)
        for each in zip(*found, strict=True)
    ]


def _refuse_vmap(call: Call) -> None:
    if any(torch._C._functorch.is_functorch_wrapped_tensor(one) for one in call.inputs):
        raise GroundingError(
            "decode and sample: expected tensors whose values can be looked at, got those of a "
            "transform such as vmap; pass the whole batch, whose examples are decoded one by one"
        )


def _refuse_nan(given: Given) -> None:
    for table in given.tables:
        is_nan = torch.isnan(table).flatten(1).any(-1)
        if bool(is_nan.any()):
            row = int(torch.nonzero(is_nan)[0])
            example = row if given.part.rows is None else int(given.part.rows[row])
            raise GroundingError(
                f"example {example}: expected outputs that are numbers, got NaN, for which no "
                "prediction is the best; look for what made the network diverge"
            )


def _tables(given: Given) -> Tables:
    """Return the log-probabilities of all values, with −inf for those that are excluded."""
    pairs = zip(given.tables, given.excluded, strict=True)
    return [table.masked_fill(excluded, -torch.inf) for table, excluded in pairs]


def _likeliest(table: Tensor) -> Tensor:
    """Return the likeliest value of each variable. A softmax over no classes has none."""
    if table.shape[-1] == 0:
        return table.new_full(table.shape[:-1], ABSENT, dtype=torch.int64)
    return table.argmax(-1)


def _best(circuit: RuleCircuit, tables: Tables) -> Tables:
    """Return the labels of the most probable prediction, one table for each slot."""
    labels = [_likeliest(table) for table in tables]
    if circuit.constant is not None:
        return labels
    return circuit.with_values(labels, circuit.chooser.most_probable(circuit.weights(tables)))


def _drawn(given: Given, count: int, generator: torch.Generator | None) -> list[Tables]:
    """Return the labels of random predictions."""
    found: list[Tables] = []
    tables = _tables(given)
    states = None
    if given.circuit.constant is None:
        weights = given.circuit.weights(tables)
        states = given.circuit.selector.sample(weights, count, generator)
    for number in range(count):
        noise = [torch.empty_like(one).exponential_(generator=generator) for one in tables]
        pairs = zip(tables, noise, strict=True)
        labels = [_likeliest(table - torch.log(one)) for table, one in pairs]
        if states is not None:
            labels = given.circuit.with_values(labels, states[number])
        found.append(labels)
    return found


# The best predictions, one after the other


class _Space(NamedTuple):
    """Some predictions of an example: those that agree with `state` on the first `fixed` outputs.

    At the output after these, the values in `without` are excluded.
    """

    row: int
    state: tuple[int, ...]
    fixed: int
    without: frozenset[int]


Best = tuple[float, tuple[int, ...], _Space]
"""The best prediction of a space: what it costs, −log of its probability, and its state."""


def _several(circuit: RuleCircuit, tables: Tables, count: int) -> list[Tables]:
    """Return the labels of the best predictions: Lawler's method.

    The best prediction divides all others: those that differ first at its first output, at its
    second output, and so on. Each such space has a best prediction, and the best of these comes
    next.
    """
    outputs = sum(table.shape[1] for table in tables)
    examples = tables[0].shape[0] if tables else 1
    waiting: list[list[Best]] = [[] for _ in range(examples)]
    wanted = [_Space(row, (0,) * outputs, 0, frozenset()) for row in range(examples)]
    found: list[list[tuple[int, ...] | None]] = []
    for _ in range(count):
        for best in _best_of(circuit, tables, wanted):
            heapq.heappush(waiting[best[-1].row], best)
        taken = [heapq.heappop(own) if own else None for own in waiting]
        found.append([None if one is None else one[1] for one in taken])
        wanted = [space for one in taken if one is not None for space in _divided(*one[1:])]
    return [_labels(tables, states) for states in found]


def _divided(state: tuple[int, ...], space: _Space) -> list[_Space]:
    """Return the spaces that have all predictions of a space but one."""
    return [
        _Space(
            space.row,
            state,
            place,
            frozenset({state[place]}) | (space.without if place == space.fixed else frozenset()),
        )
        for place in range(space.fixed, len(state))
    ]


def _best_of(circuit: RuleCircuit, tables: Tables, spaces: Sequence[_Space]) -> list[Best]:
    """Return the best prediction of each space that has one, all at once."""
    if not spaces:
        return []
    inside = _inside(tables, spaces)
    is_possible = [(table > -torch.inf).any(-1).all(-1) for table in inside]
    if circuit.constant is None:
        is_possible.append(circuit.chooser.is_possible(circuit.weights(inside) == -torch.inf))
    if is_possible:
        kept = torch.nonzero(torch.stack(is_possible).all(0)).flatten()
        inside, spaces = [table[kept] for table in inside], [spaces[one] for one in kept.tolist()]
    if not spaces:
        return []
    labels = _best(circuit, inside)
    costs = sum(
        (-table.gather(-1, label[..., None]).double().sum((1, 2))
         for table, label in zip(inside, labels, strict=True)),
        torch.zeros(len(spaces), dtype=torch.float64, device=inside[0].device if inside else None),
    )  # fmt: skip
    states = torch.cat([label.cpu() for label in labels] or [torch.zeros(1, 0)], 1).tolist()
    return list(zip(costs.tolist(), map(tuple, states), spaces, strict=True))


def _inside(tables: Tables, spaces: Sequence[_Space]) -> Tables:
    """Return the tables of the example of each space, with −inf for values outside of it."""
    found, start = [], 0
    for table in tables:
        device, (outputs, size) = table.device, table.shape[1:]
        rows = torch.tensor([one.row for one in spaces], device=device)
        states = torch.tensor([one.state[start : start + outputs] for one in spaces], device=device)
        fixed = torch.tensor([one.fixed - start for one in spaces], device=device)[:, None, None]
        without = torch.tensor([[value in one.without for value in range(size)] for one in spaces],
                               device=device)[:, None]  # fmt: skip
        place = torch.arange(outputs, device=device)[None, :, None]
        is_own = torch.arange(size, device=device) == states.reshape(len(spaces), outputs, 1)
        is_outside = ((place < fixed) & ~is_own) | ((place == fixed) & without)
        found.append(table[rows].masked_fill(is_outside, -torch.inf))
        start += outputs
    return found


def _labels(tables: Tables, states: Sequence[tuple[int, ...] | None]) -> Tables:
    """Return states of all outputs as labels, one table for each slot."""
    found, start = [], 0
    for table in tables:
        stop = start + table.shape[1]
        rows = [[ABSENT] * (stop - start) if one is None else one[start:stop] for one in states]
        labels = torch.tensor(rows, device=table.device, dtype=torch.int64)
        found.append(labels.reshape(len(rows), stop - start))
        start = stop
    return found
