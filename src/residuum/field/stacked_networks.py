"""Small networks of many runs, trained at once: one matrix product takes all a layer further."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from residuum.training.layers import linear
from residuum.training.randomness import dropped_out, permutations, purpose, starting_values


class StackedNetworks:
    """Multilayer perceptrons with ReLUs, one for each seed, as parameters with a first dimension.

    A network is the same alone and in any stack. The loss to minimise is the sum of the losses of
    all networks, in which each has gradients of its own. `bias` (networks, outputs) is where the
    last layer starts; its weights start small.

    >>> networks = StackedNetworks([1, 2], [8, 16, 3])
    >>> networks(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 3])
    """

    def __init__(
        self,
        seeds: Sequence[int],
        widths: Sequence[int],
        *,
        bias: Tensor | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.seeds = torch.tensor(seeds, device=device)
        self.parameters: list[Tensor] = []
        last = len(widths) - 2
        for layer, (inputs, outputs) in enumerate(itertools.pairwise(widths)):
            bound = (0.1 if layer == last else 1.0) / math.sqrt(inputs)
            weight = starting_values(self.seeds, f"weight {layer}", (inputs, outputs), bound)
            start = torch.zeros(len(seeds), outputs) if bias is None or layer < last else bias
            for values in (weight, start):
                own = values.detach().to(device, torch.float32, copy=True)
                self.parameters.append(own.requires_grad_())

    def __call__(
        self,
        x: Tensor,
        networks: slice = slice(None),
        *,
        step: int = 0,
        dropout: tuple[float, float] = (0.0, 0.0),
    ) -> Tensor:
        """Return the outputs (networks, examples, outputs) of all networks, or of some of them.

        `dropout` has the shares of inputs and of hidden units that are set to 0. They are others in
        each `step`.
        """
        for layer in range(0, len(self.parameters), 2):
            share = dropout[layer > 0]
            if share:
                x = dropped_out(x, share, self.seeds[networks], purpose(f"layer {layer}"), step)
            weight, bias = (one[networks] for one in self.parameters[layer : layer + 2])
            x = linear(x, weight, bias)
            x = x.relu() if layer < len(self.parameters) - 2 else x
        return x

    def batches(self, rows: Tensor, size: int, epoch: int) -> Iterator[Tensor]:
        """Yield batches of rows (networks, size); each network has an order of its own."""
        order = permutations(rows.shape[1], self.seeds, torch.full_like(self.seeds, epoch))
        yield from rows.gather(1, order).split(size, 1)  # type: ignore[no-untyped-call]
