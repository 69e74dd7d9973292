"""Calls of a rule: checked tensors, and the case that their shapes make.

A case is computed once per signature of shapes and then comes from a cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, final

import torch
from torch import Tensor

from residuum.losses import inputs
from residuum.losses.degrees.logits import Source
from residuum.losses.inputs.arguments import Inputs
from residuum.losses.inputs.checking import batch_of, check_lengths, check_values, take_tensors
from residuum.losses.inputs.evidence import check_evidence, labels_of, with_evidence
from residuum.losses.inputs.hidden import with_hidden
from residuum.losses.inputs.layouts import Bound
from residuum.losses.inputs.padding import masks_for, sequence_sizes, without_padding
from residuum.losses.routes.definition import Definition, make_room

if TYPE_CHECKING:
    from residuum.losses.inputs.reading import Window
    from residuum.losses.relations.grounded import Grounded


@final
class Case:
    """Everything that the shapes of a call's tensors decide. Calls of one signature share a case.

    `sizes` are the padded lengths of sequences. `groundings` is the largest number of groundings,
    over the whole batch, that one step of the plan evaluates. `is_broadcast` says that some tensors
    lack a batch dimension, `is_observed` that some outputs are certain: observed, or compared
    crisply.
    """

    def __init__(
        self,
        batch: tuple[int, ...],
        device: torch.device,
        sizes: Mapping[str, int],
        bound: Bound,
        groundings: int,
        is_broadcast: bool,
        is_observed: bool = False,
    ) -> None:
        self.batch = batch
        self.device = device
        self.sizes = sizes
        self.bound = bound
        self.groundings = groundings
        self.is_broadcast = is_broadcast
        self.is_observed = is_observed
        self.examples = math.prod(batch)


class Call(NamedTuple):
    """One call: checked tensors, their batch shape, and the tables for their sizes.

    `masks` depend on the example: they exclude the padding of sequences given by `lengths`.
    `sources` returns the tensors as degrees where several rules share them. A `window` limits the
    call to some groundings. The chooser selects a route by `case`. `labels` are those of observed
    outputs, by the names of slots. `rows` are the members that the examples of a rule about open
    domains are about.
    """

    inputs: list[Tensor]
    batch: tuple[int, ...]
    device: torch.device
    bound: Bound
    masks: Mapping[int, Tensor]
    lengths: Tensor | None = None
    sources: Callable[[], Sequence[Source]] | None = None
    window: Window | None = None
    case: Case | None = None
    labels: Mapping[str, Tensor] | None = None
    rows: Grounded | None = None


@final
class Receiver:
    """Checks the tensors of a rule and adds the tables for their sizes and device."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._plan = definition.plan
        compares = any(slot.compared is not None for slot in self._plan.slots)
        self._numbers = inputs.numbers.Numbers(self._plan) if compares else None
        self._cases: dict[Any, Case] = {}

    def receive(
        self,
        asked: Inputs,
        *,
        check: bool,
        is_exact: bool = False,
        is_complete: bool = False,
    ) -> Call:
        """Return a checked call. A GroundingError says which tensor or length does not fit.

        `is_exact` says that hidden outputs will be summed out, and that comparisons of quantities
        are crisp unless the rule takes them as probabilities. `is_complete` says that the tensors
        have the hidden outputs already.
        """
        definition = self._definition
        given, lengths, observed = asked
        labels: Mapping[str, Tensor] = {}
        if observed is not None:
            labels = labels_of(self._plan.outputs, observed)
        if definition.has_hidden and not is_complete:
            given = with_hidden(self._plan.given, given, labels, lengths, is_exact=is_exact)
        networks = given
        if labels:
            given = with_evidence(self._plan, definition.forms, given, labels)
        are_crisp = is_exact and definition.comparisons == "crisp"
        numbers = self._numbers
        is_certain = bool(labels) or (
            numbers is not None and numbers.are_certain(are_all_crisp=are_crisp)
        )
        signature = _signature(given, definition.names)
        if is_certain and signature is not None:
            signature = (*signature, "observed")
        case = None if signature is None else self._cases.get(signature)
        if case is None:
            case = self._case(take_tensors(self._plan, given), is_observed=is_certain)
            if signature is not None:
                make_room(self._cases)
                self._cases[signature] = case
        masks: Mapping[int, Tensor] = {}
        if lengths is not None:
            bound = case.bound
            lengths = check_lengths(lengths, case.batch, bound.layout, case.sizes, case.device)
        if numbers is not None:
            given = numbers.compared(given, case.sizes, lengths, are_crisp=are_crisp)
        tensors = [given[slot.name] for slot in self._plan.slots]
        if lengths is not None:
            tensors = without_padding(self._plan, tensors, definition.forms, lengths)
            masks = masks_for(self._plan, case.bound, lengths)
        if labels:
            check_evidence(self._plan, labels, networks, tensors, lengths)
        if check:
            for slot, tensor, form in zip(self._plan.slots, tensors, definition.forms, strict=True):
                check_values(slot, tensor, form, lengths)
        return Call(
            tensors, case.batch, case.device, case.bound, masks, lengths, None, None, case, labels
        )

    def _case(self, inputs: Sequence[Tensor], *, is_observed: bool) -> Case:
        """Return the case of these shapes. Raises GroundingError if they do not fit together."""
        device = inputs[0].device if inputs else torch.device("cpu")
        sizes = sequence_sizes(self._plan, inputs) if self._plan.sequence_domains else {}
        batch = batch_of(self._plan, inputs)
        bound = self._definition.bind(sizes, device)
        batch_dims = [
            one.dim() - len(slot.domains)
            for one, slot in zip(inputs, self._plan.given, strict=True)
        ]
        return Case(
            batch,
            device,
            sizes,
            bound,
            bound.layout.groundings * math.prod(batch),
            any(one.shape[:dims] != batch for one, dims in zip(inputs, batch_dims, strict=True)),
            is_observed,
        )


def case_of(bound: Bound, examples: int) -> Case:
    """Return the case of a batch of `examples` on a CPU, for a rule without sequences."""
    groundings = bound.layout.groundings * examples
    return Case((examples,), torch.device("cpu"), {}, bound, groundings, False)


def _signature(given: Any, names: Sequence[str]) -> tuple[Any, ...] | None:
    """Return everything that decides whether tensors fit, as a key of the cache of cases.

    Returns None if the case must be computed anew: something is no plain tensor, or torch.compile
    traces the call, must see what depends on sizes, and may have symbols for them.
    """
    if type(given) is not dict or len(given) != len(names) or torch.compiler.is_compiling():
        return None
    found: list[Any] = []
    try:
        for name in names:
            one = given.get(name)
            if isinstance(one, Tensor):
                found += (one.dtype, one.layout, one.device, one.shape)
    except RuntimeError:  # a nested tensor has no shape
        return None
    return tuple(found)
