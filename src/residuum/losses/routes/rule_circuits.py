"""The circuits of a rule, and the outputs of networks in the form that circuits take.

Each softmax is one random variable with a value for each class, and each sigmoid is one with two
values. The outputs of a slot become a table: examples × variables × values. A rule is compiled to
one circuit for each length of its sequences (`residuum.circuits`). Predictions that obey a rule
whose circuit is too large are searched for without one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple, final

import torch
from torch import Tensor

from residuum.circuits.circuit import Circuit
from residuum.circuits.compiling import compile_circuit
from residuum.circuits.evaluation import Evaluator
from residuum.circuits.ground_rules import GroundRule, ground_rule
from residuum.circuits.search import Searcher
from residuum.circuits.selection import Selector
from residuum.errors import CircuitError, GroundingError
from residuum.grounding.plans import Slot
from residuum.losses.degrees.logits import Side, Source
from residuum.losses.degrees.tensors import is_traced, outside_inference_mode
from residuum.losses.inputs.calls import Call
from residuum.losses.routes import thresholds
from residuum.losses.routes.cuda_recording import Recording, Recordings, is_plain, place_of
from residuum.losses.routes.definition import Definition
from residuum.losses.tracing import not_traced

Lengths = tuple[tuple[str, int], ...]


@final
class RuleCircuit:
    """A rule for sequences of one length: its formula, and its circuit on a device.

    `compiled` is the circuit, or the reason why there is none: then only `chooser` answers.
    """

    def __init__(self, ground: GroundRule, compiled: Circuit | str, device: torch.device) -> None:
        self.ground: Final = ground
        self.compiled: Final = compiled
        self._evaluator: Final = None if isinstance(compiled, str) else Evaluator(compiled, device)
        self._recordings: Final[Recordings[Recording]] = Recordings()
        places: dict[int, list[int]] = {}
        for output in ground.outputs:
            places.setdefault(output.slot, []).append(output.entry)
        self._places: Final = [
            (slot, torch.tensor(entries, device=device)) for slot, entries in places.items()
        ]

    @property
    def evaluator(self) -> Evaluator:
        """Evaluates the circuit. Raises CircuitError if there is none."""
        if self._evaluator is None:
            raise CircuitError(str(self.compiled))
        return self._evaluator

    @cached_property
    def selector(self) -> Selector:
        """Chooses states of the circuit. Raises CircuitError if there is none."""
        return Selector(self.evaluator)

    @cached_property
    def _searcher(self) -> Searcher:
        return Searcher(self.ground.propositions, self.ground.root)

    @property
    def chooser(self) -> Selector | Searcher:
        """Finds the most probable states: by the circuit, or by search if there is none."""
        return self._searcher if self._evaluator is None else self.selector

    @property
    def constant(self) -> bool | None:
        """False if the rule never holds, True if it is known that it always does, else None."""
        return self._searcher.constant if self._evaluator is None else self._evaluator.constant

    def log_hidden_states(self, tables: Sequence[Tensor], slots: Sequence[Slot]) -> Tensor | None:
        """Return the logarithm of the number of states of hidden outputs, one per example.

        In the tables they are equally likely, but each of them weighs 1. Observed ones are certain,
        and count as one state. Returns None if no output is hidden.
        """
        hidden = [one for one in self._places if slots[one[0]].predicate.is_hidden]
        if not hidden:
            return None
        largest = [tables[slot].index_select(1, places).amax(-1) for slot, places in hidden]
        return -torch.cat(largest, 1).sum(1).detach()

    def with_gradient(
        self, weights: Tensor, *, wants_gradient: bool, replay: bool
    ) -> tuple[Tensor, Tensor | None] | None:
        """Return `Evaluator.with_gradient`, on a GPU as the replay of a CUDA graph if that pays."""

        def found(given: Sequence[Tensor]) -> list[Tensor]:
            answer = self.evaluator.with_gradient(given[0], wants_gradient=wants_gradient)
            if answer is None:
                raise RuntimeError("without Triton the circuit has no kernels to record")
            return [one for one in answer if one is not None]

        if replay and self._is_recordable(weights):
            key = weights.shape, weights.dtype, wants_gradient, place_of(weights)
            recording = self._recordings.find(key, lambda: Recording(found, [weights]))
            if recording is not None:
                value, *gradient = recording([weights])
                return value, gradient[0] if gradient else None
        return self.evaluator.with_gradient(weights, wants_gradient=wants_gradient)

    def _is_recordable(self, weights: Tensor) -> bool:
        numbers = self.evaluator.layers.rows * len(weights)
        is_small = 0 < numbers <= thresholds.MOST_RECORDED_NUMBERS
        return weights.is_cuda and is_small and not is_traced(weights) and is_plain([weights])

    def weights(self, tables: Sequence[Tensor]) -> Tensor:
        """Return the part of tables that the circuit reads: examples × values."""
        return torch.cat(
            [tables[slot].index_select(1, places).flatten(1) for slot, places in self._places], -1
        )

    def with_values(self, tables: Sequence[Tensor], values: Tensor) -> list[Tensor]:
        """Return tables in which the part that the circuit reads has other values."""
        found = list(tables)
        start = 0
        for slot, places in self._places:
            table = tables[slot]
            rest = table.shape[2:]
            width = len(places) * rest.numel()
            part = values[:, start : start + width].reshape(-1, len(places), *rest)
            found[slot] = table.index_copy(1, places, part.to(table.dtype))
            start += width
        return found


class Part(NamedTuple):
    """The examples of a call whose sequences have one length: which ones, and their tensors.

    `rows` is None if these are all examples.
    """

    rows: Tensor | None
    inputs: Sequence[Tensor]
    lengths: Lengths


@final
class RuleCircuits:
    """The circuits of a rule, one for each length of its sequences, made when they are needed."""

    def __init__(self, definition: Definition) -> None:
        self._definition: Final = definition
        self._plan: Final = definition.plan
        self._circuits: dict[tuple[Lengths, str], RuleCircuit] = {}

    def keep(self, circuit: RuleCircuit) -> None:
        """Take a circuit that is known already, of a rule without sequences."""
        self._circuits[(), str(circuit.evaluator.device)] = circuit

    def circuit(
        self, lengths: Lengths, device: torch.device, *, may_search: bool = False
    ) -> RuleCircuit:
        """Return the circuit for sequences of these lengths, from the cache if it is there.

        Raises CircuitError if the circuit is too large, unless a search is as good.
        """
        key = lengths, str(device)
        if torch.compiler.is_compiling() or key not in self._circuits:
            self._prepare(*key)
        found = self._circuits[key]
        if isinstance(found.compiled, str) and not may_search:
            raise CircuitError(found.compiled)
        return found

    @not_traced
    def _prepare(self, lengths: Lengths, device: str) -> None:
        """Put a circuit into the cache. A trace runs this without tracing it."""
        if (lengths, device) in self._circuits:
            return
        while len(self._circuits) >= thresholds.MOST_CIRCUITS:
            self._circuits.pop(next(iter(self._circuits)))
        known = next((one for key, one in self._circuits.items() if key[0] == lengths), None)
        with outside_inference_mode():
            if known is None:
                ground = ground_rule(self._plan, dict(lengths))
                compiled = _compiled(ground)
            else:
                ground, compiled = known.ground, known.compiled
            self._circuits[lengths, device] = RuleCircuit(ground, compiled, torch.device(device))

    def parts(self, call: Call) -> Iterator[Part]:
        """Yield the parts of a call, whose batch must have one dimension, by length."""
        assert call.case is not None
        sizes = call.case.sizes
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
            pairs = zip(call.inputs, self._plan.slots, strict=True)
            short = [_cut(given[rows], slot, length) for given, slot in pairs]
            yield Part(rows, short, tuple((name, length) for name in sizes))

    def tables(
        self, inputs: Sequence[Tensor], sides: tuple[Side, Side] = ("log_false", "log_true")
    ) -> list[Tensor]:
        """Return the log-probabilities of all values of all outputs, one table for each slot.

        With the sides "false" and "true" the tables are probabilities.
        """
        sources = self._definition.sources(inputs)
        return [
            _table(slot, source, sides)
            for slot, source in zip(self._plan.slots, sources, strict=True)
        ]


def _compiled(ground: GroundRule) -> Circuit | str:
    """Return the circuit of a rule, or the reason why there is none."""
    try:
        return compile_circuit(ground.propositions, ground.root)
    except CircuitError as error:
        return str(error)


def _cut(given: Tensor, slot: Slot, length: int) -> Tensor:
    for place, domain in enumerate(slot.domains):
        if domain.is_sequence:
            given = given.narrow(1 + place, 0, length)
    return given


def _table(slot: Slot, source: Source, sides: tuple[Side, Side]) -> Tensor:
    """Return a slot as a table: examples × variables × values."""
    false, true = sides
    if slot.is_exclusive:
        found = source.side(true)
        return found.reshape(found.shape[0], found.shape[1:-1].numel(), found.shape[-1])
    both = torch.stack([source.side(false), source.side(true)], -1)
    return both.reshape(both.shape[0], both.shape[1:-1].numel(), 2)
