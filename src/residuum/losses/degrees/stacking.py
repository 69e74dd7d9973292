"""Stacks of slots: slots of one shape as one tensor with the examples in its last dimension.

A CPU computes neighbouring numbers several at a time. Most softmaxes have few classes and many
examples, so that the examples are neighbours, not the classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, final

import torch
from torch import Tensor

from residuum.losses.degrees.logits import Side

_AFFIRMED: Final = ("true", "log_true")
_WIDE: Final = (torch.float32, torch.float64)


class Piece(NamedTuple):
    """Entries of a slot that clauses read: one side of `size` entries from number `first` on.

    In a sequence they are read from position `start` on.
    """

    slot: int
    side: Side
    start: int
    first: int = 0
    size: int = 0


class Kind(NamedTuple):
    """The kind of a slot. Slots of one kind are computed as one tensor.

    `outer` is the dimension of the sequence along which clauses are evaluated, as if its positions
    were examples; None without a sequence. `sizes` are the sizes of the other dimensions, with the
    classes of a softmax first.
    """

    is_exclusive: bool
    outer: int | None
    sizes: tuple[int, ...]

    @property
    def order(self) -> list[int]:
        """The dimensions of a tensor in the order classes, other entries, examples, positions."""
        own = list(range(1, self.depth + 1))
        positions = [] if self.outer is None else [own.pop(self.outer)]
        turned = [own[-1], *own[:-1]] if self.is_exclusive else own
        return [*turned, 0, *positions]

    @property
    def depth(self) -> int:
        """The number of dimensions of a tensor after the batch."""
        return len(self.sizes) + (self.outer is not None)


@dataclass(frozen=True)
class Columns:
    """The pieces that clauses read from slots of one kind. Each entry of a piece is one row.

    `piece.slot` is a place in `slots`. `length` is the number of positions of each piece.
    """

    kind: Kind
    slots: tuple[int, ...]
    pieces: tuple[Piece, ...]
    length: int

    @cached_property
    def signs(self) -> list[float]:
        """The sign of each row: 1 for a truth, −1 for a falsity, which falls as the truth rises."""
        return [
            1.0 if piece.side in _AFFIRMED else -1.0
            for piece in self.pieces
            for _ in range(piece.size)
        ]

    @cached_property
    def sides(self) -> frozenset[Side]:
        """The sides that the pieces read."""
        return frozenset(piece.side for piece in self.pieces)

    @property
    def first_readings(self) -> Tensor:
        """A mask of rows × positions: True where no earlier row reads the same side of an entry."""
        positions = self.length + max(piece.start for piece in self.pieces)
        unread = {
            (piece.slot, piece.side): torch.ones(
                (math.prod(self.kind.sizes), positions), dtype=torch.bool
            )
            for piece in self.pieces
        }
        rows = []
        for slot, side, start, first, size in self.pieces:
            read = unread[slot, side][first : first + size, start : start + self.length]
            rows.append(read.clone())
            read.fill_(False)
        return torch.cat(rows)


@final
class Stack:
    """Slots of one kind as one tensor, for a fixed number of examples.

    Its shape is slots × classes × (other entries × examples × positions). The constructor computes
    everything that depends only on sizes.
    """

    def __init__(
        self, columns: Columns, examples: int, positions: int, device: torch.device
    ) -> None:
        self.columns = columns
        self.slots = columns.slots
        self.rows = sum(piece.size for piece in columns.pieces)
        kind, pieces = columns.kind, columns.pieces
        size = math.prod(kind.sizes)
        self.classes = kind.sizes[0] if kind.is_exclusive else 1
        self._examples = examples
        self._depth = kind.depth
        self._order = [0, *(1 + place for place in kind.order)]
        self._back = [self._order.index(place) for place in range(len(self._order))]
        outer = () if kind.outer is None else (positions,)
        self._unstacked = (len(self.slots), *kind.sizes, examples, *outer)
        self._stacked = (len(self.slots), self.classes, size // self.classes * examples * positions)
        self._is_whole = columns.length == positions
        self._length = columns.length
        self._apart = (-1, examples * positions) if self._is_whole else (-1, examples, positions)
        self._parts = [piece.size for piece in pieces]
        self._starts = [piece.slot * size + piece.first for piece in pieces]
        self._sides = sorted(columns.sides, reverse=True)  # truths first
        self._are_slots = (
            self._is_whole
            and len(pieces) == len(self.slots)
            and all(piece.size == size for piece in pieces)
        )
        affirmed = [piece.side in _AFFIRMED for piece in pieces]
        self._affirmed = torch.tensor(affirmed, device=device).reshape(-1, 1, 1)

    def stack(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return the tensors of the slots as one tensor."""
        given = [inputs[slot] for slot in self.slots]
        if given[0].dim() != self._depth + 1:
            own = given[0].shape[given[0].dim() - self._depth :]
            given = [one.reshape(self._examples, *own) for one in given]
        together = given[0].unsqueeze(0) if len(given) == 1 else torch.stack(given)
        stacked = together.permute(self._order).contiguous()
        if self._unstacked != self._stacked:
            stacked = stacked.view(self._stacked)
        return stacked if stacked.dtype in _WIDE else stacked.float()

    def unstack(self, stacked: Tensor, into: Tensor | None = None) -> Tensor:
        """Return a stacked tensor in the layout of the inputs: slots × examples × entries."""
        if self._unstacked != self._stacked:
            stacked = stacked.view(self._unstacked)
        turned = stacked.permute(self._back)
        return turned.contiguous() if into is None else into.copy_(turned)

    def unbind(self, apart: Tensor, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        """Return the part of each slot, in the shape and dtype of its input."""
        found = apart.unbind(0)
        given = [inputs[slot] for slot in self.slots]
        if given[0].dim() == self._depth + 1 and apart.dtype == given[0].dtype:
            return found
        return [
            one.reshape(tensor.shape).to(tensor.dtype)
            for one, tensor in zip(found, given, strict=True)
        ]

    def read(self, side_of: Callable[[Side], Tensor]) -> Tensor:
        """Return the rows of all pieces: entries × (examples × positions)."""
        if self._are_slots:
            sides = [side_of(side) for side in self._sides]
            if len(sides) == 1:
                return sides[0].reshape(self._apart)
            return torch.where(self._affirmed, sides[0], sides[1]).reshape(self._apart)
        known = {side: side_of(side).reshape(self._apart) for side in self._sides}
        parts = []
        for first, piece in zip(self._starts, self.columns.pieces, strict=True):
            rows = known[piece.side].narrow(0, first, piece.size)
            parts.append(rows if self._is_whole else rows.narrow(2, piece.start, self._length))
        return torch.cat(parts) if self._is_whole else torch.cat(parts).flatten(1)

    def add_up(self, gradient: Tensor) -> Tensor:
        """Return the gradients of entries: the sum over all pieces that read them."""
        if self._are_slots:
            return gradient.view(self._stacked)
        total = gradient.new_zeros(self._stacked)
        apart = total.view(self._apart)
        if not self._is_whole:
            gradient = gradient.view(-1, self._examples, self._length)
        parts = torch.split(gradient, self._parts)
        for part, first, piece in zip(parts, self._starts, self.columns.pieces, strict=True):
            rows = apart.narrow(0, first, piece.size)
            rows = rows if self._is_whole else rows.narrow(2, piece.start, self._length)
            rows.add_(part)
        return total
