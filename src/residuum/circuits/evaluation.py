# mypy: disable-error-code="no-untyped-call"
"""Circuits on tensors: log-probabilities in, the log-probability of the whole rule out.

The weights are logarithms of probabilities, examples × values; the probabilities of the values of
one variable add up to 1. There are two evaluators, which give the same numbers:

- `log_probability` stays with logarithms, by operations that PyTorch can differentiate in every
  way. It is right for all weights.
- `probability_with_gradient` multiplies and adds probabilities in double precision, and computes
  the gradient by a downward pass. On a CPU it is several times as fast. It cannot tell
  probabilities below 1e-300 from 0, and says for which examples it is of use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, final

import torch
from torch import Tensor

from residuum.circuits.circuit import Circuit
from residuum.circuits.layers import Layers, layers_of

SMALLEST: Final = 1e-280
"""The smallest probability that double precision is trusted with; its normal range ends at 1e-308.

The difference leaves room for the parts of a sum, so that its gradient is right as well.
"""

AT_A_TIME: Final = 1 << 20
"""How many numbers are in use at a time, at most, so that a CPU works from its cache.

Measured with the circuits of `make bench-circuits` and a batch of 4,096.
"""

FEWEST: Final = 32
"""The fewest examples at a time. With fewer, the indices cost more than the numbers."""


class _Layer(NamedTuple):
    first: int
    last: int
    left: Tensor
    right: Tensor
    owner: Tensor


class _Step(NamedTuple):
    """A layer, with both factors of all pairs in one index: left and then right, and swapped.

    `owner` is None if each row has one pair; the products are the rows then.
    """

    pairs: int
    factors: Tensor
    swapped: Tensor
    owner: Tensor | None


class _Live(NamedTuple):
    """How a layer is evaluated if only the rows that are still needed are kept.

    `left` and `right` are places among the kept rows; `keep` are the places, among the kept rows
    followed by the new rows, of those that later layers need. `owner` is None if each row has one
    pair; the products are the rows then.
    """

    rows: int
    left: Tensor
    right: Tensor
    owner: Tensor | None
    keep: Tensor


@final
class Evaluator:
    """A circuit in layers, with its indices on one device."""

    def __init__(self, circuit: Circuit, device: torch.device) -> None:
        layers = layers_of(circuit)
        self.circuit: Final = circuit
        self.layers: Final = layers
        self.device: Final = device
        self.constant: Final = layers.constant
        self.leaves: Final = torch.as_tensor(layers.leaves, device=device)
        self.device_layers: Final = [
            _Layer(one.first, one.last, *(torch.as_tensor(x, device=device) for x in one[2:]))
            for one in layers.layers
        ]
        self._steps: Final = [_step(layer) for layer in self.device_layers]
        self._inputs: Final = 1 + len(layers.leaves)
        self._row_counts: Final = [self._inputs, *(one.last - one.first for one in layers.layers)]
        self._factor_counts: Final = [len(step.factors) for step in self._steps]
        self._live: Final = _live_rows(layers, device)

    def log_probability(self, weights: Tensor) -> Tensor:
        """Return the logarithm of the probability of each example."""
        rows = weights.index_select(-1, self.leaves).transpose(-1, -2)
        rows = torch.cat([torch.zeros_like(rows[:1]), rows])
        for layer in self._live:
            pairs = rows.index_select(0, layer.left) + rows.index_select(0, layer.right)
            sums = pairs if layer.owner is None else _log_sums(pairs, layer.owner, layer.rows)
            rows = torch.cat([rows, sums])
            rows = rows.index_select(0, layer.keep)
        return rows[-1]

    def probability_with_gradient(self, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return log-probabilities, their gradients by the weights, and which of them are right.

        The gradients are of the shape of the weights. Nothing is recorded for PyTorch.
        """
        height = self.layers.rows + sum(self._factor_counts)
        examples = min(weights.shape[0], max(FEWEST, AT_A_TIME // height))
        with torch._C._AutoDispatchBelowAutograd():  # saves a tenth of the time of small batches
            memory = weights.new_empty(height * examples, dtype=torch.float64)
            values = memory.new_empty(weights.shape[0])
            gradient = memory.new_zeros(weights.shape[1], weights.shape[0])
            parts = (given.split(max(1, examples), -1) for given in (weights.t(), values, gradient))
            for given, value, its_gradient in zip(*parts, strict=True):
                self._upward_and_downward(given, value, its_gradient, memory)
            return torch.log(values), gradient.t(), values >= SMALLEST

    def _upward_and_downward(
        self, weights: Tensor, value: Tensor, gradient: Tensor, memory: Tensor
    ) -> None:
        """Write the probabilities of some examples, and the gradients of their logarithms.

        Weights and gradients are values × examples.
        """
        examples = weights.shape[1]
        counts = [self.layers.rows, sum(self._factor_counts)]
        rows, factors = memory[: sum(counts) * examples].view(sum(counts), examples).split(counts)
        rows_of = rows.split(self._row_counts)
        factors_of = factors.split(self._factor_counts)
        leaves = weights.index_select(0, self.leaves).double().exp_()
        rows.zero_()
        rows[0] = 1.0
        rows[1 : self._inputs] = leaves
        self._upward(rows, rows_of, factors_of)
        value.copy_(rows[-1])
        flows, flows_of = rows, rows_of  # the values are not needed again, but for the leaves
        flows.zero_()
        flows[-1] = 1.0
        self._downward(flows, flows_of, factors_of)
        shares = flows[1 : self._inputs].mul_(leaves).div_(value.clamp(min=SMALLEST))
        gradient.index_copy_(0, self.leaves, shares)

    def _upward(
        self, rows: Tensor, rows_of: Sequence[Tensor], factors_of: Sequence[Tensor]
    ) -> None:
        """Compute the rows of each layer in turn, and write down the factors of their pairs."""
        for step, sums, factors in zip(self._steps, rows_of[1:], factors_of, strict=True):
            torch.index_select(rows, 0, step.factors, out=factors)
            left, right = factors.view(2, step.pairs, factors.shape[1]).unbind()
            if step.owner is None:
                torch.mul(left, right, out=sums)
            else:
                sums.index_add_(0, step.owner, left * right)

    def _downward(
        self, flows: Tensor, flows_of: Sequence[Tensor], factors_of: Sequence[Tensor]
    ) -> None:
        """Add the derivative of the root by each row to `flows`, from the last layer to the first.

        The derivative by a factor is the other factor times that of the sum.
        """
        steps = zip(self._steps, flows_of[1:], factors_of, strict=True)
        for step, flow, factors in reversed(list(steps)):
            by_pair = flow if step.owner is None else flow.index_select(0, step.owner)
            factors.view(2, step.pairs, factors.shape[1]).mul_(by_pair)
            flows.index_add_(0, step.swapped, factors)


def _step(layer: _Layer) -> _Step:
    is_single = len(layer.owner) == layer.last - layer.first
    return _Step(
        len(layer.owner),
        torch.cat([layer.left, layer.right]),
        torch.cat([layer.right, layer.left]),
        None if is_single else layer.owner,
    )


def _log_sums(numbers: Tensor, owner: Tensor, rows: int) -> Tensor:
    """Return the logarithm of the sum of the exponentials of the numbers of each owner."""
    with torch.no_grad():
        index = owner.reshape(-1, *(1,) * (numbers.dim() - 1)).expand_as(numbers)
        nothing = numbers.new_full((rows, *numbers.shape[1:]), -torch.inf)
        largest = nothing.scatter_reduce(0, index, numbers, "amax")
    shares = torch.exp(numbers - largest.index_select(0, owner))
    return largest + torch.log(torch.zeros_like(largest).index_add(0, owner, shares))


def _live_rows(layers: Layers, device: torch.device) -> list[_Live]:
    """Return how each layer is evaluated if only the rows that are still needed are kept."""
    last_use: dict[int, int] = {}
    for number, layer in enumerate(layers.layers):
        last_use.update(dict.fromkeys((*layer.left.tolist(), *layer.right.tolist()), number))
    last_use[layers.rows - 1] = len(layers.layers)  # the root is needed after all layers

    def tensor(numbers: Any) -> Tensor:
        return torch.as_tensor(numbers, dtype=torch.int64, device=device)

    kept = list(range(1 + len(layers.leaves)))
    found = []
    for number, layer in enumerate(layers.layers):
        places = {row: place for place, row in enumerate(kept)}
        left, right = ([places[row] for row in side.tolist()] for side in (layer.left, layer.right))
        now = [*kept, *range(layer.first, layer.last)]
        keep = [place for place, row in enumerate(now) if last_use.get(row, -1) > number]
        kept = [now[place] for place in keep]
        rows = layer.last - layer.first
        owner = None if rows == len(layer.owner) else tensor(layer.owner)
        found.append(_Live(rows, tensor(left), tensor(right), owner, tensor(keep)))
    return found
