# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
"""Circuits on a GPU: one Triton kernel for each layer, upward for values, downward for gradients.

All numbers are logarithms in double precision, so that no probability is too small. Downward, the
derivative of log P by the logarithm of a row is the sum over the products that the row is used in:
the derivative by the sum that a product belongs to, times the share of the product in that sum.
Every sum has a fixed order, so that results are the same every time.
"""

from __future__ import annotations

from typing import Final, final

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from residuum.circuits.layers import Layers, Numbers, all_pairs

AT_A_TIME: Final = 1 << 27
"""How many numbers are in use at a time, at most: 1 GiB of double precision."""

MOST_COLUMNS: Final = 128
"""The most examples of one program of a kernel. A row of the circuit is one program for each."""


@triton.jit
def sum_products(values, starts, left, right, first, examples, columns: tl.constexpr):
    """Write the logarithms of sums of products of two rows each, for the rows from `first` on."""
    row = first + tl.program_id(0)
    at = tl.program_id(1) * columns + tl.arange(0, columns)
    inside = at < examples
    start, end = tl.load(starts + row), tl.load(starts + row + 1)
    largest = tl.full((columns,), float("-inf"), tl.float64)
    for pair in range(start, end):
        one = tl.load(values + tl.load(left + pair) * examples + at, mask=inside, other=0.0)
        other = tl.load(values + tl.load(right + pair) * examples + at, mask=inside, other=0.0)
        largest = tl.maximum(largest, one + other)
    largest = tl.where(largest == float("-inf"), 0.0, largest)
    total = tl.zeros((columns,), tl.float64)
    for pair in range(start, end):
        one = tl.load(values + tl.load(left + pair) * examples + at, mask=inside, other=0.0)
        other = tl.load(values + tl.load(right + pair) * examples + at, mask=inside, other=0.0)
        total += tl.exp(one + other - largest)
    tl.store(values + row * examples + at, largest + tl.log(total), mask=inside)


@triton.jit
def sum_derivatives(
    values, flows, starts, owner, other, first, examples, columns: tl.constexpr
):  # fmt: skip
    """Write the derivatives of the root by the rows from `first` on."""
    row = first + tl.program_id(0)
    at = tl.program_id(1) * columns + tl.arange(0, columns)
    inside = at < examples
    start, end = tl.load(starts + row), tl.load(starts + row + 1)
    own = tl.load(values + row * examples + at, mask=inside, other=0.0)
    total = tl.zeros((columns,), tl.float64)
    for use in range(start, end):
        of = tl.load(owner + use) * examples + at
        beside = tl.load(values + tl.load(other + use) * examples + at, mask=inside, other=0.0)
        whole = tl.load(values + of, mask=inside, other=0.0)
        flow = tl.load(flows + of, mask=inside, other=0.0)
        share = tl.exp(own + beside - tl.where(whole == float("-inf"), 0.0, whole))
        total += flow * share
    tl.store(flows + row * examples + at, total, mask=inside)


@final
class FusedLayers:
    """A circuit whose layers are evaluated and differentiated by one kernel each."""

    def __init__(self, layers: Layers, device: torch.device) -> None:
        self._rows: Final = layers.rows
        self._leaves: Final = torch.as_tensor(layers.leaves, device=device)
        self._bounds: Final = [(one.first, one.last) for one in layers.layers]
        owner, left, right = all_pairs(layers)
        is_use = np.concatenate([left, right]) != 0  # no derivative by the constant is needed
        used, other = (np.concatenate(both)[is_use] for both in ((left, right), (right, left)))
        used_by = np.concatenate([owner, owner])[is_use]
        order = np.argsort(used, kind="stable")
        upward = _starts(owner, layers.rows), left, right
        downward = _starts(used, layers.rows), used_by[order], other[order]
        self._upward: Final = [torch.as_tensor(each, device=device) for each in upward]
        self._downward: Final = [torch.as_tensor(each, device=device) for each in downward]

    def run(self, weights: Tensor, *, wants_gradient: bool) -> tuple[Tensor, Tensor | None]:
        """Return the log-probability of each example, and its gradients by the weights if wanted.

        The gradients have the shape and the type of the weights.
        """
        at_a_time = max(1, AT_A_TIME // (2 * self._rows))
        parts = [self._run(one, wants_gradient) for one in weights.split(at_a_time)]
        values, gradients = zip(*parts, strict=True)
        return torch.cat(values), torch.cat(gradients) if wants_gradient else None

    def _run(self, weights: Tensor, wants_gradient: bool) -> tuple[Tensor, Tensor | None]:
        examples = len(weights)
        columns = min(MOST_COLUMNS, triton.next_power_of_2(max(1, examples)))
        blocks = triton.cdiv(examples, columns)
        values = weights.new_zeros(self._rows, examples, dtype=torch.float64)
        inputs = slice(1, 1 + len(self._leaves))
        values[inputs] = weights.t().index_select(0, self._leaves).double()
        for first, last in self._bounds if examples else ():
            grid = last - first, blocks
            sum_products[grid](values, *self._upward, first, examples, columns)
        if not wants_gradient:
            return values[-1], None
        flows = torch.zeros_like(values)
        flows[-1] = 1.0
        below = [(1, inputs.stop), *self._bounds[:-1]] if self._bounds else []
        for first, last in reversed(below if examples else []):
            grid = last - first, blocks
            sum_derivatives[grid](values, flows, *self._downward, first, examples, columns)
        found = torch.zeros_like(weights)
        return values[-1], found.index_copy_(1, self._leaves, flows[inputs].t().to(weights.dtype))


def _starts(owner: Numbers, rows: int) -> Numbers:
    """Return where the products of each row start, and where those of the last row end."""
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=rows))])
