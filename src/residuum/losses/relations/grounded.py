"""Rows → the tensors of a rule's slots, its labels, and masks for guards inside of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from residuum.grounding import Plan
from residuum.grounding.plans import Quantify, Slot
from residuum.grounding.relations import variables_in_order
from residuum.logic import Constant, Term, Variable
from residuum.losses.inputs.evidence import IGNORED
from residuum.losses.relations.world import Chosen, Columns, World

Outputs = Callable[[Slot, Sequence[Chosen]], Tensor]
"""Returns the outputs, or the labels, of a slot for members whose numbers broadcast.

Their shape is that of the numbers, followed by the slot's domains that are not open.
"""


class Grounded(NamedTuple):
    """The inputs of a rule on some rows: tensors and labels by slot, and masks by step.

    `columns` are the numbers of the members of each row, by variable, and `names` their names.
    """

    tensors: dict[str, Tensor]
    labels: dict[str, Tensor]
    masks: dict[int, Tensor]
    columns: Columns
    names: Mapping[str, Sequence[str] | None]

    def members(self, row: int) -> dict[Variable, Term]:
        """Return the members of one row, by name or number."""
        found: dict[Variable, Term] = {}
        for variable, column in self.columns.items():
            number, names = int(column[row]), self.names[variable]
            found[Variable(variable)] = Constant(number if names is None else names[number])
        return found


def grounded(
    plan: Plan, columns: Columns, world: World, outputs: Outputs, labels: Mapping[str, Outputs]
) -> Grounded:
    """Return the inputs of a rule on rows. `labels` returns those of observed predicates."""
    tensors: dict[str, Tensor] = {}
    known: dict[str, Tensor] = {}
    for slot in plan.given:
        name = slot.predicate.name
        if slot.predicate.is_hidden:
            continue
        chosen = members_of(slot, columns, world)
        if name in labels:
            known[slot.name] = labels[name](slot, chosen)
        if name not in labels or bool((known[slot.name] == IGNORED).any()):
            tensors[slot.name] = outputs(slot, chosen)
    if columns and not any(_reads_rows(slot, columns) for slot in plan.given):
        rows = len(next(iter(columns.values())))
        for found in (tensors, known):
            found |= {name: one.expand(rows, *one.shape) for name, one in found.items()}
    assert plan.relation is not None
    names = {axis.variable: world.names.get(axis.domain.name) for axis in plan.relation.variables}
    return Grounded(tensors, known, _masks(plan, columns, world), columns, names)


def members_of(slot: Slot, columns: Columns, world: World) -> list[Chosen]:
    """Return the members that a slot reads. Their numbers are rows × axes, or axes alone."""
    axes = [domain for domain in slot.domains if domain.is_open]
    reads_rows = _reads_rows(slot, columns)
    placed = {
        name: columns[name].reshape(-1, *(1,) * len(axes))
        for name in _variables(slot)
        if name in columns
    }
    inner = [name for name in _variables(slot) if name not in columns]
    for place, (name, domain) in enumerate(zip(inner, axes, strict=True)):
        shape = [1] * (reads_rows + len(axes))
        shape[reads_rows + place] = -1
        placed[name] = torch.arange(world.sizes[domain.name], device=world.device).reshape(shape)
    return [
        world.choose(term, domain, placed)
        for term, domain in zip(slot.members, slot.open_domains, strict=True)
    ]


def _variables(slot: Slot) -> list[str]:
    return list(dict.fromkeys(name for term in slot.members for name in variables_in_order(term)))


def _reads_rows(slot: Slot, columns: Columns) -> bool:
    return any(name in columns for name in _variables(slot))


def _masks(plan: Plan, columns: Columns, world: World) -> dict[int, Tensor]:
    """Return for each quantifier with a guard about members where it holds, rows × axes."""
    found = {}
    batch = [len(column) for column in columns.values()][:1]
    rows = {name: one.reshape(-1, *(1,) * plan.rank) for name, one in columns.items()}
    for number, step in enumerate(plan.steps):
        if not isinstance(step, Quantify) or step.members is None:
            continue
        placed = dict(rows)
        for axis in step.members.axes:
            if axis.dimension is not None:
                shape = [1] * plan.rank
                shape[axis.dimension] = -1
                size = world.sizes[axis.domain.name]
                placed[axis.variable] = torch.arange(size, device=world.device).reshape(shape)
        domains = {axis.variable: axis.domain.name for axis in step.members.axes}
        holds = world.holds(step.members.guard, domains, placed)
        shape = list(torch.broadcast_shapes(holds.shape, [1] * plan.rank))  # type: ignore[no-untyped-call]
        found[number] = holds.expand(*batch, *shape[len(shape) - plan.rank :])
    return found
