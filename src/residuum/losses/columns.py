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
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from residuum.losses.softmaxes import Side, Softmax
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
    """Pieces of slots of one kind; those of `truths` have no slopes.

    The slots of pieces are places in `slots`, and `length` is how many positions they are over.
    """

    kind: Kind
    slots: tuple[int, ...]
    pieces: tuple[Piece, ...]
    truths: tuple[Piece, ...]
    length: int

    @cached_property
    def wanted(self) -> frozenset[Side]:
        """The sides that pieces are of."""
        return frozenset(piece.side for piece in self.pieces + self.truths)

    @cached_property
    def _order(self) -> list[int]:
        return self.kind.order

    @cached_property
    def _entries(self) -> tuple[int, int]:
        """The number of classes, and of softmaxes over them, in a slot."""
        sizes = self.kind.sizes
        return (sizes[0], math.prod(sizes[1:])) if self.kind.is_exclusive else (1, math.prod(sizes))

    @cached_property
    def _back(self) -> list[int]:
        """The dimensions of stacked slots as they were."""
        return [0, *(1 + self._order.index(place) for place in range(len(self._order)))]

    @cached_property
    def is_one_side(self) -> bool:
        """Whether the pieces, in order, are one side of all entries; so are truths then."""
        size = math.prod(self.kind.sizes)
        return (
            len(self.pieces) == len(self.slots)
            and all(piece.size == size for piece in self.pieces)
            and len({piece.side for piece in self.pieces}) == 1
        )

    def stack(self, given: Sequence[Tensor], batch: int) -> tuple[Tensor, Shape]:
        """Return slots × classes × all else: other entries, examples and positions."""
        own = given[0].shape[given[0].dim() - len(self._order) + 1 :]
        if given[0].dim() != len(self._order):
            given = [one.reshape(batch, *own) for one in given]
        stacked = torch.stack([one.permute(self._order) for one in given])
        outer = self.kind.outer
        classes, others = self._entries
        shape = Shape(len(given), classes, others, batch, 1 if outer is None else own[outer])
        return _wide(stacked.reshape(len(given), classes, -1)), shape

    def unstack(self, stacked: Tensor, shape: Shape, given: Sequence[Tensor]) -> list[Tensor]:
        """Return what belongs to each tensor, as it is laid out."""
        side_by_side = (shape.examples,) if self.kind.outer is None else shape[-2:]
        apart = stacked.reshape(shape.slots, *self.kind.sizes, *side_by_side).permute(self._back)
        return [
            (one if one.dim() == tensor.dim() else one.reshape(tensor.shape)).to(tensor.dtype)
            for one, tensor in zip(apart.unbind(0), given, strict=True)
        ]


class Sides(NamedTuple):
    """The rows of all pieces, over examples and positions, and those of truths.

    For each group, `shapes` has that of its stacked logits, and `saved` what slopes are made of.
    """

    rows: Tensor
    truths: Tensor | None
    shapes: tuple[Shape, ...]
    saved: tuple[tuple[Tensor | None, ...], ...]


def sides_of(groups: Sequence[Columns], inputs: Sequence[Tensor], batch: int) -> Sides | None:
    """Return the sides that groups are of, to be called where nothing has slopes.

    None says that some logits are masked, no numbers, or too large: that takes more care.
    """
    rows, truths, shapes, kept = [], [], [], []
    for group in groups:
        stacked, shape = group.stack([inputs[slot] for slot in group.slots], batch)
        low, high = (float(bound) for bound in torch.aminmax(stacked))
        if not (low >= -LARGEST and high <= LARGEST):
            return None
        compute = _sides_of_softmax if group.kind.is_exclusive else _sides_of_sigmoid
        # Odds within the floor of logarithms need no second look.
        is_far = high - low > -1 - math.log(floor(stacked)) or shape.classes == 1
        sides, saved = compute(stacked, group.wanted, is_far)
        rows.append(_rows(sides, group, group.pieces, shape))
        if group.truths:
            truths.append(_rows(sides, group, group.truths, shape))
        shapes.append(shape)
        kept.append(saved)
    known = _below(truths) if truths else None
    return Sides(_below(rows), known, tuple(shapes), tuple(kept))


def _below(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)


class Outcome(NamedTuple):
    """What rows come to: `value`, with slopes of the rows by `back`.

    `back(upstream, *kept)` gives those, and `again(rows)` is the value once more, by operations
    that can be differentiated twice.
    """

    value: Tensor
    kept: Sequence[Tensor]
    back: Callable[..., Tensor]
    again: Callable[[Tensor], Tensor]


