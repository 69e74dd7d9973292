"""Sides of network outputs that clauses read, and the slopes of what they come to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, final

import torch
from torch import Tensor
from torch.nn import functional

from residuum.losses.columns import Columns, Stack
from residuum.losses.slopes import Slopes, with_slopes
from residuum.losses.softmaxes import MIRRORED, Side, Softmax
from residuum.losses.stacked_outputs import (
    LogSigmoids,
    LogSoftmaxes,
    OddsOfSoftmaxes,
    Outputs,
    Sigmoids,
    Softmaxes,
)
from residuum.losses.tensors import LARGEST, floor, in_full, without_graph


@final
class Sides:
    """The sides of network outputs that clauses read, stacked by kinds of slots.

    They are good for something if the logits are `is_safe`.
    """

    def __init__(
        self, stacks: Sequence[Stack], outputs: Sequence[Outputs], is_safe: bool | Tensor
    ) -> None:
        self.stacks = stacks
        self.outputs = outputs
        self.is_safe = is_safe

    def rows(self) -> Tensor:
        """Return the rows of all pieces, over examples and positions."""
        pairs = zip(self.outputs, self.stacks, strict=True)
        return _below([known.rows(stack.read) for known, stack in pairs])

    def falsities(self) -> Tensor:
        """Return one less the rows, which are truths."""
        pairs = zip(self.outputs, self.stacks, strict=True)
        return _below([stack.read(partial(_mirrored, known)) for known, stack in pairs])

    def slopes(self, slope: Tensor, into: Sequence[Tensor] | None = None) -> list[Tensor]:
        """Return the slopes of the given tensors of each stack from those of all rows."""
        parts = _split(slope, self.stacks)
        places = [None] * len(parts) if into is None else into
        return [
            stack.apart(known.back(part, stack.add_up, *known.saved), place)
            for known, stack, part, place in zip(
                self.outputs, self.stacks, parts, places, strict=True
            )
        ]


def _below(rows: list[Tensor]) -> Tensor:
    return rows[0] if len(rows) == 1 else torch.cat(rows)


def _mirrored(known: Any, side: Side) -> Tensor:
    found: Tensor = known.side(MIRRORED[side])
    return found


def sides_of(
    stacks: Sequence[Stack], inputs: Sequence[Tensor], *, divides: bool, looks: bool
) -> Sides | None:
    """Return the sides that clauses read, to be called where nothing has slopes.

    None says that some logits are masked, no numbers, or too large: that takes more care. So do
    those that are far from one another, where slopes are divided by truths. Where Python may not
    look at values, `is_safe` of the sides will say so.
    """
    known = []
    is_safe: bool | Tensor = True
    for stack in stacks:
        logits = stack.stack(inputs)
        smallest, largest = torch.aminmax(logits)
        size, spread = _limits(stack.columns, logits, divides=divides)
        if looks:
            low, high = smallest.item(), largest.item()
            if not (low >= -size and high <= size and high - low <= spread):
                return None
        else:
            within = (smallest >= -size) & (largest <= size) & (largest - smallest <= spread)
            is_safe = is_safe & within
        known.append(_outputs(stack.columns, logits, divides=divides))
    return Sides(stacks, known, is_safe)


def _limits(columns: Columns, logits: Tensor, *, divides: bool) -> tuple[float, float]:
    """Return how large logits may be, and how far from one another."""
    if not columns.kind.is_exclusive:
        return (_reach(logits, 2) if divides else LARGEST), math.inf
    if not divides and "log_false" not in columns.sides:
        return LARGEST, math.inf
    classes = logits.shape[1]
    return LARGEST, -math.inf if classes == 1 else _reach(logits, classes)


def _outputs(columns: Columns, logits: Tensor, *, divides: bool) -> Outputs:
    """Return stacked logits as degrees."""
    sides = columns.sides
    is_plain = "true" in sides or "false" in sides
    if not columns.kind.is_exclusive:
        return Sigmoids(logits) if is_plain else LogSigmoids(logits)
    if is_plain:
        return Softmaxes(logits)
    return OddsOfSoftmaxes(logits) if divides or "log_false" in sides else LogSoftmaxes(logits)


def _reach(logits: Tensor, classes: int) -> float:
    """Return how far apart logits may be for no truth, and no falsity, to be near the floor."""
    return -0.75 * math.log(floor(logits)) - math.log(classes)


class Outcome(NamedTuple):
    """What rows come to: `value`, with slopes of the rows by `back`.

    `back(upstream, *kept)` gives those, where None stands for an upstream of 1, and `again(rows)`
    is the value once more, by operations that can be differentiated twice.
    """

    value: Tensor
    kept: Sequence[Tensor]
    back: Callable[..., Tensor]
    again: Callable[[Tensor], Tensor]


def outcome_with_slopes(
    sides: Sides,
    inputs: Sequence[Tensor],
    outcome: Outcome,
    known: Sequence[Tensor] | None,
    rows_again: Callable[[Sequence[Tensor]], Tensor],
) -> Tensor:
    """Return the value of an outcome as a function of the inputs.

    Its slopes may be `known` for each stack, if there is one value for each example.
    `rows_again(inputs)` gives the rows once more, by operations that can be differentiated twice.
    """
    saved = list(inputs)
    slopes: Slopes
    if known is not None:
        saved += known
        again = outcome.again  # the outcome itself would keep its value, and that its slopes
        slopes = KnownSlopes(sides.stacks, len(inputs), lambda inputs: again(rows_again(inputs)))
    else:
        saved += outcome.kept
        starts = [len(saved)]
        for outputs in sides.outputs:
            saved += outputs.saved
            starts.append(len(saved))
        kinds = [type(outputs) for outputs in sides.outputs]
        slopes = _LaterSlopes(
            sides.stacks, len(inputs), outcome.again, rows_again, kinds, starts, outcome.back
        )
    return with_slopes(outcome.value, slopes, saved, inputs)


class KnownSlopes(NamedTuple):
    """How slopes that are known are multiplied; those of each stack are saved behind the inputs.

    So many inputs are `given`, of which `again` makes the value.
    """

    stacks: Sequence[Stack]
    given: int
    again: Callable[[Sequence[Tensor]], Tensor]

    def __call__(self, upstream: Tensor, saved: Sequence[Tensor]) -> list[Tensor | None]:
        pairs = zip(self.stacks, saved[self.given :], strict=True)
        each = [stack.times(slopes, upstream) for stack, slopes in pairs]
        return by_slots(self.stacks, each, saved[: self.given])

    def value_again(self, inputs: Sequence[Tensor]) -> Tensor:
        return self.again(inputs)


class _LaterSlopes(NamedTuple):
    """How slopes go back to the inputs, behind which what that takes is saved.

    That is what `back` takes up to the first of the `starts`, and then what each stack does.
    """

    stacks: Sequence[Stack]
    given: int
    again: Callable[[Tensor], Tensor]
    rows_again: Callable[[Sequence[Tensor]], Tensor]
    kinds: Sequence[type[Outputs]]
    starts: Sequence[int]
    back: Callable[..., Tensor]

    def __call__(self, upstream: Tensor, saved: Sequence[Tensor]) -> list[Tensor | None]:
        with in_full(upstream.device), without_graph():
            slope = self.back(upstream, *saved[self.given : self.starts[0]])
            each = []
            for kind, stack, part, start, stop in zip(
                self.kinds,
                self.stacks,
                _split(slope, self.stacks),
                self.starts[:-1],
                self.starts[1:],
                strict=True,
            ):
                each.append(stack.apart(kind.back(part, stack.add_up, *saved[start:stop])))
        return by_slots(self.stacks, each, saved[: self.given])

    def value_again(self, inputs: Sequence[Tensor]) -> Tensor:
        return self.again(self.rows_again(inputs))


def _split(slope: Tensor, stacks: Sequence[Stack]) -> Sequence[Tensor]:
    return [slope] if len(stacks) == 1 else torch.split(slope, [one.rows for one in stacks])


def by_slots(
    stacks: Sequence[Stack], each: Sequence[Tensor], inputs: Sequence[Tensor]
) -> list[Tensor | None]:
    """Return what belongs to each input from what belongs to the stacks; None if none reads it."""
    found: list[Tensor | None] = [None] * len(inputs)
    for stack, slopes in zip(stacks, each, strict=True):
        for slot, one in zip(stack.slots, stack.unbind(slopes, inputs), strict=True):
            found[slot] = one
    return found


def rows_to_differentiate(
    stacks: Sequence[Stack], as_logarithms: bool, inputs: Sequence[Tensor]
) -> Tensor:
    """Return the rows of all pieces by a route whose own slopes have slopes, if not as fast.

    `as_logarithms` gives the logarithms of truths for them.
    """
    rows = []
    for stack in stacks:
        logits = stack.stack(inputs)
        is_exclusive = stack.columns.kind.is_exclusive
        side_of = _side_of_softmax(logits) if is_exclusive else _side_of_sigmoid(logits)
        rows.append(stack.read(partial(_logarithm, side_of) if as_logarithms else side_of))
    return torch.cat(rows)


def _logarithm(side_of: Callable[[Side], Tensor], side: Side) -> Tensor:
    return side_of("log_true" if side == "true" else "log_false")


def _side_of_softmax(logits: Tensor) -> Callable[[Side], Tensor]:
    softmax = Softmax(logits.movedim(1, -1))
    return lambda side: softmax.side(side).movedim(-1, 1)


def _side_of_sigmoid(logits: Tensor) -> Callable[[Side], Tensor]:
    def side_of(side: Side) -> Tensor:
        turned = logits if side in ("true", "log_true") else -logits
        is_plain = side in ("true", "false")
        return torch.sigmoid(turned) if is_plain else functional.logsigmoid(turned)

    return side_of
