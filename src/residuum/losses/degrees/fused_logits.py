"""Fast conversion of logits to the sides of degrees, with gradients written by hand.

`logits.py` defines the sides. This file computes the same several times faster, for routes that
know their gradients; a test compares the two. Softmaxes are over dimension 1, and examples lie next
to each other in memory. Nothing cancels where a softmax saturates: 1 − p of the likeliest class is
the sum of the other probabilities, and the gradient of the likeliest class is subtracted from all
gradients before they go back through the softmax.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, final

import torch
from torch import Tensor
from torch.nn import functional

from residuum.losses.degrees.logits import MIRRORED, Side, Softmax, Source
from residuum.losses.degrees.stacking import Columns, Stack
from residuum.losses.degrees.tensors import LARGEST, floor
from residuum.losses.routes import thresholds

Read = Callable[[Callable[[Side], Tensor]], Tensor]
"""Returns the rows that clauses read, given a function that returns one side of all entries."""

AddUp = Callable[[Tensor], Tensor]
"""Adds up the gradients of all rows that read the same entry."""


class Outputs(Protocol):
    """Stacked logits as degrees. `saved` holds the tensors that `back` needs."""

    @property
    def saved(self) -> tuple[Tensor, ...]:
        """The tensors from which `back` computes gradients."""
        ...

    def rows(self, read: Read) -> Tensor:
        """Return the rows of sides that clauses read."""
        ...

    @staticmethod
    def back(gradient: Tensor, add_up: AddUp, *saved: Tensor) -> Tensor:
        """Return the gradients of the logits from `gradient`, that of the rows, and overwrite it.

        In the row of a falsity, `gradient` is the gradient with respect to the truth.
        """
        ...


class Softmaxes:
    """Softmaxes whose truths and falsities are read. `_top` is the place of the likeliest class."""

    def __init__(self, logits: Tensor) -> None:
        self._truths = torch.softmax(logits, 1)
        _, self._top = likeliest(self._truths)
        self._falsities: Tensor | None = None

    @property
    def saved(self) -> tuple[Tensor, ...]:
        return self._truths, self._top

    def rows(self, read: Read) -> Tensor:
        return read(self.side)

    def side(self, side: Side) -> Tensor:
        """Return one side of every degree."""
        if side == "true":
            return self._truths
        if self._falsities is None:
            self._falsities = complements(self._truths, self._top)
        return self._falsities

    @staticmethod
    def back(gradient: Tensor, add_up: AddUp, *saved: Tensor) -> Tensor:
        truths, top = saved
        own = add_up(gradient)
        own -= at_likeliest(own, top)  # a constant for all classes has no effect
        return torch._softmax_backward_data(own, truths, 1, own.dtype)


@final
class OddsOfSoftmaxes(Softmaxes):
    """Softmaxes whose logarithms of truths and falsities are read; logits must be close."""

    def rows(self, read: Read) -> Tensor:
        odds = torch.div(self._truths, self.side("false")).log_()
        self._rows = functional.logsigmoid(read(lambda side: odds if side == "log_true" else -odds))
        return self._rows

    @property
    def saved(self) -> tuple[Tensor, ...]:
        return self._rows, self._truths, self._top

    @staticmethod
    def back(gradient: Tensor, add_up: AddUp, *saved: Tensor) -> Tensor:
        rows, truths, top = saved
        return Softmaxes.back(gradient.div_(torch.exp(rows)), add_up, truths, top)


@final
class LogSoftmaxes:
    """Softmaxes whose logarithms of truths are read; logits may be far apart."""

    def __init__(self, logits: Tensor) -> None:
        largest, self._top = likeliest(logits)
        gap = logits - largest
        self._odds = torch.exp(gap)  # relative to the likeliest class
        self._log_truths = gap.sub_(torch.log1p(sum_of_others(self._odds, self._top)))

    @property
    def saved(self) -> tuple[Tensor, ...]:
        return self._log_truths, self._odds, self._top

    def rows(self, read: Read) -> Tensor:
        return read(lambda _: self._log_truths)

    @staticmethod
    def back(gradient: Tensor, add_up: AddUp, *saved: Tensor) -> Tensor:
        log_truths, odds, top = saved
        own = add_up(gradient)
        # Gradients proportional to the truths have no effect; so the likeliest class gets 0.
        own.addcmul_(odds, at_likeliest(own, top), value=-1)
        return torch._log_softmax_backward_data(own, log_truths, 1, own.dtype)


@final
class Sigmoids:
    """One sigmoid for each logit, whose truths and falsities are read."""

    def __init__(self, logits: Tensor) -> None:
        self.saved: tuple[Tensor, ...] = (torch.sigmoid(logits), torch.sigmoid(-logits))

    def rows(self, read: Read) -> Tensor:
        return read(self.side)

    def side(self, side: Side) -> Tensor:
        """Return one side of every degree."""
        truths, falsities = self.saved
        return truths if side == "true" else falsities

    @staticmethod
    def back(gradient: Tensor, add_up: AddUp, *saved: Tensor) -> Tensor:
        truths, falsities = saved
        return add_up(gradient).mul_(truths).mul_(falsities)


@final
class LogSigmoids:
    """One sigmoid for each logit, whose logarithms of truths and falsities are read."""

    def __init__(self, logits: Tensor) -> None:
        self._logits = logits
        self.saved: tuple[Tensor, ...] = ()

    def rows(self, read: Read) -> Tensor:
        odds = self._logits
        rows = functional.logsigmoid(read(lambda side: odds if side == "log_true" else -odds))
        self.saved = (rows,)
        return rows

    @staticmethod
    def back(gradient: Tensor, add_up: AddUp, *saved: Tensor) -> Tensor:
        [rows] = saved
        return add_up(gradient.mul_(torch.expm1(rows).neg_()))


def likeliest(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the largest entry of each softmax, and where it is.

    The place is an index, or a tensor of marks: 1 at the largest entry and 0 elsewhere, shared
    evenly between equal entries.
    """
    if x.shape[2] < thresholds.MANY_SOFTMAXES or x.is_cuda:
        top, place = x.max(1, keepdim=True)
        return top, place
    top = x.amax(1, keepdim=True)
    marks = torch.sub(x, top).sign_().add_(1)
    return top, marks.div_(marks.sum(1, keepdim=True))


