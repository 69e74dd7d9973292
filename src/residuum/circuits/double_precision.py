# mypy: disable-error-code="no-untyped-call"
"""Circuits on a CPU, in double precision: one pass upward for values, one downward for gradients.

Both passes are made of one kind of step: each row of a layer becomes a sum of products of two rows
that are known already. Upward these are the factors of its pairs. Downward, where a row becomes the
derivative of the root by it, they are the derivatives of the sums that it is used in and the other
factors there. The calls are few and NumPy's, which cost a third of PyTorch's for small arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from residuum.circuits.layers import Layers, Numbers, all_pairs

Rows = NDArray[np.float64]

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

MANY: Final = 16
"""A row with more products adds up those after the first 16 by a call of its own."""


class _Sums(NamedTuple):
    """The rows `first` to `last` (exclusive) as sums of products.

    The rows that have more products come first. So the first products of all rows, the second
    products of all rows that have two, and so on, are parts that are added as they stand. `parts`
    says where each ends. The other products of the rows that have many come at the end, row by row:
    `many` has the row, where its products start and where they end.
    """

    first: int
    last: int
    left: Numbers
    right: Numbers
    parts: list[tuple[int, int]]
    many: list[tuple[int, int, int]]

    def write(self, into: Rows, left: Rows, right: Rows, memory: tuple[Rows, Rows]) -> None:
        """Compute the rows, from the rows that the factors are in."""
        size = len(self.left), into.shape[1]
        one, other = (each[: size[0] * size[1]].reshape(size) for each in memory)
        left.take(self.left, 0, one, "clip")  # every index is right; this mode is the fastest
        right.take(self.right, 0, other, "clip")
        rows = into[self.first : self.last]
        np.multiply(one[: len(rows)], other[: len(rows)], rows)
        if len(one) > len(rows):
            rest = one[len(rows) :]
            np.multiply(rest, other[len(rows) :], rest)
            for start, end in self.parts:
                some = rows[: end - start]
                np.add(some, one[start:end], some)
            for row, start, end in self.many:
                rows[row] += one[start:end].sum(0)


def _sums(first: int, owner: Numbers, left: Numbers, right: Numbers) -> _Sums:
    """Return rows as sums. Product p is added to row `owner[p]`; earlier rows have no fewer."""
    counts = np.bincount(owner)
    by_row = np.argsort(owner, kind="stable")
    turns = np.empty_like(owner)  # the how-manieth product of its row a product is
    turns[by_row] = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    order = np.lexsort((turns, owner, np.minimum(turns, MANY)))
    ends = np.cumsum(np.bincount(np.minimum(turns, MANY)))
    parts = list(zip(ends[:-1].tolist(), ends[1:MANY].tolist(), strict=False))
    tail = len(owner) - np.cumsum(np.maximum(counts - MANY, 0)[::-1])[::-1]
    many = [
        (row, int(tail[row]), int(tail[row] + counts[row] - MANY))
        for row in np.flatnonzero(counts > MANY).tolist()
    ]
    return _Sums(first, first + len(counts), left[order], right[order], parts, many)


@final
class TwoPasses:
    """Evaluates a circuit in layers, and differentiates it.

    Values and derivatives have orders of rows of their own: within a layer, the rows that have more
    products come first.
    """

    def __init__(self, layers: Layers) -> None:
        self._leaves: Final = torch.as_tensor(layers.leaves)
        self._inputs: Final = 1 + len(layers.leaves)
        self._rows: Final = layers.rows
        starts = np.array([0, *(layer.first for layer in layers.layers)])
        layer_of = np.searchsorted(starts, np.arange(layers.rows), "right") - 1
        owner, left, right = all_pairs(layers)
        is_use = np.concatenate([left, right]) != 0  # no derivative by the constant is needed
        used, other = (np.concatenate(both)[is_use] for both in ((left, right), (right, left)))
        used_by = np.concatenate([owner, owner])[is_use]
        values = _places(layer_of, np.bincount(owner, minlength=layers.rows))
        uses = np.bincount(used, minlength=layers.rows)
        flows = _places(layer_of, uses)
        self._upward: Final = [
            _sums(first, *mine)
            for first, mine in _by_layer(starts, layer_of[owner], values[owner], values[left],
                                         values[right])
        ]  # fmt: skip
        self._downward: Final = [
            _sums(first, *mine)
            for first, mine in _by_layer(starts, layer_of[used], flows[used], flows[used_by],
                                         values[other])
        ][::-1]  # fmt: skip
        self._root: Final = int(values[-1]), int(flows[-1])
        self._of_leaves: Final = flows[1 : self._inputs]
        self._unused: Final = flows[uses == 0]
        self._most: Final = max((len(x.left) for x in (*self._upward, *self._downward)), default=0)

    def run(self, weights: Tensor, *, wants_gradient: bool) -> tuple[Tensor, Tensor | None]:
        """Return the probability of each example, and the gradients of its logarithm if wanted.

        The gradients have the shape and the type of the weights.
        """
        examples, width = weights.shape
        at_a_time = max(FEWEST, AT_A_TIME // (2 * self._rows + 2 * self._most))
        at_a_time = max(1, min(examples, at_a_time))
        memory = np.empty(2 * at_a_time * (self._rows + self._most))
        probability = torch.empty(examples, dtype=torch.float64)
        gradient = torch.empty(examples, width, dtype=weights.dtype) if wants_gradient else None
        for start in range(0, examples, at_a_time):
            some = slice(start, start + at_a_time)
            its_gradient = None if gradient is None else gradient[some]
            self._run(weights[some], probability[some], its_gradient, memory)
        return probability, gradient

    def _run(
        self, weights: Tensor, probability: Tensor, gradient: Tensor | None, memory: Rows
    ) -> None:
        """Write the probabilities and gradients of some examples."""
        examples, width = weights.shape
        size, most = self._rows * examples, self._most * examples
        values, flows = memory[: 2 * size].reshape(2, self._rows, examples)
        scratch = memory[2 * size :][:most], memory[2 * size + most :]
        leaves = weights.t().contiguous().index_select(0, self._leaves).double().exp_()
        values[0] = 1.0
        values[1 : self._inputs] = leaves.numpy()
        for sums in self._upward:
            sums.write(values, values, values, scratch)
        probability.copy_(torch.from_numpy(values[self._root[0]]))
        if gradient is None:
            return
        flows[self._unused] = 0.0
        flows[self._root[1]] = 1.0
        for sums in self._downward:
            sums.write(flows, flows, values, scratch)
        shares = torch.from_numpy(flows.take(self._of_leaves, 0)).mul_(leaves)
        shares.div_(probability.clamp(min=SMALLEST))
        turned = torch.zeros(width, examples, dtype=weights.dtype)
        gradient.copy_(turned.index_copy_(0, self._leaves, shares.to(weights.dtype)).t())


def _places(layer_of: Numbers, counts: Numbers) -> Numbers:
    """Return where each row goes if the rows of each layer are sorted, largest counts first."""
    order = np.lexsort((-counts, layer_of))
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


def _by_layer(
    starts: Numbers, layer: Numbers, owner: Numbers, *sides: Numbers
) -> Iterator[tuple[int, tuple[Numbers, ...]]]:
    """Yield, for each layer that has products, its first row, and owners and factors of these."""
    order = np.argsort(layer, kind="stable")
    ends = np.cumsum(np.bincount(layer, minlength=len(starts)))
    for start, mine in zip(starts.tolist(), np.split(order, ends[:-1]), strict=True):
        if len(mine):
            yield start, (owner[mine] - start, *(side[mine] for side in sides))
