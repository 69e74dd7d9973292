"""Sides of network outputs with the examples side by side: one row for each entry of a slot.

On a CPU numbers that lie side by side are computed several at a time, and softmaxes are over few
classes as a rule. Slots alike in shape are computed as one. Every derivative is written so that
nothing cancels where a softmax saturates: one less the likeliest class is the sum of the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, final

import torch
from torch import Tensor
from torch.nn import functional

from residuum.losses.softmaxes import MIRRORED, Side, Softmax
from residuum.losses.tensors import LARGEST, floor, impossible, in_full

TRUTHS: Final[Mapping[Side, Side]] = {"log_true": "true", "log_false": "false"}
"""The side whose logarithm a side is."""

_NOTHING: Final = -1e38
"""Stands for the logarithm of 0 in a sum."""


class Piece(NamedTuple):
    """Entries of a slot on one side, from a position of its sequence on: what clauses read."""

    slot: int
    side: Side
    start: int
    first: int = 0
    size: int = 0


class Kind(NamedTuple):
    """What a slot is: slots of one kind are computed as one.

    `outer` is the dimension of the sequence along which clauses are evaluated, as if its positions
    were examples; None if there is none. `sizes` are those of the other dimensions, the classes of
    a softmax first.
    """

    is_exclusive: bool
    outer: int | None
    sizes: tuple[int, ...]

    @property
    def order(self) -> list[int]:
        """The dimensions of a tensor, the batch being one: classes, examples, positions."""
        own = list(range(1, self.depth + 1))
        positions = [] if self.outer is None else [own.pop(self.outer)]
        turned = [own[-1], *own[:-1]] if self.is_exclusive else own
        return [*turned, 0, *positions]

    @property
    def depth(self) -> int:
        """The number of dimensions of a tensor behind the batch."""
        return len(self.sizes) + (self.outer is not None)


class Shape(NamedTuple):
    """The sizes of stacked logits: what softmaxes are over comes second."""

    slots: int
    classes: int
    others: int
    examples: int
    positions: int


@dataclass(frozen=True)
class Columns:
    """Pieces of slots of one kind.

    The slots of pieces are places in `slots`, and `length` is how many positions they are over.
    """

    kind: Kind
    slots: tuple[int, ...]
    pieces: tuple[Piece, ...]
    length: int

    @cached_property
    def truths(self) -> tuple[Piece, ...]:
        """The pieces whose logarithms the pieces are."""
        return tuple(piece._replace(side=TRUTHS[piece.side]) for piece in self.pieces)

    @cached_property
    def falsities(self) -> tuple[Piece, ...]:
        """One less the truths."""
        return tuple(piece._replace(side=MIRRORED[piece.side]) for piece in self.truths)

    @cached_property
    def _sides(self) -> frozenset[Side]:
        """The sides that pieces are of, and have slopes."""
        return frozenset(piece.side for piece in self.pieces)

    @cached_property
    def rows(self) -> int:
        """The number of entries that pieces have together."""
        return sum(piece.size for piece in self.pieces)

    @cached_property
    def _order(self) -> list[int]:
        """The dimensions of stacked slots with the examples side by side."""
        return [0, *(1 + place for place in self.kind.order)]

    @cached_property
    def _entries(self) -> tuple[int, int]:
        """The number of classes, and of softmaxes over them, in a slot."""
        sizes = self.kind.sizes
        return (sizes[0], math.prod(sizes[1:])) if self.kind.is_exclusive else (1, math.prod(sizes))

    @cached_property
    def _back(self) -> list[int]:
        """The dimensions of stacked slots as they were."""
        return [self._order.index(place) for place in range(len(self._order))]

    @cached_property
    def is_one_side(self) -> bool:
        """Whether the pieces, in order, are one side of all entries; so are truths then."""
        size = math.prod(self.kind.sizes)
        return (
            len(self.pieces) == len(self.slots)
            and all(piece.size == size for piece in self.pieces)
            and len({piece.side for piece in self.pieces}) == 1
        )

    def stack(self, inputs: Sequence[Tensor], batch: int) -> tuple[Tensor, Shape]:
        """Return slots × classes × all else: other entries, examples and positions."""
        given = [inputs[slot] for slot in self.slots]
        depth = len(self._order) - 2
        if given[0].dim() != depth + 1:
            own = given[0].shape[given[0].dim() - depth :]
            given = [one.reshape(batch, *own) for one in given]
        together = given[0].unsqueeze(0) if len(given) == 1 else torch.stack(given)
        outer = self.kind.outer
        positions = 1 if outer is None else given[0].shape[1 + outer]
        classes, others = self._entries
        shape = Shape(len(given), classes, others, batch, positions)
        return _wide(together.permute(self._order).reshape(len(given), classes, -1)), shape

    def unstack(self, stacked: Tensor, shape: Shape, given: Sequence[Tensor]) -> list[Tensor]:
        """Return what belongs to each tensor, as it is laid out."""
        side_by_side = (shape.examples,) if self.kind.outer is None else shape[-2:]
        apart = stacked.reshape(shape.slots, *self.kind.sizes, *side_by_side).permute(self._back)
        return [
            one
            if one.dim() == tensor.dim() and one.dtype == tensor.dtype
            else one.reshape(tensor.shape).to(tensor.dtype)
            for one, tensor in zip(apart.contiguous().unbind(0), given, strict=True)
        ]

    def outputs(self, logits: Tensor) -> _Softmaxes | _Sigmoids | None:
        """Return stacked logits as degrees; None if some are masked, no numbers, or too large."""
        smallest, largest = torch.aminmax(logits)
        low, high = smallest.item(), largest.item()
        if not (low >= -LARGEST and high <= LARGEST):
            return None
        if not self.kind.is_exclusive:
            return _Sigmoids(logits)
        takes_care = "log_false" in self._sides and (
            # Odds within the floor of logarithms need no second look.
            high - low > -1 - math.log(floor(logits)) or logits.shape[1] == 1
        )
        return _Softmaxes(logits, takes_care=takes_care)


class Sides(NamedTuple):
    """The sides of network outputs that groups are of, computed when asked for."""

    groups: Sequence[Columns]
    outputs: Sequence[_Softmaxes | _Sigmoids]
    shapes: Sequence[Shape]

    def rows(self) -> Tensor:
        """Return the rows of all pieces, over examples and positions."""
        return self._below([group.pieces for group in self.groups])

    def truths(self) -> Tensor:
        """Return the rows whose logarithms are those of all pieces."""
        return self._below([group.truths for group in self.groups])

    def falsities(self) -> Tensor:
        """Return one less the truths."""
        return self._below([group.falsities for group in self.groups])

    def _below(self, pieces: Sequence[Sequence[Piece]]) -> Tensor:
        parts = zip(self.outputs, self.groups, pieces, self.shapes, strict=True)
        found = [_rows(known.side, group, own, shape) for known, group, own, shape in parts]
        return found[0] if len(found) == 1 else torch.cat(found)


def sides_of(groups: Sequence[Columns], inputs: Sequence[Tensor], batch: int) -> Sides | None:
    """Return the sides that groups are of, to be called where nothing has slopes.

    None says that some logits are masked, no numbers, or too large: that takes more care.
    """
    known, shapes = [], []
    for group in groups:
        stacked, shape = group.stack(inputs, batch)
        outputs = group.outputs(stacked)
        if outputs is None:
            return None
        known.append(outputs)
        shapes.append(shape)
    return Sides(groups, known, shapes)


class Outcome(NamedTuple):
    """What rows come to: `value`, with slopes of the rows by `back`.

    `back(upstream, *kept)` gives those, and `again(rows)` is the value once more, by operations
    that can be differentiated twice.
    """

    value: Tensor
    kept: Sequence[Tensor]
    back: Callable[..., Tensor]
    again: Callable[[Tensor], Tensor]


def with_slopes(sides: Sides, inputs: Sequence[Tensor], outcome: Outcome) -> Tensor:
    """Return the value of an outcome as a function of the inputs."""
    value: Tensor = _WithSlopes.apply(sides, outcome, *inputs)  # type: ignore[no-untyped-call]
    return value


class _WithSlopes(torch.autograd.Function):
    """A value whose slopes go back to the rows and on to the inputs in one step."""

    @staticmethod
    def forward(ctx: Any, sides: Sides, outcome: Outcome, *inputs: Tensor) -> Tensor:
        saved = [outputs.saved for outputs in sides.outputs]
        ctx.groups, ctx.shapes = sides.groups, sides.shapes
        ctx.sizes = [len(inputs), len(outcome.kept), *map(len, saved)]
        ctx.back, ctx.again = outcome.back, outcome.again
        ctx.save_for_backward(*inputs, *outcome.kept, *itertools.chain(*saved))
        return outcome.value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        tensors = iter(ctx.saved_tensors)
        inputs, kept, *saved = [list(itertools.islice(tensors, size)) for size in ctx.sizes]
        with in_full(upstream.device):
            if torch.is_grad_enabled():  # a second derivative is wanted
                rows = _rows_to_differentiate(ctx.groups, inputs, ctx.shapes[0].examples)
                wanted = [given for given in inputs if given.requires_grad]
                value = ctx.again(rows).reshape(upstream.shape)
                found = iter(torch.autograd.grad(value, wanted, upstream, create_graph=True))
                each = [next(found) if given.requires_grad else None for given in inputs]
            else:
                slope = ctx.back(upstream, *kept)
                each = _slopes_of_inputs(ctx.groups, ctx.shapes, saved, inputs, slope)
        return None, None, *each


def _slopes_of_inputs(
    groups: Sequence[Columns],
    shapes: Sequence[Shape],
    saved: Sequence[Sequence[Any]],
    inputs: Sequence[Tensor],
    slope: Tensor,
) -> list[Tensor | None]:
    """Return the slopes of the inputs from those of all rows."""
    found: list[Tensor | None] = [None] * len(inputs)
    parts = [slope] if len(groups) == 1 else torch.split(slope, [group.rows for group in groups])
    for group, part, shape, known in zip(groups, parts, shapes, saved, strict=True):
        differentiate = _slope_of_softmax if group.kind.is_exclusive else _slope_of_sigmoid
        stacked = differentiate(_slopes(part, group, shape), *known)
        given = [inputs[slot] for slot in group.slots]
        for slot, one in zip(group.slots, group.unstack(stacked, shape, given), strict=True):
            found[slot] = one
    return found


def _rows_to_differentiate(
    groups: Sequence[Columns], inputs: Sequence[Tensor], batch: int
) -> Tensor:
    """Return the rows of all pieces by a route whose own slopes have slopes, if not as fast."""
    rows = []
    for group in groups:
        logits, shape = group.stack(inputs, batch)
        side = _side_of_softmax(logits) if group.kind.is_exclusive else _Sigmoids(logits).side
        rows.append(_rows(side, group, group.pieces, shape))
    return torch.cat(rows)


def _wide(logits: Tensor) -> Tensor:
    return logits if logits.dtype in (torch.float32, torch.float64) else logits.float()


def _side_of_softmax(logits: Tensor) -> Callable[[Side], Tensor]:
    softmax = Softmax(logits.movedim(1, -1))
    return lambda side: softmax.side(side).movedim(-1, 1)


def _rows(
    side_of: Callable[[Side], Tensor], group: Columns, pieces: Sequence[Piece], shape: Shape
) -> Tensor:
    """Return the pieces below one another, each entries × (examples × positions)."""
    length = group.length
    is_whole = length == shape.positions
    if is_whole and group.is_one_side:
        return side_of(pieces[0].side).reshape(-1, shape.examples * length)
    side_by_side = (shape.examples * length,) if is_whole else shape[-2:]
    known: dict[Side, Tensor] = {}
    found = []
    for slot, side, start, first, size in pieces:
        if side not in known:
            known[side] = side_of(side).reshape(-1, *side_by_side)
        rows = known[side].narrow(0, slot * shape.classes * shape.others + first, size)
        found.append(rows if is_whole else rows.narrow(2, start, length))
    return torch.cat(found) if is_whole else torch.cat(found).flatten(1)


def _slopes(slope: Tensor, group: Columns, shape: Shape) -> dict[Side, Tensor]:
    """Return the slopes of the sides that pieces are of, to be written to; `slope` is used up."""
    pieces, length = group.pieces, group.length
    is_whole = length == shape.positions
    if is_whole and group.is_one_side:
        return {pieces[0].side: slope.reshape(shape.slots, shape.classes, -1)}
    entries = shape.classes * shape.others
    side_by_side = (shape.examples * length,) if is_whole else shape[-2:]
    if not is_whole:
        slope = slope.reshape(-1, shape.examples, length)
    found: dict[Side, Tensor] = {}
    parts = torch.split(slope, [piece.size for piece in pieces])
    for part, (slot, side, start, first, size) in zip(parts, pieces, strict=True):
        if side not in found:
            found[side] = slope.new_zeros(shape.slots * entries, *side_by_side)
        rows = found[side].narrow(0, slot * entries + first, size)
        (rows if is_whole else rows.narrow(2, start, length)).add_(part)
    return {side: one.view(shape.slots, shape.classes, -1) for side, one in found.items()}


# Softmaxes over dimension 1


@final
class _Softmaxes:
    """Softmaxes whose likeliest class stands at `place`: one less it is the sum of the others."""

    def __init__(self, logits: Tensor, *, takes_care: bool) -> None:
        self._logits = logits
        self._truths = torch.softmax(logits, 1)
        self._likeliest, self._place = self._truths.max(1, keepdim=True)
        self._others = self._truths.scatter(1, self._place, 0.0)
        self._false_top = self._others.sum(1, keepdim=True)
        self._false: Tensor | None = None
        self._log_rest = self._shares = None
        if takes_care:
            gap = logits - logits.gather(1, self._place)
            self._log_rest, self._shares = _logarithm_of_rest(gap, self._place)

    @property
    def saved(self) -> tuple[Tensor | None, ...]:
        """What slopes are made of."""
        return self._place, self._others, self._likeliest, self._false_top, self._shares

    def side(self, side: Side) -> Tensor:
        """Return one side of every degree."""
        if side == "true":
            return self._truths
        if side == "false":
            if self._false is None:
                self._false = (1 - self._others).scatter_(1, self._place, self._false_top)
            return self._false
        if side == "log_true":
            return torch.log_softmax(self._logits, 1).scatter_(
                1, self._place, self._log_likeliest()
            )
        if self._log_rest is None:
            at_top = torch.log(self._false_top)
        else:
            at_top = self._log_rest + self._log_likeliest()
        return torch.log1p(-self._others).scatter_(1, self._place, at_top)

    def _log_likeliest(self) -> Tensor:
        return torch.log1p(self._false_top / self._likeliest).neg_()


def _logarithm_of_rest(gap: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
    """Return the logarithm of the others' odds, out of the range of floats, and their shares."""
    others = gap.scatter(1, place, _NOTHING)
    logarithm = torch.logsumexp(others, 1, keepdim=True)
    logarithm = torch.where(logarithm < _NOTHING / 2, impossible(gap.dtype), logarithm)
    return logarithm, torch.exp((others - logarithm).clamp_(max=0.0))


