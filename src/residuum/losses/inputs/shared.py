"""The inputs of several rules: tensors, lengths and labels. Each rule takes what it reads."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol

from torch import Tensor

from residuum.grounding import Plan
from residuum.losses.inputs.evidence import Observed, batches_of_labels


class Reader(Protocol):
    """What a rule reads."""

    @property
    def plan(self) -> Plan:
        """The plan of the rule, which has a slot for each tensor."""
        ...


class Inputs(NamedTuple):
    """The inputs of one call: tensors by name, lengths of sequences, and labels by name."""

    tensors: Any
    lengths: Any = None
    observed: Observed | None = None

    def of(self, rule: Reader) -> Inputs:
        """Return the inputs that a rule reads."""
        names = rule.plan.read
        observed = self.observed
        if observed is not None:
            observed = {name: observed[name] for name in names if name in observed} or None
        return Inputs(
            {name: self.tensors[name] for name in names if name in self.tensors},
            self.lengths if rule.plan.sequence_domains else None,
            observed,
        )

    def have_one_batch(self, plan: Plan) -> bool:
        """Return whether all tensors and labels have the same batch.

        If not, rules that read different tensors may have batches of different shapes.
        """
        given = self.tensors
        shapes = [
            given[slot.name].shape[: given[slot.name].dim() - len(slot.domains)]
            for slot in plan.given
            if isinstance(given.get(slot.name), Tensor) and not given[slot.name].is_nested
        ]
        if self.observed is not None:
            shapes += batches_of_labels(plan.outputs, self.observed)
        return all(shape == shapes[0] for shape in shapes[1:])


NO_INPUTS: Final = Inputs(None)
"""Stands for inputs that are not given, where only shapes are asked for."""