def with_slopes(
    groups: Sequence[Columns], sides: Sides, inputs: Sequence[Tensor], outcome: Outcome
) -> Tensor:
    """Return the value of an outcome as a function of the inputs."""
    value: Tensor = _WithSlopes.apply(groups, sides, outcome, *inputs)  # type: ignore[no-untyped-call]
    return value


class _WithSlopes(torch.autograd.Function):
    """A value whose slopes go back to the rows and on to the inputs in one step."""

    @staticmethod
    def forward(
        ctx: Any, groups: Sequence[Columns], sides: Sides, outcome: Outcome, *inputs: Tensor
    ) -> Tensor:
        ctx.groups, ctx.shapes, ctx.count = groups, sides.shapes, len(inputs)
        ctx.sizes = [len(outcome.kept), *map(len, sides.saved)]
        ctx.back, ctx.again = outcome.back, outcome.again
        ctx.save_for_backward(*inputs, *outcome.kept, *itertools.chain(*sides.saved))
        return outcome.value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        tensors = iter(ctx.saved_tensors)
        inputs = list(itertools.islice(tensors, ctx.count))
        kept, *saved = (tuple(itertools.islice(tensors, size)) for size in ctx.sizes)
        with in_full(upstream.device):
            if torch.is_grad_enabled():  # a second derivative is wanted
                rows = _rows_to_differentiate(ctx.groups, inputs, ctx.shapes[0].examples)
                wanted = [given for given in inputs if given.requires_grad]
                value = ctx.again(rows)
                found = iter(torch.autograd.grad(value, wanted, upstream, create_graph=True))
                each = [next(found) if given.requires_grad else None for given in inputs]
            else:
                slope = ctx.back(upstream, *kept)
                each = _slopes_of_inputs(ctx.groups, ctx.shapes, saved, inputs, slope)
        return None, None, None, *each


def _slopes_of_inputs(
    groups: Sequence[Columns],
    shapes: Sequence[Shape],
    saved: Sequence[Sequence[Any]],
    inputs: Sequence[Tensor],
    slope: Tensor,
) -> list[Tensor | None]:
    """Return the slopes of the inputs from those of all rows."""
    found: list[Tensor | None] = [None] * len(inputs)
    sizes = [sum(piece.size for piece in group.pieces) for group in groups]
    parts = [slope] if len(groups) == 1 else torch.split(slope, sizes)
    for group, part, shape, known in zip(groups, parts, shapes, saved, strict=True):
        by_side = _slopes(part, group, shape)
        differentiate = _slope_of_softmax if group.kind.is_exclusive else _slope_of_sigmoid
        given = [inputs[slot] for slot in group.slots]
        stacked = differentiate(by_side, *known)
        for slot, one in zip(group.slots, group.unstack(stacked, shape, given), strict=True):
            found[slot] = one
    return found


def _rows_to_differentiate(
    groups: Sequence[Columns], inputs: Sequence[Tensor], batch: int
) -> Tensor:
    """Return the rows of all pieces by a route whose own slopes have slopes, if not as fast."""
    rows = []
    for group in groups:
        logits, shape = group.stack([inputs[slot] for slot in group.slots], batch)
        side = _side_of_softmax(logits) if group.kind.is_exclusive else _side_of_sigmoids(logits)
        sides = {one: side(one) for one in {piece.side for piece in group.pieces}}
        rows.append(_rows(sides, group, group.pieces, shape))
    return torch.cat(rows)


def _wide(logits: Tensor) -> Tensor:
    return logits if logits.dtype in (torch.float32, torch.float64) else logits.float()


def _side_of_softmax(logits: Tensor) -> Callable[[Side], Tensor]:
    softmax = Softmax(logits.movedim(1, -1))
    return lambda side: softmax.side(side).movedim(-1, 1)


def _side_of_sigmoids(logits: Tensor) -> Callable[[Side], Tensor]:
    return lambda side: _side_of_sigmoid(logits, side)


def _rows(
    sides: Mapping[Side, Tensor], group: Columns, pieces: Sequence[Piece], shape: Shape
) -> Tensor:
    """Return the pieces below one another, each entries × (examples × positions)."""
    length = group.length
    if group.is_one_side and length == shape.positions:
        return sides[pieces[0].side].reshape(-1, shape.examples * length)
    known = {side: one.reshape(shape.slots, -1, *shape[-2:]) for side, one in sides.items()}
    found = [
        known[side][slot, first : first + size, :, start : start + length]
        for slot, side, start, first, size in pieces
    ]
    return torch.cat(found).flatten(1)


