"""The exact route: the probability that a rule holds, if all outputs are independent.

A circuit of the rule (`rule_circuits.py`) is evaluated on the log-probabilities of all outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

import torch
from torch import Tensor
from torch.autograd import forward_ad

from residuum.circuits.evaluation import Evaluator
from residuum.losses.degrees.tensors import impossible, is_transformed
from residuum.losses.inputs.calls import Call, Case
from residuum.losses.routes.blocks import flattened
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.gradients import KnownGradients, with_gradients
from residuum.losses.routes.route import Evaluate, Surroundings
from residuum.losses.routes.rule_circuits import Part, RuleCircuit


@final
class ExactRoute:
    """Evaluates the exact probability of a rule."""

    name: Final = "exact"
    hands_over_because: Final = "this route never hands over"

    def __init__(self, definition: Definition) -> None:
        self._definition = definition

    def prepare(self, _case: Case, _around: Surroundings) -> Evaluate | str:
        """Return the function that evaluates calls."""
        return self.evaluate

    def evaluate(self, call: Call) -> Tensor:
        """Return −log P(rule) of each example."""
        return -log_probability(self._definition, call)


def log_probability(definition: Definition, call: Call) -> Tensor:
    """Return log P(rule) of each example. Sequences of one length are evaluated together."""
    circuits = definition.circuits
    parts = list(circuits.parts(flattened(call, definition.plan)))
    values = []
    for part in parts:
        circuit = circuits.circuit(part.lengths, call.device)
        tables = circuits.tables(part.inputs)
        if circuit.evaluator.constant is None:
            weights = circuit.weights(tables)
            value = log_probability_of(circuit, weights, replay=definition.replay)
        else:
            value = _constant(circuit, part, call.device)
        if definition.has_hidden:
            hidden = circuit.log_hidden_states(tables, definition.plan.slots)
            value = value if hidden is None else value + hidden
        values.append(value)
    return in_order(parts, values).reshape(call.batch)


def log_probability_of(circuit: RuleCircuit, weights: Tensor, *, replay: bool = True) -> Tensor:
    """Return log P(rule) of each example, with gradients for the weights, examples × values.

    The gradients are computed together with the value, unless PyTorch differentiates in another
    way, or only logarithms give the value.
    """
    evaluator = circuit.evaluator
    if is_transformed() or _is_dual(weights):
        return _by_logarithms(evaluator, weights)
    wants_gradient = torch.is_grad_enabled() and weights.requires_grad
    found = circuit.with_gradient(weights, wants_gradient=wants_gradient, replay=replay)
    if found is None:
        return _by_logarithms(evaluator, weights)
    value, gradient = found
    value = value.clamp(max=0.0).to(weights.dtype)
    if gradient is None:
        return value

    def again(inputs: Sequence[Tensor]) -> Tensor:
        return _by_logarithms(evaluator, inputs[0])

    backward = KnownGradients([[0]], 1, again)
    return with_gradients(value, backward, [weights, gradient.unsqueeze(0)], [weights])


def _by_logarithms(evaluator: Evaluator, weights: Tensor) -> Tensor:
    return evaluator.log_probability(weights).clamp(max=0.0)  # rounding may lead above 0


def _is_dual(given: Tensor) -> bool:
    if forward_ad._current_level < 0:
        return False
    return forward_ad.unpack_dual(given).tangent is not None  # type: ignore[no-untyped-call]


def _constant(circuit: RuleCircuit, part: Part, device: torch.device) -> Tensor:
    """Return log P of a rule that always holds, or never. The value still needs a graph."""
    dtype = torch.float32
    for given in part.inputs:
        dtype = torch.promote_types(dtype, given.dtype)
    number = 0.0 if circuit.evaluator.constant else impossible(dtype)
    value = torch.full((), number, dtype=dtype, device=device)
    examples = part.inputs[0].shape[0] if part.inputs else 1
    return sum((given.flatten()[:0].sum() for given in part.inputs), value).expand(examples)


def in_order(parts: Sequence[Part], values: Sequence[Tensor]) -> Tensor:
    """Return what was found for the parts of a call, in the order of the examples of the call."""
    rows = [part.rows for part in parts if part.rows is not None]
    return torch.cat(list(values))[torch.argsort(torch.cat(rows))] if rows else values[0]
