# mypy: disable-error-code="no-untyped-call"
"""Circuits on tensors: log-probabilities in, the log-probability of the whole rule out.

The weights are logarithms of probabilities, examples × values; the probabilities of the values of
one variable add up to 1. There are two ways, which give the same numbers:

- `log_probability` stays with logarithms, by operations that PyTorch can differentiate in every
  way. It is right for all weights.
- `with_gradient` computes the gradient by a downward pass, and is several times as fast. On a CPU
  it multiplies and adds probabilities (`double_precision.py`), and refuses those that are too small
  for double precision. On a GPU it needs Triton (`fused_layers.py`).
"""

from __future__ import annotations

import warnings
from functools import cache, cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import torch
from torch import Tensor

from residuum.circuits.circuit import Builder, Circuit
from residuum.circuits.double_precision import SMALLEST, TwoPasses
from residuum.circuits.layers import Layers, layers_of

if TYPE_CHECKING:
    from residuum.circuits.fused_layers import FusedLayers


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

    def with_gradient(
        self, weights: Tensor, *, wants_gradient: bool = True
    ) -> tuple[Tensor, Tensor | None] | None:
        """Return log-probabilities and, if wanted, their gradients by the weights.

        The gradients have the shape and the type of the weights. Nothing is recorded for PyTorch.
        Returns None if only `log_probability` can tell: a CPU meets a probability that is too
        small for it, or a GPU lacks Triton.
        """
        with torch.no_grad():
            if weights.is_cuda:
                fused = self._fused
                return fused and fused.run(weights, wants_gradient=wants_gradient)
            value, gradient = self._two_passes.run(weights, wants_gradient=wants_gradient)
            return (torch.log(value), gradient) if bool((value >= SMALLEST).all()) else None

    @cached_property
    def _two_passes(self) -> TwoPasses:
        return TwoPasses(self.layers)

    @cached_property
    def _fused(self) -> FusedLayers | None:
        if not _can_fuse(self.device):
            return None
        from residuum.circuits.fused_layers import FusedLayers

        return FusedLayers(self.layers, self.device)


@cache
def _can_fuse(device: torch.device) -> bool:
    """Return whether Triton's kernels work on a GPU: it may be missing, or lack a C compiler."""
    if find_spec("triton") is None:
        return False
    from residuum.circuits.fused_layers import FusedLayers

    build = Builder([2, 3, 2], most_nodes=100)
    states = ((0, 1, 1), (1, 2, 0), (1, 0, 0))
    root = build.sum([build.product(map(build.leaf, range(3), state)) for state in states])
    evaluator = Evaluator(build.finish(root), device)
    weights = torch.linspace(-3.0, -0.1, 14, device=device).reshape(2, 7).requires_grad_()
    with torch.enable_grad():
        expected = evaluator.log_probability(weights)
        [gradient] = torch.autograd.grad(expected.sum(), weights)
    try:
        with torch.no_grad():
            found = FusedLayers(evaluator.layers, device).run(weights, wants_gradient=True)
        torch.testing.assert_close(found, (expected.detach().double(), gradient))
    except Exception as error:  # whatever Triton says, the other way is right
        warnings.warn(
            f"circuits are evaluated without Triton, several times as slowly: on {device} its "
            f"kernels fail ({type(error).__name__}: {error!s:.200}). Triton needs a C compiler",
            stacklevel=2,
        )
        return False
    return True


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
