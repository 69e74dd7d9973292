"""What networks say of members: of all members of a domain, of those in rows, and in facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

import torch
from torch import Tensor, nn

from residuum.errors import GroundingError
from residuum.grounding.plans import Slot
from residuum.losses.network_calls import Key, Requests
from residuum.losses.relations.sources import Sources
from residuum.losses.relations.world import Chosen, broadcast


@final
class Networks:
    """The networks of a theory on the members of open domains, in one call.

    A predicate with one argument over an open domain is computed for all its members at once, and
    its outputs are looked up. One with several is computed for the members that are asked for.
    """

    def __init__(
        self,
        networks: Mapping[str, nn.Module],
        frozen: set[str],
        sources: Sources,
        tensors: Mapping[str, Tensor],
    ) -> None:
        self._networks = networks
        self._frozen = frozen
        self._sources = sources
        self._tensors = tensors
        self._known: dict[Key, Tensor] = {}

    def request(self, requests: Requests, slot: Slot, chosen: Sequence[Chosen], rule: str) -> None:
        """Ask for the outputs that a slot reads for these members, and for all if it reads one."""
        name = slot.predicate.name
        if name not in self._networks:
            return
        requests.add(self._key(slot, chosen, rule), name, self._inputs(slot, chosen))

    def take(self, outputs: Mapping[Key, Tensor]) -> None:
        """Keep the outputs that were requested."""
        self._known |= {key: one for key, one in outputs.items() if key[0] in ("all", "rows")}

    def outputs(self, slot: Slot, chosen: Sequence[Chosen], rule: str | None = None) -> Tensor:
        """Return the outputs that a slot reads: those that a rule requested, or new ones."""
        name = slot.predicate.name
        sizes = [len(domain.labels or ()) for domain in slot.domains if not domain.is_open]
        if name not in self._networks:
            return self._numbers(slot, chosen)
        key = self._key(slot, chosen, rule or "")
        found = self._known.get(key)
        if found is None:
            with torch.set_grad_enabled(torch.is_grad_enabled() and name not in self._frozen):
                found = self._networks[name](*self._inputs(slot, chosen))
        if not chosen:
            return one_each(found, name, 1, sizes)[0]
        if len(chosen) == 1:
            count = len(self._sources.features(chosen[0].source))
            return one_each(found, name, count, sizes)[chosen[0].numbers]
        shape = torch.broadcast_shapes(*(one.numbers.shape for one in chosen))  # type: ignore[no-untyped-call]
        return one_each(found, name, shape.numel(), sizes).reshape((*shape, *sizes))

    def _key(self, slot: Slot, chosen: Sequence[Chosen], rule: str) -> Key:
        if len(chosen) == 1:
            return "all", f"{slot.predicate.name}({chosen[0].source})"
        return "rows", f"{slot.name} of {rule}" if chosen else slot.name

    def _inputs(self, slot: Slot, chosen: Sequence[Chosen]) -> tuple[Tensor, ...]:
        if not chosen:
            return (self._given(slot.predicate.name),)
        if len(chosen) == 1:
            return (self._sources.features(chosen[0].source),)
        columns = broadcast(*(one.numbers for one in chosen))
        return tuple(
            self._sources.features(one.source)[column.reshape(-1)]
            for one, column in zip(chosen, columns, strict=True)
        )

    def _given(self, name: str) -> Tensor:
        if name not in self._tensors:
            raise GroundingError(
                f"rules need the tensor `{name}`; given are: {', '.join(self._tensors) or 'none'}"
            )
        return self._tensors[name]

    def _numbers(self, slot: Slot, chosen: Sequence[Chosen]) -> Tensor:
        """Return a quantity that is given as a tensor, with a dimension for each open argument."""
        name = slot.predicate.name
        table = self._given(name)
        sizes = [len(self._sources.features(one.source)) for one in chosen]
        if tuple(table.shape[: len(sizes)]) != tuple(sizes):
            raise GroundingError(
                f"`{name}`: expected a number for each member, a tensor of shape "
                f"{tuple(sizes)}, got {tuple(table.shape)}"
            )
        return table[tuple(one.numbers for one in chosen)]


def one_each(found: Any, predicate: str, count: int, sizes: Sequence[int]) -> Tensor:
    """Return the outputs of a network, one for each of `count` inputs, each of shape `sizes`.

    A network for a predicate without other arguments may return a last dimension of length 1.
    """
    expected = (count, *sizes)
    if isinstance(found, Tensor):
        if tuple(found.shape) == expected:
            return found
        if tuple(found.shape) == (count, 1) and not sizes:
            return found.squeeze(-1)
    given = f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
    raise GroundingError(
        f"the network of `{predicate}`: expected outputs of shape {expected}, got {given}"
    )
