"""Lifting: many ground rules of one shape are evaluated together as one rule with an axis.

Two hundred clauses over the same outputs differ only in which outputs they read, and in which of
them are negated. The *pool* is one tensor with all entries that ground rules read, followed by
their negations. A literal is an index into the pool, and rules with the same connectives are
evaluated together, literal by literal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from residuum.grounding import Layout
from residuum.grounding.layouts import Access
from residuum.grounding.plans import Connect, Plan, Read, Slot, Step
from residuum.logic import TRUE, And, Formula, Iff, Not, Or
from residuum.losses.degrees.logits import MIRRORED, Side
from residuum.losses.routes import thresholds
from residuum.losses.routes.recognising import violating_literals
from residuum.syntax import Predicate

_POOL: Final = Slot("pool", Predicate("pool", (), is_independent=True), ())


class Literal(NamedTuple):
    """An entry of a slot, or its negation."""

    slot: int
    entry: int
    is_negated: bool

    @property
    def negated(self) -> Literal:
        """The opposite literal."""
        return Literal(self.slot, self.entry, not self.is_negated)


@dataclass(frozen=True)
class Shape:
    """The shape of a rule: its connectives without its literals. A literal has no kind."""

    kind: type[Formula] | None = None
    parts: tuple[Shape, ...] = ()

    @property
    def text(self) -> str:
        """The shape as text, a key for sorting."""
        name = "" if self.kind is None else self.kind.__name__
        return f"{name}({''.join(part.text for part in self.parts)})"


_LITERAL: Final = Shape()


@dataclass(frozen=True)
class Group:
    """Rules of one shape. `members` are their numbers; the only axis of the plan is these rules."""

    members: tuple[int, ...]
    plan: Plan
    layout: Layout
    indices: Mapping[int, Tensor]


@dataclass(frozen=True)
class Lifted:
    """The groups of rules, the rules `alone` without a group, and the slots of the pool."""

    groups: tuple[Group, ...]
    alone: tuple[int, ...]
    pool: tuple[int, ...]


def lift(plan: Plan, layout: Layout, *, as_clauses: bool) -> Lifted | None:
    """Return the operands of the outermost conjunction in groups of one shape; None without groups.

    `as_clauses` is for S-logics, in which all ways to write a clause have the same meaning.
    """
    root = plan.steps[-1]
    fewest = thresholds.FEWEST_ALIKE
    if not isinstance(root, Connect) or root.kind is not And or len(root.operands) < fewest:
        return None
    roots = root.operands
    sizes = [_size(slot) for slot in plan.slots]
    literals = _literals(plan, layout)
    shapes: dict[Shape, list[tuple[int, list[Literal]]]] = {}
    alone = []
    for position, number in enumerate(roots):
        found = _shape(plan, literals, number, as_clauses) if None not in sizes else None
        if found is None:
            alone.append(position)
        else:
            shapes.setdefault(found[0], []).append((position, found[1]))
    large = {shape: rules for shape, rules in shapes.items() if len(rules) >= fewest}
    alone += [p for shape, rules in shapes.items() if shape not in large for p, _ in rules]
    used = {literal.slot for rules in large.values() for _, row in rules for literal in row}
    pool = tuple(sorted(used))
    starts = {}
    total = 0
    for slot in pool:
        starts[slot] = total
        total += sizes[slot] or 0
    groups = tuple(_group(shape, rules, starts, total) for shape, rules in large.items())
    return Lifted(groups, tuple(sorted(alone)), pool) if groups else None


def _size(slot: Slot) -> int | None:
    """Return the number of entries of a slot; None if it depends on the data."""
    size = 1
    for domain in slot.domains:
        if domain.labels is None:
            return None
        size *= len(domain.labels)
    return size


def _shape(
    plan: Plan, literals: Mapping[int, Literal], root: int, as_clauses: bool
) -> tuple[Shape, list[Literal]] | None:
    """Return the shape of a ground rule and its literals in order; None for other rules."""
    clause = (
        violating_literals(plan, root, literals.get, lambda one: one.negated)
        if as_clauses
        else None
    )
    if clause is not None:
        # ¬(l₁ ∧ … ∧ lₙ)
        parts = (_LITERAL,) * len(clause)
        body = Shape(And, parts) if len(parts) > 1 else parts[0]
        return Shape(Not, (body,)), clause
    if root in literals:
        return _LITERAL, [literals[root]]
    step = plan.steps[root]
    if not isinstance(step, Connect) or step.count is not None:
        return None
    below = [_shape(plan, literals, part, False) for part in step.operands]
    known = [part for part in below if part is not None]
    if len(known) < len(below):
        return None
    if step.kind in (And, Or, Iff) and any(part[0] is not _LITERAL for part in known):
        known.sort(key=lambda part: part[0].text)
    read = [one for part in known for one in part[1]]
    return Shape(step.kind, tuple([part[0] for part in known])), read


def _literals(plan: Plan, layout: Layout) -> dict[int, Literal]:
    """Return the literals of a plan by step number: atoms without variables and their negations."""
    found: dict[int, Literal] = {}
    for number, step in enumerate(plan.steps):
        if isinstance(step, Read):
            entry = _entry(plan.slots[step.slot], layout.accesses[number])
            if entry is not None:
                found[number] = Literal(step.slot, entry, is_negated=False)
        elif isinstance(step, Connect) and step.kind is Not and step.operands[0] in found:
            found[number] = found[step.operands[0]].negated
    return found


def _entry(slot: Slot, access: Access) -> int | None:
    """Return the entry of a slot that an atom reads; None if it reads several."""
    entry = 0
    for part, domain in zip(access.entries, slot.domains, strict=True):
        if part is None or part.axis is not None or domain.labels is None:
            return None
        entry = entry * len(domain.labels) + part.start
    return entry


def _group(
    shape: Shape,
    rules: Sequence[tuple[int, list[Literal]]],
    starts: Mapping[int, int],
    total: int,
) -> Group:
    columns = np.array(
        [
            [starts[one.slot] + one.entry + total * one.is_negated for one in literals]
            for _, literals in rules
        ]
    )
    steps: list[Step] = []
    _append_steps(shape, steps)
    reads = [number for number, step in enumerate(steps) if isinstance(step, Read)]
    accesses = {
        number: Access((None,), (0,), columns[:, place]) for place, number in enumerate(reads)
    }
    indices: dict[int, Tensor] = {
        number: torch.as_tensor(access.index) for number, access in accesses.items()
    }
    plan = Plan(TRUE, (_POOL,), tuple(steps), 1, ())
    members = tuple(position for position, _ in rules)
    return Group(members, plan, Layout(accesses, {}, 0), indices)


def _append_steps(shape: Shape, steps: list[Step]) -> int:
    """Append the steps of a shape to `steps` and return the number of the last one."""
    if shape.kind is None:
        steps.append(Read(0, (), (), ()))
    else:
        operands = tuple(_append_steps(part, steps) for part in shape.parts)
        steps.append(Connect(shape.kind, operands))
    return len(steps) - 1


def pool_side(pool: Sequence[int], depths: Sequence[int], sides: Any, side: Side) -> Tensor:
    """Return one side of all entries of the pool and of their negations: (*batch, 2 × entries)."""
    flat = [_flat(sides(slot, side), depths[slot]) for slot in pool]
    flat += [_flat(sides(slot, MIRRORED[side]), depths[slot]) for slot in pool]
    batch = torch.broadcast_shapes(*(one.shape[:-1] for one in flat))  # type: ignore[no-untyped-call]
    return torch.cat([one.expand(*batch, one.shape[-1]) for one in flat], -1)


def _flat(given: Tensor, depth: int) -> Tensor:
    return given.unsqueeze(-1) if depth == 0 else given.flatten(given.dim() - depth)