def sum_of_others(x: Tensor, where: Tensor) -> Tensor:
    """Return the sum over all classes except the likeliest."""
    return _others(x, where).sum(1, keepdim=True)


def at_likeliest(x: Tensor, where: Tensor) -> Tensor:
    """Return the entry of the likeliest class."""
    if _are_places(where):
        return x.gather(1, where)
    return torch.mul(x, where).sum(1, keepdim=True)


def complements(truths: Tensor, where: Tensor) -> Tensor:
    """Return 1 − x for truths x that add up to 1, without cancellation for the likeliest class."""
    others = _others(truths, where)
    at_top = others.sum(1, keepdim=True)
    found = torch.rsub(others, 1)
    if _are_places(where):
        return found.scatter_(1, where, at_top)
    return found.sub_(where).addcmul_(where, at_top)


def _others(x: Tensor, where: Tensor) -> Tensor:
    if _are_places(where):
        return x.scatter(1, where, 0.0)
    return torch.addcmul(x, x, where, value=-1)


def _are_places(where: Tensor) -> bool:
    return where.dtype == torch.int64


@final
class Sides:
    """The sides of network outputs that clauses read, stacked by kind of slot.

    Valid only if `is_safe`: the logits are finite, not too large and not too far apart.
    """

    def __init__(
        self, stacks: Sequence[Stack], outputs: Sequence[Outputs], is_safe: bool | Tensor
    ) -> None:
        self.stacks = stacks
        self.outputs = outputs
        self.is_safe = is_safe

    def rows(self) -> Tensor:
        """Return the rows that clauses read: entries × (examples × positions)."""
        pairs = zip(self.outputs, self.stacks, strict=True)
        return _concatenated([known.rows(stack.read) for known, stack in pairs])

    def falsities(self) -> Tensor:
        """Return 1 − x for the rows x, which must be truths or falsities."""
        pairs = zip(self.outputs, self.stacks, strict=True)
        return _concatenated([stack.read(partial(_mirrored, known)) for known, stack in pairs])

    def gradients(self, gradient: Tensor, into: Sequence[Tensor] | None = None) -> list[Tensor]:
        """Return the gradients of each stack of inputs from the gradients of all rows."""
        parts = split_rows(gradient, self.stacks)
        places = [None] * len(parts) if into is None else into
        return [
            stack.unstack(known.back(part, stack.add_up, *known.saved), place)
            for known, stack, part, place in zip(
                self.outputs, self.stacks, parts, places, strict=True
            )
        ]


def _concatenated(rows: list[Tensor]) -> Tensor:
    return rows[0] if len(rows) == 1 else torch.cat(rows)


def _mirrored(known: Any, side: Side) -> Tensor:
    found: Tensor = known.side(MIRRORED[side])
    return found


def sides_of(
    stacks: Sequence[Stack], inputs: Sequence[Tensor], *, divides: bool, looks: bool
) -> Sides | None:
    """Return the sides that clauses read. Call it where autograd records nothing.

    Returns None if some logits are masked, NaN or too large; then a slower route must evaluate the
    call. If `divides`, gradients are divided by truths, and logits must not be far apart either.
    Without `looks`, Python may not look at values, and `is_safe` of the result is a tensor.
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
    """Return how large logits may be, and how far apart."""
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
    """Return how far apart logits may be so that no truth and no falsity comes near the floor."""
    return -0.75 * math.log(floor(logits)) - math.log(classes)


def split_rows(gradient: Tensor, stacks: Sequence[Stack]) -> Sequence[Tensor]:
    """Return the gradient of all rows, split into the rows of each stack."""
    return [gradient] if len(stacks) == 1 else torch.split(gradient, [one.rows for one in stacks])


def by_slots(
    stacks: Sequence[Stack], each: Sequence[Tensor], inputs: Sequence[Tensor]
) -> list[Tensor | None]:
    """Return the gradient of each input from those of the stacks; None for an unread input."""
    found: list[Tensor | None] = [None] * len(inputs)
    for stack, gradients in zip(stacks, each, strict=True):
        for slot, one in zip(stack.slots, stack.unbind(gradients, inputs), strict=True):
            found[slot] = one
    return found


def rows_to_differentiate(
    stacks: Sequence[Stack], as_logarithms: bool, inputs: Sequence[Tensor]
) -> Tensor:
    """Return the rows that clauses read by slower operations that can be differentiated twice.

    With `as_logarithms`, return the logarithms of the rows.
    """
    rows = []
    for stack in stacks:
        side_of = _side_of(stack.stack(inputs), is_exclusive=stack.columns.kind.is_exclusive)
        rows.append(stack.read(partial(_logarithm, side_of) if as_logarithms else side_of))
    return torch.cat(rows)


def _logarithm(side_of: Callable[[Side], Tensor], side: Side) -> Tensor:
    return side_of("log_true" if side == "true" else "log_false")


def _side_of(logits: Tensor, *, is_exclusive: bool) -> Callable[[Side], Tensor]:
    if not is_exclusive:
        return Source(logits, "logits").side
    softmax = Softmax(logits.movedim(1, -1))
    return lambda side: softmax.side(side).movedim(-1, 1)
