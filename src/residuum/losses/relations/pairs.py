"""An observed relation, given by the list of its tuples: the edges of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import torch
from torch import Tensor

from residuum.errors import GroundingError


@final
class Pairs:
    """The pairs of members between which a relation holds; it holds between no others.

    `index` has one column for each pair, as `edge_index` in PyTorch Geometric: integers of shape
    (2, pairs), or (3, triples) for a relation of three. Pairs are given in `observed=`, and rules
    may select their groundings by them: `forall x, y in paper where Cites(x, y): …`. A pair that is
    listed twice counts once, where it stands first.

    >>> Pairs(torch.tensor([[0, 1], [1, 2]]))
    Pairs(2 pairs)
    """

    def __init__(self, index: Any) -> None:
        try:
            given: Tensor = torch.as_tensor(index)
        except (RuntimeError, TypeError, ValueError):
            raise GroundingError(f"pairs: expected integers, got {index!r:.80}") from None
        if not given.numel():  # of an empty list PyTorch makes floats
            given = given.long()
        is_integral = not (given.is_floating_point() or given.is_complex())
        if given.dim() != 2 or not len(given) or not is_integral or given.dtype == torch.bool:
            hint = ""
            if given.dim() == 2 and given.shape[1] == 2:
                hint = "; pass `index.T`"
            raise GroundingError(
                "pairs: expected the numbers of members as integers of shape (2, pairs), got "
                f"{given.dtype} of shape {tuple(given.shape)}{hint}"
            )
        self.index = _once(given.long())
        self._keys: dict[tuple[tuple[int, ...], torch.device], Tensor] = {}

    def __len__(self) -> int:
        return self.index.shape[1]

    def __repr__(self) -> str:
        return f"Pairs({len(self)} pairs)"

    @property
    def arity(self) -> int:
        """The number of members in a tuple of the relation."""
        return len(self.index)

    def check(self, name: str, sizes: Sequence[int]) -> None:
        """Raise GroundingError unless all numbers are below the sizes of their domains."""
        if self.arity != len(sizes):
            raise GroundingError(
                f"observed `{name}`: expected {len(sizes)} rows of numbers, one for each argument, "
                f"got {self.arity}; pass the transpose if each row is one choice of members"
            )
        for place, (row, size) in enumerate(zip(self.index, sizes, strict=True)):
            wrong = row[(row < 0) | (row >= size)]
            if len(wrong):
                raise GroundingError(
                    f"observed `{name}`: expected numbers of members from 0 to {size - 1} in row "
                    f"{place}, got {int(wrong[0])}"
                )

    def holds(self, columns: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
        """Return whether the relation holds between the members in these columns."""
        device = columns[0].device
        keys = self._sorted_keys(tuple(sizes), device)
        wanted = _flat(columns, sizes)
        if not len(keys):
            return torch.zeros_like(wanted, dtype=torch.bool)
        places = torch.searchsorted(keys, wanted.contiguous()).clamp(max=len(keys) - 1)
        return keys[places] == wanted

    def _sorted_keys(self, sizes: tuple[int, ...], device: torch.device) -> Tensor:
        key = sizes, device
        if key not in self._keys:
            self._keys = {key: _flat(list(self.index.to(device)), sizes).unique()}  # type: ignore[no-untyped-call]
        return self._keys[key]


def _once(index: Tensor) -> Tensor:
    """Return the columns without repetitions, in their order."""
    different, numbers = index.unique(dim=1, return_inverse=True)  # type: ignore[no-untyped-call]
    count = index.shape[1]
    if different.shape[1] == count:
        return index
    places = torch.arange(count, device=index.device)
    first = places.new_full((different.shape[1],), count)
    first = first.scatter_reduce(0, numbers, places, "amin")
    return index[:, first.sort().values]


def _flat(columns: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """Return one number for each tuple of members."""
    found = columns[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        found = found * size + column
    return found
