"""Groundings as dimensions of tensors: sums, maxima and conjunctions along axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, final

import torch
from torch import Tensor

from residuum.losses.degrees.tensors import LARGEST, TENSORS, impossible
from residuum.relaxations import Degree
from residuum.relaxations.carriers import Exact


def spread(x: Tensor, rank: int, lengths: Mapping[int, int]) -> Tensor:
    """Return x expanded along the axes, so that a number is counted once for each grounding."""
    shape = [1] * (rank - x.dim()) + list(x.shape)
    for dimension, length in lengths.items():
        shape[dimension - rank] = length
    return x.expand(shape)


@final
class AlongAxes:
    """The groundings of a quantifier, as dimensions of tensors."""

    def __init__(
        self,
        dimensions: tuple[int, ...],
        rank: int,
        lengths: Mapping[int, int],
        mask: Tensor | None,
        device: torch.device,
    ) -> None:
        self._device = device
        self.dimensions = dimensions
        self._rank = rank
        self._lengths = lengths
        self._mask = mask

    @property
    def is_masked(self) -> bool:
        """Whether some groundings may not count."""
        return self._mask is not None

    @property
    def number(self) -> Any:
        """The number of groundings that count, for each example if that differs."""
        if self._mask is None:
            return math.prod(self._lengths.values())
        return spread(self._mask, self._rank, self._lengths).sum(self.dimensions, keepdim=True)

    def total(self, numbers: Any, elsewhere: float) -> Tensor:
        return self.counted(numbers, elsewhere).sum(self.dimensions, keepdim=True)

    def largest(self, numbers: Any, elsewhere: float) -> Tensor:
        given = self.counted(numbers, elsewhere)
        if 0 in (given.shape[d] for d in self.dimensions):
            return given.sum(self.dimensions, keepdim=True) + elsewhere
        return given.amax(self.dimensions, keepdim=True)

    def log_total(self, logarithms: Any) -> Tensor:
        given = self.counted(logarithms, -LARGEST)
        found = torch.logsumexp(given, self.dimensions, keepdim=True)
        return found.masked_fill(found <= -LARGEST, impossible(found.dtype))

    def log_norm(self, logarithms: Any, exponent: Exact) -> Tensor:
        given = self.counted(logarithms, -LARGEST)
        nothing = impossible(given.dtype)
        if 0 in (given.shape[d] for d in self.dimensions):
            return given.sum(self.dimensions, keepdim=True) + nothing
        largest = given.amax(self.dimensions, keepdim=True).detach()
        p = TENSORS.constant(exponent)
        below = torch.logsumexp(p * (given - largest), self.dimensions, keepdim=True)
        return (largest + below / p).masked_fill(largest <= -LARGEST, nothing)

    def in_pairs(self, x: Degree, conjoin: Callable[[Degree, Degree], Degree]) -> Degree:
        true = self.counted(x.true, 1.0)
        for dimension in self.dimensions:
            true = _in_pairs(true, dimension, conjoin)
        return Degree(TENSORS, true=true)

    def counted(self, numbers: Any, elsewhere: float) -> Tensor:
        """Return the numbers of all groundings, and `elsewhere` for those that do not count."""
        known = torch.as_tensor(numbers, device=self._device)
        counted = spread(known, self._rank, self._lengths)
        return counted if self._mask is None else counted.masked_fill(~self._mask, elsewhere)


def _in_pairs(x: Tensor, dimension: int, conjoin: Callable[[Degree, Degree], Degree]) -> Tensor:
    """Return the conjunction along a dimension, by pairs of halves."""
    if x.shape[dimension] == 0:
        shape = list(x.shape)
        shape[dimension] = 1
        return x.new_ones(shape)
    while x.shape[dimension] > 1:
        half = x.shape[dimension] // 2
        first, second = x.narrow(dimension, 0, half), x.narrow(dimension, half, half)
        rest = x.narrow(dimension, 2 * half, x.shape[dimension] % 2)
        pairs = conjoin(Degree(TENSORS, true=first), Degree(TENSORS, true=second)).true
        x = torch.cat([pairs, rest], dimension)
    return x
