"""Members of an open domain as embeddings that train, and networks that read several members."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, final

import torch
from torch import Tensor, nn

from residuum.errors import GroundingError, shown
from residuum.logic.terms import as_label


@final
class Members(nn.Module):
    """The members of an open domain as embeddings that train: `Members(14, dim=5)`.

    A list of names in the place of a number gives the members names, so that rules may be about one
    of them, as in `Smokes("ann")`. Called without arguments, it returns one row for each member.

    >>> Members(["ann", "bob"], dim=5)().shape
    torch.Size([2, 5])
    """

    def __init__(self, members: int | Iterable[str], dim: int) -> None:
        super().__init__()
        count, self.names = _counted(members)
        size = as_label(dim)
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise GroundingError(f"dim: expected the length of an embedding, got {shown(dim)}")
        self.weight = nn.Parameter(torch.randn(count, size))

    def forward(self) -> Tensor:
        """Return the embeddings, one row for each member."""
        return self.weight

    def __len__(self) -> int:
        return len(self.weight)

    def extra_repr(self) -> str:
        """Return what `print` shows."""
        return f"{len(self)}, dim={self.weight.shape[1]}"


def _counted(members: Any) -> tuple[int, tuple[str, ...] | None]:
    """Return the number of members, and their names if they have any."""
    count = as_label(members)
    if isinstance(count, int) and not isinstance(count, bool):
        if count < 0:
            raise GroundingError(f"expected 0 members or more, got {count}")
        return count, None
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise GroundingError(
            f"expected the number of members, or a list of their names, got {shown(members)}"
        )
    names = tuple(members)
    seen = set()
    for name in names:
        if not isinstance(name, str):
            raise GroundingError(f"expected names of members as text, got {shown(name)}")
        if name in seen:
            raise GroundingError(f"two members are called {name!r}; give each a name of its own")
        seen.add(name)
    return len(names), names


@final
class _Concatenated(nn.Module):
    """A network of one tensor that is called with several, which it reads side by side."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *inputs: Tensor) -> Any:
        return self.module(torch.cat(inputs, -1))


def concatenated(module: nn.Module) -> nn.Module:
    """Return a module that is called with several tensors, and gives them to `module` as one.

    A predicate of two people is called with the features of each: `rs.concatenated(nn.Linear(10,
    1))` reads two of five numbers.

    >>> import torch
    >>> import residuum as rs
    >>> related = rs.concatenated(torch.nn.Linear(10, 1))
    >>> related(torch.zeros(4, 5), torch.zeros(4, 5)).shape
    torch.Size([4, 1])
    """
    if not isinstance(module, nn.Module):
        raise GroundingError(f"expected a torch.nn.Module, got {type(module).__name__}")
    return _Concatenated(module)
