"""What a rule knows of the tensors it is given, kept by their shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, final

import torch
from torch import Tensor

from residuum.grounding import Layout, Plan, lay_out
from residuum.losses.blocks import CPU_BLOCK, GPU_BLOCK
from residuum.losses.clause_penalties import can_multiply
from residuum.losses.clauses import Clauses
from residuum.losses.finding_clauses import find_clauses, literals_of
from residuum.losses.inspection import groundings_of
from residuum.losses.receiving import (
    Bound,
    Call,
    Fit,
    batch_of,
    bind,
    check_lengths,
    check_values,
    masks_for,
    move,
    sequence_sizes,
    signature_of,
    take_tensors,
    without_padding,
)
from residuum.losses.replays import is_launch_bound
from residuum.losses.sources import Form
from residuum.losses.tensors import to_keep
from residuum.relaxations import Relaxation
from residuum.relaxations.lukasiewicz import Lukasiewicz
from residuum.relaxations.meanings import EXACT
from residuum.relaxations.minimum import Minimum
from residuum.relaxations.product import Product

MOST_LAYOUTS: Final = 256
"""Layouts kept for lengths of sequences; the oldest goes first."""


@final
class Receiver:
    """Makes calls of tensors: checked, with the tables of the rule for their sizes and device."""

    def __init__(
        self,
        plan: Plan,
        relaxation: Relaxation,
        forms: Mapping[str, Form],
        *,
        detaches: bool,
        block: int | None,
        replay: bool,
        is_bundle: bool,
    ) -> None:
        self._plan = plan
        self._relaxation = relaxation
        self._detaches = detaches
        self._own_block = block
        self._is_bundle = is_bundle
        self._fits: dict[Any, Fit] = {}
        self._bound: dict[Any, Bound] = {}
        self._clauses: dict[Any, Clauses | None] = {}
        # Worked out here, for a trace to find plain lists.
        self._names = [slot.name for slot in plan.slots]
        self._forms = [forms[slot.name] for slot in plan.slots]
        self._may_be_clauses = not detaches and relaxation != EXACT  # no antecedent is left of them
        self._may_multiply = (
            bool(plan.slots)
            and self._may_be_clauses
            and all(form == "logits" for form in self._forms)
        )
        # Other t-norms may look at values.
        self._may_replay = replay and isinstance(relaxation.tnorm, Product | Lukasiewicz | Minimum)

    @property
    def finds_clauses(self) -> bool:
        """Whether groundings may be evaluated by a matrix product, with those of other rules."""
        if not self._may_be_clauses:
            return False
        if not self._plan.sequence_domains:
            return self.find_clauses({}, torch.device("cpu")) is not None
        body = groundings_of(self._plan).body
        return literals_of(self._plan, body, self._relaxation) is not None

    def block(self, device: torch.device) -> int:
        """Return how many groundings are evaluated at a time."""
        return self._own_block or (GPU_BLOCK if device.type == "cuda" else CPU_BLOCK)

    def groundings(self, bound: Bound, batch: Sequence[int]) -> int:
        """Return over how many groundings of a batch one step ranges at most."""
        return groundings_of(self._plan).largest(bound.layout) * math.prod(batch)

    def receive(self, given: Mapping[str, Tensor], lengths: Any, *, check: bool) -> Call:
        """Return a call with everything checked; GroundingError says what does not fit."""
        signature = signature_of(given, self._names)
        fit = None if signature is None else self._fits.get(signature)
        if fit is None:
            fit = self._fit(take_tensors(self._plan, given))
            if signature is not None:
                _make_room(self._fits)
                self._fits[signature] = fit
        batch, device, sizes, bound, is_large, may_replay, is_broadcast = fit
        inputs = [given[name] for name in self._names]
        masks: Mapping[int, Tensor] = {}
        if lengths is not None:
            lengths = check_lengths(lengths, batch, bound.layout, sizes, device)
            inputs = without_padding(self._plan, inputs, self._forms, lengths)
            masks = masks_for(self._plan, bound, lengths)
        if check:
            for slot, tensor, form in zip(self._plan.slots, inputs, self._forms, strict=True):
                check_values(slot, tensor, form, lengths)
        clauses = None
        if self._may_multiply and can_multiply(inputs):
            clauses = self.find_clauses(sizes, device)
        return Call(
            inputs,
            batch,
            device,
            bound,
            masks,
            lengths,
            clauses,
            None,
            is_large,
            may_replay,
            is_broadcast,
        )

    def _fit(self, inputs: Sequence[Tensor]) -> Fit:
        """Return what the shapes of tensors say; GroundingError if they do not fit together."""
        device = inputs[0].device if inputs else torch.device("cpu")
        sizes = sequence_sizes(self._plan, inputs)
        batch = batch_of(self._plan, inputs)
        bound = self.bind(sizes, device)
        groundings = self.groundings(bound, batch)
        is_large = groundings > self.block(device)
        may_replay = self._may_replay and not is_large and is_launch_bound(groundings, device)
        own = [
            one.dim() - len(slot.domains)
            for one, slot in zip(inputs, self._plan.slots, strict=True)
        ]
        is_broadcast = any(one.shape[:dims] != batch for one, dims in zip(inputs, own, strict=True))
        return Fit(batch, device, sizes, bound, is_large, may_replay, is_broadcast)

    def bind(
        self, sizes: Mapping[str, int], device: torch.device, layout: Layout | None = None
    ) -> Bound:
        """Return the rule's tables for sequences of these lengths, kept for the next call.

        Its layout may be known.
        """
        key = tuple(sizes.items()), str(device)
        if torch.compiler.is_compiling() or key not in self._bound:
            self._bind(*key, layout)
        return self._bound[key]

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
    def _bind(self, sizes: tuple[tuple[str, int], ...], device: str, layout: Layout | None) -> None:
        """Keep the rule's tables; a trace has this done, and does not look inside."""
        with to_keep():
            if (sizes, "cpu") not in self._bound:
                _make_room(self._bound)
                layout = layout or lay_out(self._plan, dict(sizes))
                self._bound[sizes, "cpu"] = bind(
                    self._plan, layout, self._relaxation, detaches=self._detaches
                )
            if (sizes, device) not in self._bound:
                on_cpu = self._bound[sizes, "cpu"]
                self._bound[sizes, device] = move(on_cpu, torch.device(device))

    def find_clauses(self, sizes: Mapping[str, int], device: torch.device) -> Clauses | None:
        """Return the rule as clauses, found when needed: by one in a bundle, hardly ever."""
        key = tuple(sizes.items()), device
        if key not in self._clauses:
            bound = self.bind(sizes, torch.device("cpu"))
            _make_room(self._clauses)
            with to_keep():
                found = find_clauses(
                    self._plan,
                    bound.layout,
                    self._relaxation,
                    bound.masks,
                    is_bundle=self._is_bundle,
                )
                self._clauses[key] = None if found is None else found.to(device)
        return self._clauses[key]


def _make_room(kept: dict[Any, Any]) -> None:
    while len(kept) >= MOST_LAYOUTS:
        kept.pop(next(iter(kept)))