def _slopes(slope: Tensor, group: Columns, shape: Shape) -> dict[Side, Tensor]:
    """Return the slopes of the sides that pieces are of: the opposite of `_rows`."""
    pieces, length = group.pieces, group.length
    if group.is_one_side and length == shape.positions:
        return {pieces[0].side: slope.reshape(shape.slots, shape.classes, -1)}
    found: dict[Side, Tensor] = {}
    sizes = [piece.size for piece in pieces]
    parts = torch.split(slope.reshape(-1, shape.examples, length), sizes)
    entries = shape.classes * shape.others
    for part, (slot, side, start, first, size) in zip(parts, pieces, strict=True):
        if side not in found:
            found[side] = slope.new_zeros(shape.slots, entries, *shape[-2:])
        found[side][slot, first : first + size, :, start : start + length] += part
    return {side: one.view(shape.slots, shape.classes, -1) for side, one in found.items()}


# Softmaxes over dimension 1


def _sides_of_softmax(
    z: Tensor, wanted: frozenset[Side], is_far: bool
) -> tuple[dict[Side, Tensor], tuple[Tensor | None, ...]]:
    top, place = z.max(1, keepdim=True)
    gap = z - top
    odds = torch.exp(gap).scatter_(1, place, 0.0)  # of the others against the likeliest
    rest = odds.sum(1, keepdim=True)
    likeliest = (1 + rest).reciprocal_()
    log_rest = shares = None
    others = odds if wanted == {"log_true"} else odds * likeliest
    sides: dict[Side, Tensor] = {}
    if "log_true" in wanted:
        sides["log_true"] = gap - torch.log1p(rest)
    if "log_false" in wanted:
        log_rest = torch.log(rest)
        if is_far:
            log_rest, shares = _logarithm_of_rest(gap, place)
        at_top = log_rest - torch.log1p(rest)
        sides["log_false"] = torch.log1p(-others).scatter_(1, place, at_top)
    if "false" in wanted:
        sides["false"] = (1 - others).scatter_(1, place, rest * likeliest)
    if "true" in wanted:
        sides["true"] = others.scatter(1, place, likeliest)
    return sides, (place, odds, rest, likeliest, shares)


def _logarithm_of_rest(gap: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
    """Return the logarithm of the others' odds, out of the range of floats, and their shares."""
    others = gap.scatter(1, place, _NOTHING)
    logarithm = torch.logsumexp(others, 1, keepdim=True)
    logarithm = torch.where(logarithm < _NOTHING / 2, impossible(gap.dtype), logarithm)
    return logarithm, torch.exp((others - logarithm).clamp_(max=0.0))


def _slope_of_softmax(
    slopes: Mapping[Side, Tensor],
    place: Tensor,
    odds: Tensor,
    rest: Tensor,
    likeliest: Tensor,
    shares: Tensor | None,
) -> Tensor:
    others, false_top = odds * likeliest, rest * likeliest
    if "true" in slopes or "false" in slopes:  # clauses never mix them with logarithms
        own = _difference(slopes.get("true"), slopes.get("false"))
        at_top = own.gather(1, place)
        rising = (others * own).sum(1, keepdim=True)
        top = likeliest * (at_top * false_top - rising)
        return (own - (at_top * likeliest + rising)).mul_(others).scatter_(1, place, top)
    denied = slopes.get("log_false")
    scaled = None if denied is None else denied * others / (1 - others)
    own = _difference(slopes.get("log_true"), scaled)
    at_top = own.gather(1, place)  # of log_true alone, for `others` is 0 there
    own = own.scatter(1, place, 0.0)
    total = own.sum(1, keepdim=True)
    top = at_top * false_top - likeliest * total
    result = own.addcmul_(others, total + at_top, value=-1)
    if denied is not None:
        denied_top = denied.gather(1, place) * likeliest
        result.addcmul_(odds / rest if shares is None else shares, denied_top)
        top -= denied_top
    return result.scatter_(1, place, top)


# Sigmoids


def _sides_of_sigmoid(
    z: Tensor, wanted: frozenset[Side], _: bool
) -> tuple[dict[Side, Tensor], tuple[Tensor, ...]]:
    return {side: _side_of_sigmoid(z, side) for side in wanted}, (z,)


def _side_of_sigmoid(z: Tensor, side: Side) -> Tensor:
    z = z if side in ("true", "log_true") else -z
    return torch.sigmoid(z) if side in ("true", "false") else functional.logsigmoid(z)


def _slope_of_sigmoid(slopes: Mapping[Side, Tensor], z: Tensor) -> Tensor:
    true, false = torch.sigmoid(z), torch.sigmoid(-z)
    if "true" in slopes or "false" in slopes:
        return _difference(slopes.get("true"), slopes.get("false")) * true * false
    rises, falls = slopes.get("log_true"), slopes.get("log_false")
    return _difference(
        None if rises is None else rises * false, None if falls is None else falls * true
    )


def _difference(x: Tensor | None, y: Tensor | None) -> Tensor:
    if x is None:
        assert y is not None
        return -y
    return x if y is None else x - y
