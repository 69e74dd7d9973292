"""The networks of a theory: each runs once in a call, on all its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import torch
from torch import Tensor

from residuum.errors import GroundingError

Key = tuple[str, str]
"""What the output of a network is for: "facts" or "slot", and a name."""


@final
class Requests:
    """The inputs of each network in one call. Each request has a key, and is made once."""

    def __init__(self, networks: Mapping[str, Callable[..., Tensor]], frozen: set[str]) -> None:
        self._networks = networks
        self._frozen = frozen
        self._wanted: dict[str, dict[Key, tuple[Tensor, ...]]] = {}

    def add(self, key: Key, predicate: str, inputs: tuple[Tensor, ...]) -> None:
        """Ask for the output of a predicate's network on some inputs."""
        self._wanted.setdefault(predicate, {})[key] = inputs

    def run(self) -> dict[Key, Tensor]:
        """Return the outputs of all networks by key."""
        found: dict[Key, Tensor] = {}
        for predicate, wanted in self._wanted.items():
            with torch.set_grad_enabled(torch.is_grad_enabled() and predicate not in self._frozen):
                found |= _apply_once(predicate, self._networks[predicate], wanted)
        return found


def _apply_once(
    predicate: str, network: Callable[..., Tensor], wanted: Mapping[Key, tuple[Tensor, ...]]
) -> dict[Key, Tensor]:
    """Return the outputs of a network by key; inputs of equal shapes are run as one batch."""
    inputs = list(wanted.values())
    if len(inputs) == 1 or not _are_alike(inputs):
        return {key: network(*one) for key, one in wanted.items()}
    together = network(*(torch.cat(same) for same in zip(*inputs, strict=True)))
    sizes = [len(one[0]) for one in inputs]
    if not isinstance(together, Tensor) or together.shape[:1] != (sum(sizes),):
        is_tensor = isinstance(together, Tensor)
        found = f"shape {tuple(together.shape)}" if is_tensor else type(together).__name__
        raise GroundingError(
            f"the network of `{predicate}`: expected a tensor with a row for each of "
            f"{sum(sizes)} inputs, got {found}"
        )
    return dict(zip(wanted, torch.split(together, sizes), strict=True))


def _are_alike(inputs: Sequence[tuple[Any, ...]]) -> bool:
    """Return whether inputs fit into one batch: all are tensors, and their rows have one shape."""
    if not all(isinstance(given, Tensor) for one in inputs for given in one):
        return False
    return len({(len(one), *(tuple(t.shape[1:]) for t in one)) for one in inputs}) == 1
