"""Groundings listed as clauses: a matrix of which outputs each clause reads.

The matrix has one row for each grounding, and one column for each side of an entry that clauses
read. With many entries the matrix would cost more than it saves; then a table takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from residuum.grounding import Layout, Plan
from residuum.grounding.plans import Connect, Quantify, Read
from residuum.logic import And, Forall
from residuum.losses import routes
from residuum.losses.degrees.logits import Side
from residuum.losses.degrees.stacking import Columns, Kind, Piece, Stack
from residuum.losses.degrees.tensors import outside_inference_mode
from residuum.losses.routes import thresholds
from residuum.losses.routes.recognising import Cost, Law, Member, literals_of

if TYPE_CHECKING:
    from residuum.losses.routes.crosses import Cross
    from residuum.losses.routes.table_shapes import Table


@dataclass(frozen=True)
class Clauses:
    """The clauses of one rule or of several: one row per clause, one column per side of an entry.

    - `matrix` is rows × columns. It has no columns under the minimum, which multiplies nothing, nor
      where it would be too large; then there is a `table` or a `cross`.
    - `places` is literals × rows: the column of each literal. Columns that a residuum subtracts are
      numbered after all others. With `is_ragged`, some clauses are shorter; they are filled up with
      the number after the last.
    - `segments` are the numbers of rows of the rules.
    - `groups` are the columns by kind of slot.
    - `inside` are positions that must lie inside each sequence.
    - `signs` has 1 for the column of a truth and −1 for that of a falsity.
    - `transposed` takes the gradients of rows to gradients with respect to truths.
    """

    matrix: Tensor
    places: Tensor
    cost: Cost
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
        """Whether every rule has exactly one row."""
        return len(self.segments) == self.count

    @cached_property
    def count(self) -> int:
        """The number of rows."""
        return self.matrix.shape[0]

    @cached_property
    def is_frugal(self) -> bool:
        """Whether a batch of any size needs little memory."""
        is_on_gpu = self.matrix.is_cuda
        return self.cross is not None or (self.table is not None and not is_on_gpu)

    @cached_property
    def width(self) -> int:
        """The number of columns."""
        return self.matrix.shape[1]

    @cached_property
    def as_one_rule(self) -> Clauses:
        """The same clauses as one rule, the conjunction of all rules."""
        return replace(self, segments=(self.count,))

    @cached_property
    def literals(self) -> tuple[Tensor, ...]:
        """The places of the first literal of each row, of the second, and so on."""
        return self.places.unbind(0)

    @cached_property
    def first_readings(self) -> Tensor | None:
        """A mask of columns × 1 × positions: True where a side is read for the first time.

        None if no side is read twice. `Tag(i)` and `Tag(i + 1)` read the same entries twice.
        """
        with outside_inference_mode():
            found = torch.cat([group.first_readings for group in self.groups])
            if bool(found.all()):
                return None
            found = functional.pad(found, (0, 0, 0, int(self.is_ragged)))
            return found.unsqueeze(1).to(self.matrix.device)

    def stacks(self, examples: int, inputs: Sequence[Tensor]) -> tuple[Stack, ...]:
        """Return the stacks of slots. The batch size varies; sequence lengths do not."""
        found = self._stacks.get(examples)
        if found is None:
            device = self.matrix.device
            with outside_inference_mode():
                found = tuple(
                    Stack(group, examples, _positions(group, inputs), device)
                    for group in self.groups
                )
            if len(self._stacks) >= thresholds.MOST_BATCHES:
                self._stacks.clear()
            self._stacks[examples] = found
        return found

    def to(self, device: torch.device) -> Clauses:
        """Return the same clauses with their tensors on a device."""
        inside = tuple(positions.to(device) for positions in self.inside)
        matrix, places = self.matrix.to(device), self.places.to(device)
        table, cross = self.table, self.cross
        if device.type == "cuda" and cross is not None:  # on a GPU the whole table is faster
            table = None if self.width or self.cost == "least" else cross.table
            cross = None
        table = None if table is None else table.to(device)
        cross = None if cross is None else cross.to(device)
        return replace(self, matrix=matrix, places=places, inside=inside, table=table, cross=cross)


def _positions(columns: Columns, inputs: Sequence[Tensor]) -> int:
    """Return the length of the sequences; 1 for slots without a sequence."""
    outer = columns.kind.outer
    return 1 if outer is None else inputs[columns.slots[0]].shape[outer - columns.kind.depth]


class _NotListedError(Exception):
    """The groundings cannot be listed as clauses; the message says why."""


def _refuse(why: str) -> NoReturn:
    raise _NotListedError(why)


def find_clauses(
    plan: Plan,
    layout: Layout,
    law: Law,
    masks: Mapping[int, Tensor],
    *,
    is_bundle: bool,
) -> Clauses | str:
    """Return the groundings of a rule as clauses, or the reason why they are none.

    In a bundle, each operand of the outermost conjunction is a rule of its own.
    """
    root = len(plan.steps) - 1
    last = plan.steps[root]
    rules = last.operands if is_bundle and isinstance(last, Connect) else (root,)
    counts = []
    try:
        search = _Search(plan, layout, law, masks)
        for number in rules:
            before = search.count
            search.visit(number, (1,) * plan.rank, None)
            counts.append(search.count - before)
        return search.finish(tuple(counts))
    except _NotListedError as why:
        return str(why)


class _Entries(NamedTuple):
    """The columns that one literal reads in some rows, and its place `order` in the clause."""

    order: int
    rows: Any
    columns: Any
    sign: int


class _Search:
    """Collects the clauses of a plan, row by row."""

    def __init__(self, plan: Plan, layout: Layout, law: Law, masks: Mapping[int, Tensor]) -> None:
        self.count = 0
        self._plan = plan
        self._layout = layout
        self._law = law
        self._masks = masks
        self._entries: dict[Piece, list[_Entries]] = {}
        self._placed: dict[int, tuple[int, Any]] = {}
        self._most = 0
        self._outer = self._find_outer()
        self._kinds = [self._kind(number) for number in range(len(plan.slots))]
        self._positions: tuple[Any, ...] | None = None

    def _find_outer(self) -> int | None:
        """Return the dimension of the only sequence that groundings range over; None otherwise."""
        found = {
            axis.dimension
            for step in self._plan.steps
            if isinstance(step, Quantify)
            for axis in step.axes
            if axis.domain.is_sequence
        }
        return next(iter(found)) if len(found) == 1 else None

    def visit(self, number: int, shape: tuple[int, ...], mask: Any) -> None:
        """Add the clauses of a step, for groundings of a shape and a mask."""
        step = self._plan.steps[number]
        if isinstance(step, Connect) and step.kind is And:
            for part in step.operands:
                self.visit(part, shape, mask)
            return
        if isinstance(step, Quantify) and step.kind is Forall:
            selection = self._layout.selections[number]
            grown = list(shape)
            for axis, length in zip(step.axes, selection.lengths, strict=True):
                assert axis.dimension is not None
                if grown[axis.dimension] != 1:
                    _refuse(f"the variable `{axis.variable}` shadows another one")
                grown[axis.dimension] = length
            own = self._masks.get(number)
            if own is not None:
                mask = own.numpy() if mask is None else mask & own.numpy()
            self._note_ends(selection.positions)
            self.visit(step.operand, tuple(grown), mask)
            return
        literals = literals_of(self._plan, number, self._law)
        if literals is None:
            _refuse("a grounding is no clause of two or more literals under this relaxation")
        self._add(literals, shape, mask)

    def _note_ends(self, positions: tuple[Any, ...]) -> None:
        """Refuse parts that need different masks: all clauses share one mask of positions."""
        if not positions:
            return
        flat = []
        for values in positions:
            if any(n != 1 for d, n in enumerate(values.shape) if d != self._outer):
                _refuse("positions depend on more than one variable")
            flat.append(values.reshape(-1))
        if self._positions is None:
            self._positions = tuple(flat)
        same = len(flat) == len(self._positions)
        if not same or not all(map(np.array_equal, flat, self._positions)):
            _refuse("parts of the rule read different offsets of the sequence")

    def _add(self, literals: Sequence[Member], shape: tuple[int, ...], mask: Any) -> None:
        outer = self._outer
        if outer is not None:
            if mask is not None and mask.shape[outer] != 1:
                _refuse("a guard depends on the position")
            shape = tuple(1 if d == outer else n for d, n in enumerate(shape))
        kept = None if mask is None else np.broadcast_to(mask, shape)
        size = math.prod(shape) if kept is None else int(kept.sum())
        if not size:  # a guard excludes all groundings of this part
            return
        if self.count + size > thresholds.MOST_ROWS:
            _refuse(f"there are more than {thresholds.MOST_ROWS:,} groundings")
        rows = np.arange(self.count, self.count + size)
        self._most = max(self._most, len(literals))
        for order, (read, side, sign) in enumerate(literals):
            if read not in self._placed:
                self._placed[read] = self._places(read)
            start, places = self._placed[read]
            step = self._plan.steps[read]
            assert isinstance(step, Read)
            spread = places if places.shape == shape else np.broadcast_to(places, shape)
            columns = spread.ravel() if kept is None else spread[kept]
            entries = self._entries.setdefault(Piece(step.slot, side, start), [])
            entries.append(_Entries(order, rows, columns, sign))
        self.count += size

    def _places(self, number: int) -> tuple[int, Any]:
        """Return the position from which on an atom reads, and the entries that it reads."""
        step = self._plan.steps[number]
        assert isinstance(step, Read)
        access, rank = self._layout.accesses[number], self._plan.rank
        kind = self._kinds[step.slot]
        along: list[Any] = [None] * len(access.entries)
        start = 0
        for place, entry in enumerate(access.entries):
            if entry is None:
                continue
            if place == kind.outer:
                if entry.axis != self._outer or entry.index is not None:
                    _refuse("an atom does not read the positions of a sequence in order")
                start = entry.start
                continue
            shape = [1] * rank
            if entry.axis is None:
                along[place] = np.full(shape, entry.start)
                continue
            if entry.axis == self._outer:
                _refuse("an atom reads a position as a label")
            shape[entry.axis] = -1
            listed = entry.start + np.arange(entry.length) if entry.index is None else entry.index
            along[place] = np.asarray(listed).reshape(shape)
        if access.joint:
            if kind.outer in access.joint or access.index is None:
                _refuse("an atom reads positions that depend on other variables")
            sizes = [len(self._plan.slots[step.slot].domains[d].labels or ()) for d in access.joint]
            # Flattened: NumPy 2.4 misreads large indices whose last dimension is 1.
            each = np.unravel_index(access.index.ravel(), sizes)
            for place, found in zip(access.joint, each, strict=True):
                along[place] = found.reshape(access.index.shape)
        own = [one for place, one in enumerate(along) if place != kind.outer]
        result: Any = np.zeros([1] * rank, dtype=np.int64)
        for places, size in zip(_classes_first(own, kind.is_exclusive), kind.sizes, strict=True):
            result = result * size + places
        return start, result

    def _kind(self, number: int) -> Kind:
        slot = self._plan.slots[number]
        open_ended = [d for d, domain in enumerate(slot.domains) if domain.labels is None]
        if len(open_ended) != (self._outer is not None):
            _refuse(f"`{slot.name}` does not range over the same sequence as the groundings")
        outer = open_ended[0] if open_ended else None
        if slot.is_exclusive and outer == len(slot.domains) - 1:
            _refuse(f"`{slot.name}` is a softmax over positions")
        sizes = [len(domain.labels) for domain in slot.domains if domain.labels is not None]
        return Kind(slot.is_exclusive, outer, tuple(_classes_first(sizes, slot.is_exclusive)))

    def finish(self, segments: tuple[int, ...]) -> Clauses:
        """Return all clauses with their matrix, or with a table if that would be too large."""
        cost = self._law.cost
        if not self.count or 0 in segments:
            _refuse("a rule has no groundings")
        inside = () if self._outer is None else tuple(self._positions or ())
        length = len(inside[0]) if inside else 1
        used: dict[Kind, dict[Piece, list[Any]]] = {}
        for piece, entries in self._entries.items():
            used.setdefault(self._kinds[piece.slot], {})[piece] = [one.columns for one in entries]
        groups = tuple(_columns(kind, places, length) for kind, places in used.items())
        starts: dict[Piece, int] = {}
        total = 0
        for group in groups:
            for one in group.pieces:
                starts[Piece(group.slots[one.slot], one.side, one.start)] = total - one.first
                total += one.size
        width = 0 if cost == "least" else total
        is_large = (
            width > thresholds.MOST_ENTRIES
            or self.count * max(1, width) > thresholds.LARGEST_MATRIX
        )
        may_be_table = len(segments) == 1 and not inside
        if not length:
            _refuse("the sequence is too short for any grounding")
        if is_large and not may_be_table:
            _refuse(_too_large(self.count, width))
        width = 0 if is_large else width
        matrix = np.zeros((self.count, width), dtype=np.float32)
        behind = 2 * total if cost == "excess" else total
        listed = np.full((self._most, self.count), behind)
        for piece, entries in self._entries.items():
            rows = np.concatenate([one.rows for one in entries])
            columns = starts[piece] + np.concatenate([one.columns for one in entries])
            sizes = [len(one.rows) for one in entries]
            signs = np.repeat([one.sign for one in entries], sizes)
            orders = np.repeat([one.order for one in entries], sizes)
            listed[orders, rows] = columns + total * (signs < 0)
            if width:
                np.add.at(matrix, (rows, columns), signs)
        is_ragged = bool((listed == behind).any())
        table = cross = None
        if may_be_table and not is_ragged:
            taken = total if cost == "excess" else 0
            side = self._side_of_arms()
            if side is not None:
                cross = routes.crosses.find_cross(listed, groups, side, taken)
            if cross is None and is_large and cost != "least":
                table = routes.table_shapes.find_table(listed, taken)
        if is_large and table is None and cross is None:
            _refuse(f"{_too_large(self.count, total)}, and the groundings are no table")
        return Clauses(
            torch.from_numpy(matrix),
            torch.from_numpy(listed),
            cost,
            segments,
            groups,
            tuple(torch.as_tensor(positions) for positions in inside),
            is_ragged=is_ragged,
            table=table,
            cross=cross,
        )

    def _side_of_arms(self) -> Side | None:
        """Return the side for a cross, on which at most one class of a softmax is above ½."""
        if self._law.cost == "least":
            return "true"
        return "false" if self._law.side == "false" else None


def _too_large(rows: int, columns: int) -> str:
    return f"a matrix of {rows:,} groundings by {columns:,} outputs would be too large"


def _columns(kind: Kind, used: Mapping[Piece, Sequence[Any]], length: int) -> Columns:
    slots = sorted({piece.slot for piece in used})
    pieces = []
    for piece, places in used.items():
        first, last = (int(bound(np.concatenate(places))) for bound in (np.min, np.max))
        slot = slots.index(piece.slot)
        pieces.append(piece._replace(slot=slot, first=first, size=last + 1 - first))
    return Columns(kind, tuple(slots), tuple(sorted(pieces)), length)


def _classes_first(dimensions: Sequence[Any], is_exclusive: bool) -> Sequence[Any]:
    """Return a list over the dimensions of a slot, with the dimension of the classes first."""
    return [dimensions[-1], *dimensions[:-1]] if is_exclusive else dimensions
