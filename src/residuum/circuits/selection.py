"""States of a circuit: the most probable one that obeys the rule, and random ones.

Both choose one pair of each sum, from the root down. The leaves that are reached give a value to
every variable that matters; a variable that is not reached may have any value there, and gets the
most probable one, or a random one of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

import torch
from torch import Tensor

from residuum.circuits.evaluation import Evaluator


@final
class Selector:
    """Chooses states. Weights are logarithms, examples × values; −inf excludes a value."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._of: Final = evaluator
        sizes = evaluator.circuit.sizes
        device = evaluator.device
        variables = torch.arange(len(sizes), device=device)
        counts = torch.tensor(sizes, dtype=torch.int64, device=device)
        values = torch.arange(max(sizes, default=0), device=device)
        starts = counts.cumsum(0) - counts
        # The values of each variable; the place after the last value stands for none.
        self._places: Final = torch.where(
            values < counts[:, None], starts[:, None] + values, counts.sum()
        )
        self._owner: Final = variables.repeat_interleave(counts)  # the variable of each value
        self._variable: Final = self._owner[evaluator.leaves]
        self._value: Final = evaluator.leaves - starts[self._variable]

    def is_possible(self, excluded: Tensor) -> Tensor:
        """Return for each example whether some state obeys the rule without excluded values."""
        weights = torch.where(excluded, -torch.inf, 0.0).t()
        rows = self._upward(weights, _largest)
        return rows[-1] > -torch.inf

    def most_probable(self, weights: Tensor) -> Tensor:
        """Return the most probable state that obeys the rule: examples × variables.

        Of equally probable states it is always the same one. If `is_possible` says no, the state
        does not obey the rule.
        """
        with torch.no_grad():
            weights = weights.t().double()
            own = self._by_variable(weights)
            largest, likeliest = own.max(1)
            rows = self._upward(weights - largest[self._owner], _largest)
            return self._downward(rows, likeliest).t()

    def sample(self, weights: Tensor, count: int, generator: torch.Generator | None) -> Tensor:
        """Return random states, each as probable as it is given the rule.

        Their shape is count × examples × variables.
        """
        with torch.no_grad():
            examples = weights.shape[0]
            weights = weights.t().double()
            rows = self._upward(weights, _log_sum).repeat(1, count)
            own = self._by_variable(weights).repeat(1, 1, count)
            values = (own + _gumbel(own, generator)).argmax(1)
            found = self._downward(rows, values, lambda pairs: pairs + _gumbel(pairs, generator))
            return found.t().reshape(count, examples, len(values))

    def _by_variable(self, weights: Tensor) -> Tensor:
        """Return the weights as variables × values × examples; missing values weigh −inf."""
        nothing = torch.full_like(weights[:1], -torch.inf)
        return torch.cat([weights, nothing])[self._places]

    def _upward(self, weights: Tensor, reduce: Any) -> Tensor:
        of = self._of
        rows = weights.new_full((of.layers.rows, weights.shape[1]), -torch.inf)
        rows[0] = 0.0
        rows[1 : 1 + len(of.leaves)] = weights.index_select(0, of.leaves)
        for layer in of.device_layers:
            pairs = rows.index_select(0, layer.left) + rows.index_select(0, layer.right)
            rows[layer.first : layer.last] = reduce(pairs, layer.owner, layer.last - layer.first)
        return rows

    def _downward(
        self, rows: Tensor, values: Tensor, scored: Callable[[Tensor], Tensor] | None = None
    ) -> Tensor:
        """Return the values of all variables, variables × examples.

        `values` are those of the variables that are not reached. Of each sum the pair with the
        largest score is chosen; the score of a pair is its logarithm unless `scored` changes it.
        """
        of = self._of
        chosen = torch.zeros(rows.shape, dtype=torch.int64, device=of.device)
        chosen[-1] = 1
        for layer in reversed(of.device_layers):
            pairs = rows.index_select(0, layer.left) + rows.index_select(0, layer.right)
            if scored is not None:
                pairs = scored(pairs)
            own = chosen[layer.first : layer.last].index_select(0, layer.owner)
            taken = own * _first_largest(pairs, layer.owner, layer.last - layer.first)
            chosen.index_add_(0, layer.left, taken)
            chosen.index_add_(0, layer.right, taken)
        reached = chosen[1 : 1 + len(of.leaves)]
        found = torch.zeros_like(values)
        found.index_add_(0, self._variable, reached * (1 + self._value[:, None]))
        return torch.where(found > 0, found - 1, values)


def _gumbel(like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return noise. The largest of logarithms with this noise is each with its probability."""
    noise = torch.empty_like(like).exponential_(generator=generator)
    return -torch.log(noise)


def _index(pairs: Tensor, owner: Tensor) -> Tensor:
    return owner[:, None].expand_as(pairs)


def _largest(pairs: Tensor, owner: Tensor, rows: int) -> Tensor:
    """Return the largest pair of each row."""
    nothing = pairs.new_full((rows, pairs.shape[1]), -torch.inf)
    return nothing.scatter_reduce(0, _index(pairs, owner), pairs, "amax")


def _log_sum(pairs: Tensor, owner: Tensor, rows: int) -> Tensor:
    """Return the logarithm of the sum of the pairs of each row, which are logarithms."""
    largest = _largest(pairs, owner, rows).clamp(min=torch.finfo(pairs.dtype).min)
    shares = torch.exp(pairs - largest.index_select(0, owner))
    return largest + torch.log(torch.zeros_like(largest).index_add_(0, owner, shares))


def _first_largest(pairs: Tensor, owner: Tensor, rows: int) -> Tensor:
    """Return 1 for the first of the largest pairs of each row, and 0 for all others."""
    index = _index(pairs, owner)
    largest = _largest(pairs, owner, rows).index_select(0, owner)
    numbers = torch.arange(len(pairs), device=pairs.device)[:, None].expand_as(pairs)
    ranked = torch.where(pairs == largest, numbers, len(pairs))
    first = torch.full((rows, pairs.shape[1]), len(pairs), device=pairs.device)
    first = first.scatter_reduce(0, index, ranked, "amin").index_select(0, owner)
    return (numbers == first).long()
