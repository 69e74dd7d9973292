"""Questions about the joint distribution of all outputs, given that a rule holds.

The outputs of networks are a distribution in which all outputs are independent. Given that the rule
holds they are not: this file has the probabilities of outputs given the rule, and the entropy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from residuum.circuits import count as count_states
from residuum.errors import GroundingError
from residuum.grounding import Plan
from residuum.losses.degrees.tensors import impossible, is_traced
from residuum.losses.inputs.calls import Call
from residuum.losses.routes.blocks import flattened
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.exact import in_order, log_probability, log_probability_of
from residuum.losses.routes.rule_circuits import Part, RuleCircuit


class Given(NamedTuple):
    """What is given of the examples of one length: their circuit and their outputs as tables.

    `excluded` are tables that say which values are impossible: other values than those observed,
    and classes masked by −inf. `weights` is the part of the tables that the circuit reads.
    """

    part: Part
    circuit: RuleCircuit
    tables: Sequence[Tensor]
    excluded: Sequence[Tensor]
    weights: Tensor


def probability(definition: Definition, call: Call) -> Tensor:
    """Return the probability that the rule holds, one per example."""
    return torch.exp(log_probability(definition, call))


def given_in(definition: Definition, call: Call, *, may_search: bool = False) -> Iterator[Given]:
    """Yield what is given in a call, for the sequences of each length.

    Raises GroundingError if no prediction obeys both the rule and what is observed, and
    CircuitError if the circuit is too large, unless a search is as good.
    """
    circuits = definition.circuits
    for part in circuits.parts(flattened(call, definition.plan)):
        circuit = circuits.circuit(part.lengths, call.device, may_search=may_search)
        tables = circuits.tables(part.inputs)
        chances = circuits.tables(part.inputs, ("false", "true"))
        pairs = zip(tables, chances, strict=True)
        excluded = [_is_excluded(table, chance) for table, chance in pairs]
        weights = torch.zeros(0) if circuit.constant is not None else circuit.weights(tables)
        found = Given(part, circuit, tables, excluded, weights)
        _refuse_contradictions(found)
        yield found


def _is_excluded(table: Tensor, chances: Tensor) -> Tensor:
    """Return which values have probability 0, and not one that is too small for a float."""
    return ((table - impossible(table.dtype)).abs() < 1e-3) & (chances == 0)


def _refuse_contradictions(given: Given) -> None:
    constant = given.circuit.constant
    if constant is False:
        length = "".join(f" of length {length}" for _, length in given.part.lengths[:1])
        raise GroundingError(
            f"no prediction{length} obeys the rule, so that this question has no answer; "
            "`residuum check` finds rules that contradict each other"
        )
    if constant or is_traced(given.weights):
        return
    excluded = given.circuit.weights(given.excluded)
    if not bool(excluded.any()):
        return
    is_possible = given.circuit.chooser.is_possible(excluded)
    if not bool(is_possible.all()):
        row = int(torch.nonzero(~is_possible)[0])
        example = row if given.part.rows is None else int(given.part.rows[row])
        raise GroundingError(
            f"example {example}: what is observed, or masked by −inf, contradicts the rule, so "
            "that no prediction obeys both; correct the labels, or leave the example out"
        )


def marginals(definition: Definition, call: Call) -> dict[str, Tensor]:
    """Return the probability of each output given the rule, in the shapes of the tensors.

    An output that the rule does not read keeps its probability. The padding of sequences gets 0.
    """
    parts, found = [], []
    for given in given_in(definition, call):
        tables = [torch.exp(table) for table in given.tables]
        if given.circuit.constant is None:
            tables = given.circuit.with_values(tables, _given_the_rule(given))
        parts.append(given.part)
        pairs = zip(tables, definition.plan.slots, strict=True)
        found.append([_probabilities(table, slot.is_exclusive) for table, slot in pairs])
    return assembled(definition.plan, call, parts, found, 0.0)


def _probabilities(table: Tensor, is_exclusive: bool) -> Tensor:
    return table.flatten(1) if is_exclusive else table[..., 1]


def _given_the_rule(given: Given) -> Tensor:
    """Return the probability of each value given the rule, examples × values.

    The gradient of log P(rule) by the log-probability of a value is the share of the states in
    which the circuit mentions that value. In the other states the circuit does not mention the
    variable, which then has the probabilities that it has without a rule.
    """
    gradient = _gradient(given)
    sizes = torch.tensor(given.circuit.ground.propositions.sizes, device=gradient.device)
    variable = torch.arange(len(sizes), device=gradient.device).repeat_interleave(sizes)
    mentioned = gradient.new_zeros(gradient.shape[0], len(sizes)).index_add(-1, variable, gradient)
    rest = (1 - mentioned).clamp(min=0.0).index_select(-1, variable)
    return gradient + rest * torch.exp(given.weights)


def _gradient(given: Given) -> Tensor:
    """Return the gradient of log P(rule) by the weights; it has gradients if the weights do."""
    weights, evaluator = given.weights, given.circuit.evaluator
    if is_traced(weights):  # neither vmap nor torch.compile can look into the downward pass
        gradient: Tensor = torch.func.grad(lambda x: evaluator.log_probability(x).sum())(weights)
        return gradient
    if torch.is_grad_enabled() and weights.requires_grad:
        value = evaluator.log_probability(weights).sum()
        return torch.autograd.grad(value, weights, create_graph=True)[0]
    found = evaluator.with_gradient(weights)
    if found is not None and found[1] is not None:
        return found[1]
    with torch.enable_grad():
        leaf = weights.detach().requires_grad_()
        return torch.autograd.grad(evaluator.log_probability(leaf).sum(), leaf)[0]


def entropy(definition: Definition, call: Call) -> Tensor:
    """Return the entropy, in nats, of the distribution of all outputs given the rule.

    It is log P(rule) minus the mean log-probability of the predictions that obey the rule.
    """
    parts, values = [], []
    for given in given_in(definition, call):
        tables, value = given.tables, torch.zeros((), device=call.device)
        chances = [torch.exp(table) for table in tables]
        if given.circuit.constant is None:
            chances = given.circuit.with_values(chances, _given_the_rule(given))
            value = log_probability_of(given.circuit, given.weights)
        for table, chance in zip(tables, chances, strict=True):
            value = value - (chance * table).sum((1, 2))
        parts.append(given.part)
        values.append(value)
    return in_order(parts, values).reshape(call.batch)


def count(definition: Definition, lengths: Mapping[str, int]) -> int:
    """Return how many predictions obey the rule, for sequences of these lengths.

    Outputs of a slot that the rule does not read may have any value, unless they are hidden.
    """
    if definition.plan.quantities:
        raise GroundingError(
            "count: expected a rule about outputs alone, got one that compares quantities, whose "
            "values are not countable; count rules without comparisons"
        )
    circuit = definition.circuits.circuit(tuple(lengths.items()), torch.device("cpu"))
    found = count_states(circuit.evaluator.circuit)
    for number, slot in enumerate(definition.plan.slots):
        sizes = [lengths[d.name] if d.is_sequence else len(d.labels or ()) for d in slot.domains]
        values = sizes.pop() if slot.is_exclusive else 2
        read = sum(output.slot == number for output in circuit.ground.outputs)
        if not slot.predicate.is_hidden:
            found *= values ** (math.prod(sizes) - read)
    return found


def assembled(
    plan: Plan,
    call: Call,
    parts: Sequence[Part],
    found: Sequence[Sequence[Tensor]],
    padding: float,
    *,
    are_labels: bool = False,
) -> dict[str, Tensor]:
    """Return what was found for the slots of each part as tensors for the whole call.

    What is found is examples × entries. With `are_labels` a softmax has one entry, its class.
    """
    sizes = {} if call.case is None else dict(call.case.sizes)
    answers = {}
    for number, slot in enumerate(plan.slots):
        if slot.compared is not None:  # it follows from quantities
            continue
        domains = slot.domains[:-1] if are_labels and slot.is_exclusive else slot.domains
        padded = []
        for part, one in zip(parts, found, strict=True):
            lengths = dict(part.lengths)
            shape = [lengths[d.name] if d.is_sequence else len(d.labels or ()) for d in domains]
            missing = [sizes[d.name] - lengths[d.name] if d.is_sequence else 0 for d in domains]
            value = one[number].reshape(one[number].shape[0], *shape)
            pad = [n for size in reversed(missing) for n in (0, size)]
            padded.append(functional.pad(value, pad, value=padding))
        whole = in_order(parts, padded)
        answers[slot.name] = whole.reshape((*call.batch, *whole.shape[1:]))
    return answers
