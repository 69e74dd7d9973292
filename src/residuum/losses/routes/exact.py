"""The exact route: the probability that a rule holds, if all outputs are independent.

Each softmax is one random variable with a value for each class, and each sigmoid is one with two
values. The rule is compiled to a circuit (`residuum.circuits`), once for each length of its
sequences, and the circuit is evaluated on the log-probabilities of all values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, final

import torch
from torch import Tensor

from residuum.circuits.compiling import compile_circuit
from residuum.circuits.evaluation import Evaluator
from residuum.circuits.ground_rules import GroundRule, ground_rule
from residuum.errors import GroundingError
from residuum.losses.degrees.logits import Source
from residuum.losses.degrees.tensors import impossible, outside_inference_mode
from residuum.losses.inputs.calls import Call, Case
from residuum.losses.inputs.padding import sequence_sizes
from residuum.losses.routes import thresholds
from residuum.losses.routes.blocks import flattened
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.gradients import KnownGradients, with_gradients
from residuum.losses.routes.route import Evaluate, Surroundings, is_transformed

Lengths = tuple[tuple[str, int], ...]


class Counted(NamedTuple):
    """A rule for sequences of one length: its formula, and its circuit on a device."""

    ground: GroundRule
    evaluator: Evaluator


class Part(NamedTuple):
    """The examples of a call whose sequences have one length: which ones, and their tensors."""

    rows: Tensor | None
    inputs: Sequence[Tensor]
    lengths: Lengths


@final
class RuleCircuits:
    """The circuits of a rule, one for each length of its sequences. They are made when needed."""

    def __init__(self, definition: Definition) -> None:
        self.definition: Final = definition
        self._counted: dict[tuple[Lengths, str], Counted] = {}

    def counted(self, lengths: Lengths, device: torch.device) -> Counted:
        """Return the circuit for sequences of these lengths, from the cache if it is there."""
        key = lengths, str(device)
        if torch.compiler.is_compiling() or key not in self._counted:
            self._prepare(*key)
        return self._counted[key]

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
    def _prepare(self, lengths: Lengths, device: str) -> None:
        """Put a circuit into the cache. A trace runs this without tracing it."""
        if (lengths, device) in self._counted:
            return
        while len(self._counted) >= thresholds.MOST_CIRCUITS:
            self._counted.pop(next(iter(self._counted)))
        known = next((one for key, one in self._counted.items() if key[0] == lengths), None)
        with outside_inference_mode():
            if known is None:
                ground = ground_rule(self.definition.plan, dict(lengths))
                circuit = compile_circuit(ground.propositions, ground.root)
            else:
                ground, circuit = known.ground, known.evaluator.circuit
            self._counted[lengths, device] = Counted(
                ground, Evaluator(circuit, torch.device(device))
            )

    def parts(self, call: Call) -> Iterator[Part]:
        """Yield the parts of a call, whose batch must have one dimension, by length."""
        plan = self.definition.plan
        sizes = sequence_sizes(plan, call.inputs) if plan.sequence_domains else {}
        if call.lengths is None or not call.batch[0]:
            yield Part(None, call.inputs, tuple(sizes.items()))
            return
        if torch._C._functorch.is_batchedtensor(call.lengths):
            raise GroundingError(
                "`exact` looks at the values of lengths, which vmap hides; pass the whole batch to "
                "the rule instead"
            )
        for length in sorted(set(call.lengths.tolist())):
            rows = torch.nonzero(call.lengths == length).flatten()
            short = [self._cut(one[rows], number, length) for number, one in enumerate(call.inputs)]
            yield Part(rows, short, tuple((name, length) for name in sizes))

    def _cut(self, given: Tensor, number: int, length: int) -> Tensor:
        for place, domain in enumerate(self.definition.plan.slots[number].domains):
            if domain.is_sequence:
                given = given.narrow(1 + place, 0, length)
        return given

    def weights(self, counted: Counted, inputs: Sequence[Tensor]) -> Tensor:
        """Return the log-probabilities of the values of all outputs of a circuit.

        They have the shape examples × values, with the values of one output beside each other.
        """
        sources = self.definition.sources(inputs)
        return torch.cat(
            [self._weights_of(slot, places, sources[slot]) for slot, places in _by_slot(counted)],
            -1,
        )

    def _weights_of(self, slot: int, places: Tensor, source: Source) -> Tensor:
        depth = len(self.definition.plan.slots[slot].domains)
        true = source.side("log_true")
        if self.definition.plan.slots[slot].is_exclusive:
            each = true.flatten(1, depth - 1) if depth > 1 else true.unsqueeze(1)
        else:
            sides = [one.flatten(1) if depth else one.unsqueeze(1)
                     for one in (source.side("log_false"), true)]  # fmt: skip
            each = torch.stack(sides, -1)
        return each.index_select(1, places.to(each.device)).flatten(1)


def _by_slot(counted: Counted) -> list[tuple[int, Tensor]]:
    """Return for each slot which of its softmaxes or sigmoids are outputs of the circuit."""
    found: dict[int, list[int]] = {}
    for output in counted.ground.outputs:
        found.setdefault(output.slot, []).append(output.entry)
    return [(slot, torch.tensor(entries)) for slot, entries in found.items()]


def log_probability(counted: Counted, weights: Tensor) -> Tensor:
    """Return log P(rule) of each example, with gradients for the weights.

    On a CPU the gradients are computed with the value, unless PyTorch differentiates in another
    way. Examples whose probability is too small for that are evaluated by logarithms.
    """
    evaluator = counted.evaluator
    if is_transformed() or weights.is_cuda or _is_dual(weights):
        return evaluator.log_probability(weights)
    value, gradient, is_right = evaluator.probability_with_gradient(weights)
    if not bool(is_right.all()):
        return evaluator.log_probability(weights)
    value, gradient = value.to(weights.dtype), gradient.to(weights.dtype)
    if not (torch.is_grad_enabled() and weights.requires_grad):
        return value

    def again(inputs: Sequence[Tensor]) -> Tensor:
        return evaluator.log_probability(inputs[0])

    backward = KnownGradients([[0]], 1, again)
    return with_gradients(value, backward, [weights, gradient.unsqueeze(0)], [weights])


def _is_dual(given: Tensor) -> bool:
    from torch.autograd import forward_ad

    if forward_ad._current_level < 0:
        return False
    return forward_ad.unpack_dual(given).tangent is not None  # type: ignore[no-untyped-call]


@final
class ExactRoute:
    """Evaluates the exact probability of a rule."""

    name: Final = "exact"
    hands_over_because: Final = "this route never hands over"

    def __init__(self, definition: Definition) -> None:
        self._plan = definition.plan
        self._circuits = definition.circuits
        if not self._plan.sequence_domains:
            # So that `rs.compile` refuses a rule that is too large.
            self._circuits.counted((), torch.device("cpu"))

    def prepare(self, _case: Case, _around: Surroundings) -> Evaluate | str:
        """Return the function that evaluates calls."""
        return self.evaluate

    def evaluate(self, call: Call) -> Tensor:
        """Return −log P(rule) of each example. Sequences of one length are evaluated together."""
        flat = flattened(call, self._plan)
        parts = list(self._circuits.parts(flat))
        values = [self._of_one_length(part, call.device) for part in parts]
        order = [part.rows for part in parts if part.rows is not None]
        found = values[0]
        if order:
            found = torch.cat(values)[torch.argsort(torch.cat(order))]
        return -found.reshape(call.batch)

    def _of_one_length(self, part: Part, device: torch.device) -> Tensor:
        counted = self._circuits.counted(part.lengths, device)
        examples = part.inputs[0].shape[0] if part.inputs else 1
        constant = counted.evaluator.constant
        if constant is not None:  # nothing is forbidden, or all; the value still needs a graph
            dtype = torch.float32
            for one in part.inputs:
                dtype = torch.promote_types(dtype, one.dtype)
            value = torch.zeros((), dtype=dtype, device=device)
            value = value if constant else value + impossible(dtype)
            return sum((x.flatten()[:0].sum() for x in part.inputs), value).expand(examples)
        weights = self._circuits.weights(counted, part.inputs)
        return log_probability(counted, weights).clamp(max=0.0)