def _slope_of_softmax(
    slopes: Mapping[Side, Tensor],
    place: Tensor,
    others: Tensor,
    likeliest: Tensor,
    false_top: Tensor,
    shares: Tensor | None,
) -> Tensor:
    if "true" in slopes or "false" in slopes:  # clauses never mix them with logarithms
        own = _difference(slopes.get("true"), slopes.get("false"))
        at_top = own.gather(1, place)
        rising = (others * own).sum(1, keepdim=True)
        top = (at_top * false_top).sub_(rising).mul_(likeliest)
        return own.sub_(rising.addcmul_(at_top, likeliest)).mul_(others).scatter_(1, place, top)
    denied = slopes.get("log_false")
    scaled = None if denied is None else denied * others / (1 - others)
    own = _difference(slopes.get("log_true"), scaled)
    at_top = own.gather(1, place)  # of log_true alone, for `others` is 0 there
    own.scatter_(1, place, 0.0)
    total = own.sum(1, keepdim=True)
    top = (at_top * false_top).addcmul_(likeliest, total, value=-1)
    result = own.addcmul_(others, total.add_(at_top), value=-1)
    if denied is not None:
        denied_top = denied.gather(1, place).mul_(likeliest)
        result.addcmul_(others / false_top if shares is None else shares, denied_top)
        top -= denied_top
    return result.scatter_(1, place, top)


# Sigmoids


@final
class _Sigmoids:
    """One sigmoid for each logit."""

    def __init__(self, logits: Tensor) -> None:
        self.saved = (logits,)

    def side(self, side: Side) -> Tensor:
        """Return one side of every degree."""
        [z] = self.saved
        z = z if side in ("true", "log_true") else -z
        return torch.sigmoid(z) if side in ("true", "false") else functional.logsigmoid(z)


def _slope_of_sigmoid(slopes: Mapping[Side, Tensor], z: Tensor) -> Tensor:
    true, false = torch.sigmoid(z), torch.sigmoid(-z)
    if "true" in slopes or "false" in slopes:
        return _difference(slopes.get("true"), slopes.get("false")).mul_(true).mul_(false)
    rises, falls = slopes.get("log_true"), slopes.get("log_false")
    return _difference(
        None if rises is None else rises.mul_(false), None if falls is None else falls.mul_(true)
    )


def _difference(x: Tensor | None, y: Tensor | None) -> Tensor:
    """Return x − y; what is given is used up."""
    if x is None:
        assert y is not None
        return y.neg_()
    return x if y is None else x.sub_(y)
