"""Rules whose groundings are clauses, as matrices and places of what they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal

import torch
from torch import Tensor
from torch.nn import functional

from residuum.losses.columns import Columns, Stack
from residuum.losses.crosses import Cross
from residuum.losses.tables import Table
from residuum.losses.tensors import to_keep

MOST_BATCHES: Final = 16
"""Sizes of batches whose stacks are kept."""

Meaning = Literal["residuum", "product", "minimum"]
"""What a grounding costs: an excess, a product or a minimum of sides."""


@dataclass(frozen=True)
class Clauses:
    """The matrix of a rule, or of several, and the rows of sides that it multiplies.

    Under the minimum there is nothing to multiply, and the matrix has no columns; nor has it where
    it would be too large, and a table takes its place, or a cross of one. `places` lists
    the columns of each row, literals × rows, where the columns of a residuum that are taken away
    count on from the last; where some rows are shorter, it is `is_ragged` and they are filled up
    with the number behind. `segments` are the numbers of rows of each rule, and `inside` are
    positions that must lie inside each sequence. `signs` are those of the columns, truths or
    falsities, and `transposed` takes slopes of rows back to what truths do to them.
    """

    matrix: Tensor
    places: Tensor
    meaning: Meaning
    segments: tuple[int, ...]
    groups: tuple[Columns, ...]
    inside: tuple[Tensor, ...]
    is_ragged: bool
    table: Table | None
    cross: Cross | None
    signs: Tensor = field(init=False, compare=False)
    transposed: Tensor = field(init=False, compare=False)
    _stacks: dict[int, tuple[Stack, ...]] = field(default_factory=dict, init=False, compare=False)

    def __post_init__(self) -> None:
        listed = [sign for group in self.groups for sign in group.signs]
        signs = self.matrix.new_tensor(listed).reshape(-1, 1)
        object.__setattr__(self, "signs", signs)
        back = self.matrix.t() * signs if self.width else self.matrix.t()
        object.__setattr__(self, "transposed", back)

    @cached_property
    def are_rows_rules(self) -> bool:
        """Whether each row is a rule of its own."""
        return len(self.segments) == self.count

    @cached_property
    def count(self) -> int:
        """The number of rows."""
        return self.matrix.shape[0]

    @cached_property
    def is_frugal(self) -> bool:
        """Whether it needs little memory for any number of examples, or takes care of it."""
        is_on_gpu = self.matrix.is_cuda
        return self.cross is not None or (self.table is not None and not is_on_gpu)

    @cached_property
    def width(self) -> int:
        """The number of columns."""
        return self.matrix.shape[1]

    @cached_property
    def as_one(self) -> Clauses:
        """The same clauses as those of a single rule, the conjunction of all."""
        return replace(self, segments=(self.count,))

    @cached_property
    def literals(self) -> tuple[Tensor, ...]:
        """The places of the first literal of each row, of the second, and so on."""
        return self.places.unbind(0)

    @cached_property
    def first_readings(self) -> Tensor | None:
        """Which columns read an entry on a side for the first time, columns × 1 × positions.

        None if all do; `Tag(i + 1)` does not where `Tag(i)` is read as well.
        """
        with to_keep():
            found = torch.cat([group.first_readings for group in self.groups])
            if bool(found.all()):
                return None
            found = functional.pad(found, (0, 0, 0, int(self.is_ragged)))
            return found.unsqueeze(1).to(self.matrix.device)

    def stacks(self, examples: int, inputs: Sequence[Tensor]) -> tuple[Stack, ...]:
        """Return the slots by kinds, for so many examples; sequences are as long as ever."""
        found = self._stacks.get(examples)
        if found is None:
            device = self.matrix.device
            with to_keep():
                found = tuple(
                    Stack(group, examples, _positions(group, inputs), device)
                    for group in self.groups
                )
            if len(self._stacks) >= MOST_BATCHES:
                self._stacks.clear()
            self._stacks[examples] = found
        return found

    def to(self, device: torch.device) -> Clauses:
        """Return the same on a device."""
        inside = tuple(positions.to(device) for positions in self.inside)
        matrix, places = self.matrix.to(device), self.places.to(device)
        table, cross = self.table, self.cross
        if device.type == "cuda" and cross is not None:  # a GPU has the whole in fewer steps
            table = None if self.width or self.meaning == "minimum" else cross.table
            cross = None
        table = None if table is None else table.to(device)
        cross = None if cross is None else Cross(cross.table.to(device))
        return replace(self, matrix=matrix, places=places, inside=inside, table=table, cross=cross)


def _positions(columns: Columns, inputs: Sequence[Tensor]) -> int:
    """Return the length of the sequences that slots have; 1 if they have none."""
    outer = columns.kind.outer
    return 1 if outer is None else inputs[columns.slots[0]].shape[outer - columns.kind.depth]
