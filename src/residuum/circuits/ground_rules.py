"""Plan → formula over discrete variables: a rule in which every variable has its values.

Each softmax that the rule reads is one variable, whose values are its classes. Each sigmoid is a
variable with the values 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from residuum.circuits.propositions import Propositions
from residuum.grounding import Layout, Plan, lay_out
from residuum.grounding.layouts import Access
from residuum.grounding.plans import Connect, Known, Quantify, Read
from residuum.logic import And, Count, Forall, Iff, Implies, Not

Formulas = NDArray[np.int64]
"""The numbers of formulas, one for each grounding, with an axis for each variable of the rule."""


class Output(NamedTuple):
    """One random variable of a rule: an entry of a slot.

    The entries of a softmax count as one: `entry` is its number among the softmaxes of the slot.
    """

    slot: int
    entry: int
    size: int


class GroundRule(NamedTuple):
    """A rule as a formula over outputs: variable v of the formula is `outputs[v]`."""

    propositions: Propositions
    root: int
    outputs: tuple[Output, ...]


def ground_rule(plan: Plan, lengths: Mapping[str, int]) -> GroundRule:
    """Return a rule as a formula, for sequences of these lengths."""
    layout = lay_out(plan, lengths)
    shapes = [
        tuple(lengths[d.name] if d.is_sequence else len(d.labels or ()) for d in slot.domains)
        for slot in plan.slots
    ]
    entries = {
        number: _entries(layout.accesses[number], shapes[step.slot], plan.rank)
        for number, step in enumerate(plan.steps)
        if isinstance(step, Read)
    }
    outputs = _outputs_of(plan, shapes, entries)
    propositions = Propositions(output.size for output in outputs)
    grounding = _Grounding(plan, layout, propositions, outputs)
    return GroundRule(propositions, grounding.run(entries, shapes), outputs)


def _entries(access: Access, shape: Sequence[int], rank: int) -> Formulas:
    """Return the place in the flattened slot that each grounding reads, over the axes."""
    strides = [math.prod(shape[place + 1 :]) for place in range(len(shape))]
    found: Any = np.zeros([1] * rank, dtype=np.int64)
    for stride, entry in zip(strides, access.entries, strict=True):
        if entry is None:
            continue
        places = entry.start + np.arange(entry.length) if entry.index is None else entry.index
        along = [1] * rank
        if entry.axis is None:
            found = found + entry.start * stride
        else:
            along[entry.axis] = entry.length
            found = found + (np.asarray(places) * stride).reshape(along)
    if access.joint and 0 not in shape:
        assert access.index is not None
        each = np.unravel_index(access.index, [shape[place] for place in access.joint])
        for place, index in zip(access.joint, each, strict=True):
            found = found + index * strides[place]
    result: Formulas = found
    return result


def _outputs_of(
    plan: Plan, shapes: Sequence[tuple[int, ...]], entries: Mapping[int, Formulas]
) -> tuple[Output, ...]:
    """Return the outputs that a rule reads, in the order of slots and entries."""
    found: set[Output] = set()
    for number, places in entries.items():
        slot = _slot_of(plan, number)
        shape = shapes[slot]
        if 0 in shape:
            continue  # such a slot has no entries, so that no grounding reads one
        is_exclusive = plan.slots[slot].is_exclusive
        size, width = (shape[-1], shape[-1]) if is_exclusive else (2, 1)
        inside = places[(places >= 0) & (places < math.prod(shape))]
        found.update(Output(slot, one, size) for one in np.unique(inside // width).tolist())
    return tuple(sorted(found))


def _slot_of(plan: Plan, number: int) -> int:
    step = plan.steps[number]
    assert isinstance(step, Read)
    return step.slot


@final
class _Grounding:
    """Evaluates the steps of a plan on arrays of formulas."""

    def __init__(
        self, plan: Plan, layout: Layout, propositions: Propositions, outputs: Sequence[Output]
    ) -> None:
        self._plan: Final = plan
        self._layout: Final = layout
        self._of: Final = propositions
        self._numbers: Final = {(o.slot, o.entry): n for n, o in enumerate(outputs)}

    def run(self, entries: Mapping[int, Formulas], shapes: Sequence[tuple[int, ...]]) -> int:
        found: list[Formulas] = []
        for number, step in enumerate(self._plan.steps):
            match step:
                case Known(value):
                    truth = self._of.TRUE if value else self._of.FALSE
                    found.append(np.full([1] * self._plan.rank, truth))
                case Read(slot):
                    found.append(self._read(slot, shapes[slot], entries[number]))
                case Connect(operands=operands):
                    found.append(self._connect(step, [found[one] for one in operands]))
                case Quantify():
                    found.append(self._quantify(number, step, found[step.operand]))
        return int(found[-1].item())

    def _read(self, slot: int, shape: tuple[int, ...], entries: Formulas) -> Formulas:
        if 0 in shape:
            return np.full(entries.shape, self._of.FALSE)  # a mask leaves out all of these
        is_exclusive = self._plan.slots[slot].is_exclusive
        width = shape[-1] if is_exclusive else 1
        places, inverse = np.unique(entries, return_inverse=True)
        literals = []
        for place in places.tolist():
            output = self._numbers.get((slot, place // width))
            if output is None:  # a position beyond the sequence, which a mask leaves out
                literals.append(self._of.FALSE)
            else:
                values = 1 << place % width if is_exclusive else 0b10
                literals.append(self._of.literal(output, values))
        found: Formulas = np.array(literals, dtype=np.int64)[inverse].reshape(entries.shape)
        return found

    def _connect(self, step: Connect, parts: Sequence[Formulas]) -> Formulas:
        of, kind = self._of, step.kind
        grids = np.broadcast_arrays(*parts)
        known: dict[tuple[int, ...], int] = {}
        found = np.empty(grids[0].size, dtype=np.int64)
        rows = zip(*(grid.ravel().tolist() for grid in grids), strict=True)
        for place, row in enumerate(rows):
            if row not in known:
                if step.count is not None:
                    known[row] = self._counted(step.count, row)
                elif kind is Not:
                    known[row] = of.negation(row[0])
                elif kind is Implies:
                    known[row] = of.any_of((of.negation(row[0]), row[1]))
                elif kind is Iff:
                    known[row] = of.equivalence(*row)
                else:
                    known[row] = of.all_of(row) if kind is And else of.any_of(row)
            found[place] = known[row]
        return found.reshape(grids[0].shape)

    def _counted(self, count: Count, formulas: Sequence[int]) -> int:
        allowed = sum(1 << found for found in range(len(formulas) + 1) if count.holds(found))
        return self._of.count_of(allowed, formulas)

    def _quantify(self, number: int, step: Quantify, body: Formulas) -> Formulas:
        selection = self._layout.selections[number]
        axes = [axis.dimension for axis in step.axes if axis.dimension is not None]
        lengths = [
            length
            for axis, length in zip(step.axes, selection.lengths, strict=True)
            if axis.dimension is not None
        ]
        mask = np.ones([1] * self._plan.rank, dtype=bool)
        if selection.mask is not None:
            mask = selection.mask
        shape = list(np.broadcast_shapes(body.shape, mask.shape))
        for axis, length in zip(axes, lengths, strict=True):
            shape[axis] = length
        around = [axis for axis in range(self._plan.rank) if axis not in axes]
        rows, counted = (
            np.broadcast_to(grid, shape)
            .transpose([*around, *axes])
            .reshape(math.prod(shape[axis] for axis in around), math.prod(lengths))
            for grid in (body, mask)
        )
        join: Callable[[list[int]], int] = self._of.any_of
        if step.count is not None:
            join = partial(self._counted, step.count)
        elif step.kind is Forall:
            join = self._of.all_of
        found = [join(row[kept].tolist()) for row, kept in zip(rows, counted, strict=True)]
        outer = [1 if axis in axes else shape[axis] for axis in range(self._plan.rank)]
        return np.array(found, dtype=np.int64).reshape(outer)
