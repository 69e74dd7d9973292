"""The layout of a rule as tensors on a device: what atoms read, and which groundings count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from residuum.grounding import Layout, Plan
from residuum.grounding.layouts import Entry
from residuum.grounding.plans import Quantify
from residuum.logic import Forall
from residuum.losses.inputs.reading import Window, length_in, narrowed
from residuum.losses.routes.lifting import Lifted, lift
from residuum.relaxations import Relaxation


class Bound(NamedTuple):
    """A layout with its index tensors and masks on one device, and its lifted rules, if any."""

    layout: Layout
    indices: Mapping[int, Tensor]
    masks: Mapping[int, Tensor]
    lifted: Lifted | None = None


def bind(plan: Plan, layout: Layout, relaxation: Relaxation, *, detaches: bool) -> Bound:
    """Return a layout with its tensors on the CPU, and its rules lifted where that is possible."""
    indices = {
        number: torch.as_tensor(access.index)
        for number, access in layout.accesses.items()
        if access.index is not None
    }
    masks = {
        number: torch.as_tensor(selection.mask)
        for number, selection in layout.selections.items()
        if selection.mask is not None
    }
    # A rule written as a clause has no antecedent to detach.
    lifted = lift(plan, layout, as_clauses=relaxation.kind == "S" and not detaches)
    return Bound(_with_lists_on(layout, torch.device("cpu")), indices, masks, lifted)


def bind_reads(layout: Layout, device: torch.device) -> Bound:
    """Return a layout that only reads, with its tensors on a device."""
    indices = {
        number: torch.as_tensor(access.index, device=device)
        for number, access in layout.accesses.items()
        if access.index is not None
    }
    return Bound(_with_lists_on(layout, device), indices, {})


def move(bound: Bound, device: torch.device) -> Bound:
    """Return the bound layout with its tensors on a device."""
    lifted = bound.lifted
    if lifted is not None:
        groups = (replace(group, indices=_on(group.indices, device)) for group in lifted.groups)
        lifted = replace(lifted, groups=tuple(groups))
    layout = _with_lists_on(bound.layout, device)
    return Bound(layout, _on(bound.indices, device), _on(bound.masks, device), lifted)


def _with_lists_on(layout: Layout, device: torch.device) -> Layout:
    """Return a layout whose index lists are tensors on a device, so that no call has to move them.

    Arrays would also mislead torch.compile: in inference mode it takes the array of one trace for
    that of another.
    """

    def moved(entry: Entry | None) -> Entry | None:
        if entry is None or entry.index is None:
            return entry
        return replace(entry, index=torch.as_tensor(entry.index, device=device))

    accesses = {
        number: replace(access, entries=tuple(moved(entry) for entry in access.entries))
        if any(entry is not None and entry.index is not None for entry in access.entries)
        else access
        for number, access in layout.accesses.items()
    }
    selections = {
        number: replace(selection, positions=tuple(_moved(p, device) for p in selection.positions))
        for number, selection in layout.selections.items()
    }
    return replace(layout, accesses=accesses, selections=selections)


def _moved(positions: Any, device: torch.device) -> Tensor:
    """Return positions as a tensor. Those beyond 64 bits are cut: no sequence is that long."""
    if isinstance(positions, np.ndarray) and positions.dtype == object:
        positions = positions.clip(-1, 2**62).astype(np.int64)
    return torch.as_tensor(positions, device=device)


def _on(tensors: Mapping[int, Tensor], device: torch.device) -> dict[int, Tensor]:
    return {number: tensor.to(device) for number, tensor in tensors.items()}


class Groundings(NamedTuple):
    """The groundings of a plan: its outermost `forall` quantifiers, and the step below them."""

    plan: Plan
    quantifiers: tuple[int, ...]
    body: int

    def shape(self, layout: Layout, window: Window | None = None) -> list[int]:
        """Return the length of each outermost axis inside the window, and 1 for all other axes."""
        shape = [1] * self.plan.rank
        for number in self.quantifiers:
            step = self.plan.steps[number]
            assert isinstance(step, Quantify)
            for axis, length in zip(step.axes, layout.selections[number].lengths, strict=True):
                assert axis.dimension is not None
                shape[axis.dimension] = length_in(window, axis.dimension, length)
        return shape

    def counted(
        self,
        bound: Bound,
        batch: tuple[int, ...],
        masks: Mapping[int, Tensor],
        device: torch.device,
        window: Window | None = None,
    ) -> Tensor:
        """Return which groundings of each example count; `masks` exclude padding."""
        shape = (*batch, *self.shape(bound.layout, window))
        counted = torch.ones(shape, dtype=torch.bool, device=device)
        for number in self.quantifiers:
            mask = masks.get(number, bound.masks.get(number))
            if mask is not None:
                counted = counted & narrowed(mask, window, self.plan.rank)
        return counted


def groundings_of(plan: Plan) -> Groundings:
    """Return the groundings of the outermost `forall` quantifiers of a plan."""
    number = len(plan.steps) - 1
    found = []
    step = plan.steps[number]
    while isinstance(step, Quantify) and step.kind is Forall:
        found.append(number)
        number = step.operand
        step = plan.steps[number]
    return Groundings(plan, tuple(found), number)
