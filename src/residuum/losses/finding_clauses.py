"""Finding the rules whose groundings are clauses: `clause_penalties` evaluates them all at once.

Such a grounding has one row of a matrix, and each side of an entry that clauses read one column.
For many entries the matrix would be larger than what it saves. A table does without, and other
rules are evaluated step by step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from residuum.grounding import Layout, Plan
from residuum.grounding.plans import Connect, Quantify, Read
from residuum.logic import And, Forall, Implies, Not, Or
from residuum.losses.clauses import Clauses, Meaning
from residuum.losses.columns import TRUTHS, Columns, Kind, Piece
from residuum.losses.crosses import find_cross
from residuum.losses.softmaxes import MIRRORED, Side
from residuum.losses.tables import find_table
from residuum.relaxations import Relaxation
from residuum.relaxations.lukasiewicz import Lukasiewicz
from residuum.relaxations.minimum import Minimum
from residuum.relaxations.product import Product

MOST_ENTRIES: Final = 160
"""A grounding costs a multiplication for each column, which more of them are not worth."""

LARGEST_MATRIX: Final = 1 << 17
"""Numbers that a matrix has at most: it should stay in the cache beside what it multiplies."""

MOST_ROWS: Final = 1 << 20
"""Groundings beyond which they are not even listed."""


class Member(NamedTuple):
    """An atom that counts for or against a clause, on one of its sides."""

    read: int
    side: Side
    sign: int


def find_clauses(
    plan: Plan,
    layout: Layout,
    relaxation: Relaxation,
    masks: Mapping[int, Tensor],
    *,
    is_bundle: bool,
) -> Clauses | None:
    """Return the rule as clauses, if all its groundings are.

    Each operand of the outermost conjunction of a bundle is a rule of its own.
    """
    root = len(plan.steps) - 1
    last = plan.steps[root]
    meaning = _meaning(relaxation)
    if meaning is None or not plan.slots:
        return None
    rules = last.operands if is_bundle and isinstance(last, Connect) else (root,)
    search = _Search(plan, layout, relaxation, masks)
    counts = []
    for number in rules:
        before = search.count
        if not search.visit(number, (1,) * plan.rank, None):
            return None
        counts.append(search.count - before)
    return search.finish(tuple(counts), meaning)


def _meaning(relaxation: Relaxation) -> Meaning | None:
    tnorm = relaxation.tnorm
    if relaxation.kind == "S":
        return {Product: "product", Minimum: "minimum"}.get(type(tnorm))  # type: ignore[return-value]
    return "residuum" if isinstance(tnorm, Product | Lukasiewicz) else None


def literals_of(plan: Plan, number: int, relaxation: Relaxation) -> list[Member] | None:
    """Return the literals whose sides add up to the slack of a step, if it is a clause."""
    if relaxation.kind == "S":
        found = _breaking(plan, number, is_denied=True)
        if found is None or len(found) < 2:
            return None
        return [Member(read, TRUTHS[side], sign) for read, side, sign in found]
    step = plan.steps[number]
    if not isinstance(step, Connect) or step.kind is not Implies:
        return None
    antecedent, consequent = (_conjuncts(plan, operand) for operand in step.operands)
    if antecedent is None or consequent is None:
        return None
    if isinstance(relaxation.tnorm, Lukasiewicz):
        # Falsities: the consequent's less the antecedent's. Several could exceed the cap.
        if len(consequent) > 1:
            return None
        turned = [Member(read, _falsity(side), 1) for read, side, _ in consequent]
        return turned + [Member(read, _falsity(side), -1) for read, side, _ in antecedent]
    return antecedent + [Member(read, side, -1) for read, side, _ in consequent]


def _falsity(side: Side) -> Side:
    return "false" if side == "log_true" else "true"


def _literal(plan: Plan, number: int) -> Member | None:
    step = plan.steps[number]
    if isinstance(step, Read):
        return Member(number, "log_true", 1)
    if isinstance(step, Connect) and step.kind is Not:
        inner = _literal(plan, step.operands[0])
        return None if inner is None else _denied(inner)
    return None


def _denied(literal: Member) -> Member:
    return Member(literal.read, MIRRORED[literal.side], literal.sign)


def _conjuncts(plan: Plan, number: int) -> list[Member] | None:
    step = plan.steps[number]
    if isinstance(step, Connect) and step.kind is And:
        return _join([_conjuncts(plan, part) for part in step.operands])
    literal = _literal(plan, number)
    return None if literal is None else [literal]


def _breaking(plan: Plan, number: int, *, is_denied: bool) -> list[Member] | None:
    """Return the literals of a conjunction, or of a denied disjunction."""
    literal = _literal(plan, number)
    if literal is not None:
        return [_denied(literal) if is_denied else literal]
    step = plan.steps[number]
    if not isinstance(step, Connect):
        return None
    if step.kind is Not:
        return _breaking(plan, step.operands[0], is_denied=not is_denied)
    if step.kind is Implies and is_denied:
        left, right = step.operands
        return _join([_breaking(plan, left, is_denied=False),
                      _breaking(plan, right, is_denied=True)])  # fmt: skip
    if step.kind is (Or if is_denied else And):
        return _join([_breaking(plan, part, is_denied=is_denied) for part in step.operands])
    return None


def _join(parts: Sequence[list[Member] | None]) -> list[Member] | None:
    if any(part is None for part in parts):
        return None
    return [one for part in parts if part is not None for one in part]


class _Entries(NamedTuple):
    """The columns that one literal of a clause has in some rows, and its place in the clause."""

    order: int
    rows: Any
    columns: Any
    sign: int


class _Search:
    """Collects the rows of the clauses of a plan."""

    def __init__(
        self, plan: Plan, layout: Layout, relaxation: Relaxation, masks: Mapping[int, Tensor]
    ) -> None:
        self.count = 0
        self._plan = plan
        self._layout = layout
        self._relaxation = relaxation
        self._masks = masks
        self._entries: dict[Piece, list[_Entries]] = {}
        self._placed: dict[int, tuple[int, Any] | None] = {}
        self._most = 0
        self._outer = self._find_outer()
        self._kinds = [self._kind(number) for number in range(len(plan.slots))]
        self._positions: tuple[Any, ...] | None = None

    def _find_outer(self) -> int | None:
        """Return the dimension of the sequence along which clauses are evaluated."""
        found = {
            axis.dimension
            for step in self._plan.steps
            if isinstance(step, Quantify)
            for axis in step.axes
            if axis.domain.is_sequence
        }
        return next(iter(found)) if len(found) == 1 else None

    def visit(self, number: int, shape: tuple[int, ...], mask: Any) -> bool:
        """Add the rows of a step; return whether it is made of clauses."""
        step = self._plan.steps[number]
        if isinstance(step, Connect) and step.kind is And:
            return all(self.visit(part, shape, mask) for part in step.operands)
        if isinstance(step, Quantify) and step.kind is Forall:
            selection = self._layout.selections[number]
            grown = list(shape)
            for axis, length in zip(step.axes, selection.lengths, strict=True):
                assert axis.dimension is not None
                if grown[axis.dimension] != 1:  # another variable of that name is shadowed
                    return False
                grown[axis.dimension] = length
            own = self._masks.get(number)
            if own is not None:
                mask = own.numpy() if mask is None else mask & own.numpy()
            return self._agree(selection.positions) and self.visit(step.operand, tuple(grown), mask)
        literals = literals_of(self._plan, number, self._relaxation)
        return literals is not None and self._add(literals, shape, mask)

    def _agree(self, positions: tuple[Any, ...]) -> bool:
        """Return whether sequences end clauses alike: then padding is a matter of the position."""
        if not positions:
            return True
        flat = []
        for values in positions:
            if any(n != 1 for d, n in enumerate(values.shape) if d != self._outer):
                return False
            flat.append(values.reshape(-1))
        if self._positions is None:
            self._positions = tuple(flat)
        same = len(flat) == len(self._positions)
        return same and all(map(np.array_equal, flat, self._positions))

    def _add(self, literals: Sequence[Member], shape: tuple[int, ...], mask: Any) -> bool:
        outer = self._outer
        if outer is not None:
            if mask is not None and mask.shape[outer] != 1:
                return False
            shape = tuple(1 if d == outer else n for d, n in enumerate(shape))
        kept = None if mask is None else np.broadcast_to(mask, shape)
        size = math.prod(shape) if kept is None else int(kept.sum())
        if self.count + size > MOST_ROWS:
            return False
        rows = np.arange(self.count, self.count + size)
        self._most = max(self._most, len(literals))
        for order, (read, side, sign) in enumerate(literals):
            if read not in self._placed:
                self._placed[read] = self._places(read)
            placed = self._placed[read]
            if placed is None:
                return False
            start, places = placed
            step = self._plan.steps[read]
            assert isinstance(step, Read)
            spread = places if places.shape == shape else np.broadcast_to(places, shape)
            columns = spread.ravel() if kept is None else spread[kept]
            entries = self._entries.setdefault(Piece(step.slot, side, start), [])
            entries.append(_Entries(order, rows, columns, sign))
        self.count += size
        return True

    def _places(self, number: int) -> tuple[int, Any] | None:
        """Return the position at which an atom starts to read, and the entries it reads."""
        step = self._plan.steps[number]
        assert isinstance(step, Read)
        access, rank = self._layout.accesses[number], self._plan.rank
        kind = self._kinds[step.slot]
        if kind is None:
            return None
        along: list[Any] = [None] * len(access.entries)
        start = 0
        for place, entry in enumerate(access.entries):
            if entry is None:
                continue
            if place == kind.outer:
                if entry.axis != self._outer or entry.index is not None:
                    return None
                start = entry.start
                continue
            shape = [1] * rank
            if entry.axis is None:
                along[place] = np.full(shape, entry.start)
                continue
            if entry.axis == self._outer:
                return None
            shape[entry.axis] = -1
            listed = entry.start + np.arange(entry.length) if entry.index is None else entry.index
            along[place] = np.asarray(listed).reshape(shape)
        if access.joint:
            if kind.outer in access.joint or access.index is None:
                return None
            sizes = [len(self._plan.slots[step.slot].domains[d].labels or ()) for d in access.joint]
            # Flat: NumPy 2.4 misreads large indices that end in a dimension of 1.
            each = np.unravel_index(access.index.ravel(), sizes)
            for place, found in zip(access.joint, each, strict=True):
                along[place] = found.reshape(access.index.shape)
        own = [one for place, one in enumerate(along) if place != kind.outer]
        result: Any = np.zeros([1] * rank, dtype=np.int64)
        for places, size in zip(_turned(own, kind.is_exclusive), kind.sizes, strict=True):
            result = result * size + places
        return start, result

    def _kind(self, number: int) -> Kind | None:
        slot = self._plan.slots[number]
        open_ended = [d for d, domain in enumerate(slot.domains) if domain.labels is None]
        if len(open_ended) != (self._outer is not None):
            return None
        outer = open_ended[0] if open_ended else None
        if slot.is_exclusive and outer == len(slot.domains) - 1:
            return None
        sizes = [len(domain.labels) for domain in slot.domains if domain.labels is not None]
        return Kind(slot.is_exclusive, outer, tuple(_turned(sizes, slot.is_exclusive)))

    def finish(self, segments: tuple[int, ...], meaning: Meaning) -> Clauses | None:
        """Return the matrix, unless it would be too large."""
        known = [kind for kind in self._kinds if kind is not None]
        if not self.count or 0 in segments or len(known) < len(self._kinds):
            return None
        inside = () if self._outer is None else tuple(self._positions or ())
        length = len(inside[0]) if inside else 1
        used: dict[Kind, dict[Piece, list[Any]]] = {}
        for piece, entries in self._entries.items():
            used.setdefault(known[piece.slot], {})[piece] = [one.columns for one in entries]
        groups = tuple(_columns(kind, places, length) for kind, places in used.items())
        starts: dict[Piece, int] = {}
        total = 0
        for group in groups:
            for one in group.pieces:
                starts[Piece(group.slots[one.slot], one.side, one.start)] = total - one.first
                total += one.size
        width = 0 if meaning == "minimum" else total
        is_large = width > MOST_ENTRIES or self.count * max(1, width) > LARGEST_MATRIX
        may_be_table = len(segments) == 1 and not inside
        if not length or (is_large and not may_be_table):
            return None
        width = 0 if is_large else width
        matrix = np.zeros((self.count, width), dtype=np.float32)
        behind = 2 * total if meaning == "residuum" else total
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
            taken = total if meaning == "residuum" else 0
            side = self._side_of_arms()
            cross = None if side is None else find_cross(listed, groups, side, taken)
            if cross is None and is_large and meaning != "minimum":
                table = find_table(listed, taken)
        if is_large and table is None and cross is None:
            return None
        return Clauses(
            torch.from_numpy(matrix),
            torch.from_numpy(listed),
            meaning,
            segments,
            groups,
            tuple(torch.as_tensor(positions) for positions in inside),
            is_ragged=is_ragged,
            table=table,
            cross=cross,
        )

    def _side_of_arms(self) -> Side | None:
        """Return the side of antecedents on which only one class of a softmax is beyond ½."""
        if isinstance(self._relaxation.tnorm, Lukasiewicz):
            return "false"
        return "true" if isinstance(self._relaxation.tnorm, Minimum) else None


def _columns(kind: Kind, used: Mapping[Piece, Sequence[Any]], length: int) -> Columns:
    slots = sorted({piece.slot for piece in used})
    pieces = []
    for piece, places in used.items():
        first, last = (int(bound(np.concatenate(places))) for bound in (np.min, np.max))
        slot = slots.index(piece.slot)
        pieces.append(piece._replace(slot=slot, first=first, size=last + 1 - first))
    return Columns(kind, tuple(slots), tuple(sorted(pieces)), length)


def _turned(dimensions: Sequence[Any], is_exclusive: bool) -> Sequence[Any]:
    """Return what belongs to the dimensions of a slot with that of its classes first."""
    return [dimensions[-1], *dimensions[:-1]] if is_exclusive else dimensions
