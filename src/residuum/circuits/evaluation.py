# mypy: disable-error-code="no-untyped-call"
"""Circuits on tensors: log-probabilities in, the log-probability of the whole rule out.

The weights are logarithms of probabilities, examples × values; the probabilities of the values of
one variable add up to 1. There are two evaluators, which give the same numbers:

- `log_probability` stays with logarithms, by operations that PyTorch can differentiate in every
  way. It is right for all weights.
- `probability_with_gradient` multiplies and adds probabilities in double precision, and computes
  the gradient by a downward pass (`double_precision.py`). It is for a CPU, where it is several
  times as fast. It cannot tell probabilities below 1e-300 from 0, and says which ones are right.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, final

import torch
from torch import Tensor

from residuum.circuits.circuit import Circuit
from residuum.circuits.double_precision import SMALLEST, TwoPasses
from residuum.circuits.layers import Layers, layers_of


class _Layer(NamedTuple):
    first: int
    last: int
    left: Tensor
    right: Tensor
    owner: Tensor


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
        self._two_passes: Final = TwoPasses(layers)
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

        The gradients have the shape and the type of the weights. Nothing is recorded for
        PyTorch. The weights are on a CPU.
        """
        with torch.no_grad():
            value, gradient = self._two_passes.run(weights)
            return torch.log(value), gradient, value >= SMALLEST


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
