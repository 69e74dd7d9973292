"""Aggregation over more groundings of one example than fit one block, in two passes over them.

The first pass computes one number for each grounding, its penalty, or the four sides of its degree,
block by block and without gradients. From these follow the penalty of the rule and the gradient of
each number. The second pass evaluates the blocks again and takes the gradients on to the inputs.
So an example needs two numbers for each of its groundings, besides the memory of one block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from residuum.losses.aggregation.aggregators import Aggregator, OnDegrees
from residuum.losses.degrees.tensors import TENSORS
from residuum.losses.inputs.calls import Call
from residuum.losses.routes.axes import AlongAxes
from residuum.losses.routes.blocks import Block, flattened, part_of, wide, with_known_gradients
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.gradients import zeros_for_gradients
from residuum.losses.routes.steps import evaluation_of
from residuum.relaxations import Degree
from residuum.relaxations.degrees import SIDES


@dataclass(frozen=True)
class TwoPasses:
    """Evaluates a call whose examples have several blocks each."""

    definition: Definition
    aggregator: Aggregator
    blocks: Sequence[Block]

    def __call__(self, call: Call) -> Tensor:
        whole = flattened(call, self.definition.plan)
        inputs = whole.inputs
        wants_gradients = torch.is_grad_enabled() and any(one.requires_grad for one in inputs)
        wanted = [n for n, one in enumerate(inputs) if wants_gradients and one.requires_grad]
        gradients = [zeros_for_gradients(inputs[n].detach()) for n in wanted]
        totals = []
        for _, blocks in groupby(self.blocks, key=lambda block: block.rows.start):
            own = list(blocks)
            values = [self._values(part_of(whole, block)) for block in own]
            total, upstream = self._aggregated(values, wants_gradients=wants_gradients)
            totals.append(total)
            if wants_gradients:
                sizes = [numbers[0].numel() for numbers, _ in values]
                for block, above in zip(own, _split(upstream, sizes), strict=True):
                    found = self._gradients(part_of(whole, block), wanted, above)
                    for gradient, one in zip(gradients, found, strict=True):
                        if one is not None:
                            gradient[block.rows] += one
        value = torch.stack(totals)
        if wants_gradients:
            value = with_known_gradients(value, inputs, wanted, gradients)
        return value.reshape(call.batch)

    def _values(self, part: Call) -> tuple[list[Tensor], Tensor]:
        """Return the numbers of the groundings of a block, and which groundings count."""
        with torch.no_grad():
            return evaluation_of(self.definition, part).each_grounding(self.aggregator)

    def _aggregated(
        self, values: Sequence[tuple[list[Tensor], Tensor]], *, wants_gradients: bool
    ) -> tuple[Tensor, list[Tensor | None]]:
        """Return the penalty of an example, and the gradients of the numbers of its groundings."""
        parts = zip(*(numbers for numbers, _ in values), strict=True)
        numbers = [torch.cat(part).requires_grad_(wants_gradients) for part in parts]
        counted = torch.cat([mask for _, mask in values])
        along = AlongAxes((-1,), 1, {0: counted.numel()}, counted, counted.device)
        with torch.set_grad_enabled(wants_gradients):
            if isinstance(self.aggregator, OnDegrees):
                degree = Degree(TENSORS, **dict(zip(SIDES, numbers, strict=True)))
                found = self.aggregator.forall(degree, along)
                total = self.definition.relaxation.tnorm.penalty(found).squeeze(-1)
            else:
                total = self.aggregator.penalty(numbers[0], along).squeeze(-1)
        if not wants_gradients:
            return total, []
        return total.detach(), list(torch.autograd.grad(total, numbers, allow_unused=True))

    def _gradients(
        self, part: Call, wanted: Sequence[int], above: Sequence[Tensor | None]
    ) -> Sequence[Tensor | None]:
        """Return the gradients of the wanted inputs of a block from those of its groundings."""
        leaves = [wide(one).requires_grad_(n in wanted) for n, one in enumerate(part.inputs)]
        with torch.enable_grad():
            evaluation = evaluation_of(self.definition, part._replace(inputs=leaves))
            numbers, _ = evaluation.each_grounding(self.aggregator)
        pairs = zip(numbers, above, strict=True)
        used = [(x, up) for x, up in pairs if up is not None and x.requires_grad]
        if not used:
            return [None] * len(wanted)
        roots, upstream = zip(*used, strict=True)
        return torch.autograd.grad(roots, [leaves[n] for n in wanted], upstream, allow_unused=True)


def _split(
    gradients: Sequence[Tensor | None], sizes: Sequence[int]
) -> Iterator[list[Tensor | None]]:
    """Yield the gradients of each block."""
    start = 0
    for size in sizes:
        yield [None if one is None else one[start : start + size] for one in gradients]
        start += size
