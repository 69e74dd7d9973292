"""From a network's outputs to degrees: all four sides of each, from whichever is accurate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, final

import torch
from torch import Tensor
from torch.nn import functional

from residuum.losses.softmaxes import Side, Softmax
from residuum.losses.tensors import LARGEST, TENSORS, bounded, impossible
from residuum.relaxations.degrees import log1mexp

Form = Literal["logits", "log_probs", "probs"]
FORMS: Final[tuple[Form, ...]] = ("logits", "log_probs", "probs")


_RANGES: Final[Mapping[Form, tuple[float, float]]] = {
    "logits": (-LARGEST, LARGEST),
    "log_probs": (-LARGEST, 0.0),
    "probs": (0.0, 1.0),
}
"""What is outside by a rounding counts as the end of the range, or its logarithm would explode."""

_WIDE: Final = (torch.float32, torch.float64)

MOST_STACKED: Final = 1 << 14
"""Up to so many logits the cost is in the number of calls, not of numbers."""


class _Gate(torch.autograd.Function):
    """Numbers pass, and slopes too large for the floats of the tensor are cut to their range.

    At probability 0 or 1 some penalties are infinitely steep, and a product of such slopes with
    0 is no number: there nothing can be said, and 0 is returned.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(given: Tensor) -> Tensor:
        return given.to(torch.float32) if given.dtype not in _WIDE else given.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.dtype = inputs[0].dtype
        ctx.wide = output.dtype

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Tensor:
        largest = min(torch.finfo(ctx.dtype).max, LARGEST)
        finite = torch.nan_to_num(slope, nan=0.0, posinf=largest, neginf=-largest)
        return finite.clamp(-largest, largest).to(ctx.dtype)


class _GateBothWays(_Gate):
    """The same with forward slopes, which pass as they are; torch.compile refuses what has them."""

    @staticmethod
    def jvp(ctx: Any, slope: Tensor) -> Tensor:
        return slope.to(ctx.wide, copy=True)


@final
class Source:
    """One tensor of the caller's, read as degrees; each side is computed once, when asked for.

    Half precision is read as float32. A class masked by the logit −inf has degree 0.
    """

    def __init__(
        self, given: Tensor, form: Form, softmax: Callable[[Side], Tensor] | None = None
    ) -> None:
        self._given = given if softmax is not None else bounded(given, *_RANGES[form])[0]
        self._form = form
        self._softmax = softmax
        self._sides: dict[Side, Tensor] = {}

    def side(self, side: Side) -> Tensor:
        """Return one side of every degree."""
        if side not in self._sides:
            self._sides[side] = self._compute(side)
        return self._sides[side]

    def _compute(self, side: Side) -> Tensor:
        if self._form == "probs":
            return self._from_probability(side)
        if self._form == "log_probs":
            return self._from_logarithm(side)
        return self._from_logit(side) if self._softmax is None else self._softmax(side)

    def _from_probability(self, side: Side) -> Tensor:
        p = self._given
        if side == "true":
            return p
        if side == "false":
            return 1 - p
        # log(1 − p) through 1 − p, which is exact for p ≥ 1/2, and through p below.
        if side == "log_true":
            return torch.where(p < 0.5, TENSORS.log(p), TENSORS.log1p(p - 1))
        return torch.where(p < 0.5, TENSORS.log1p(-p), TENSORS.log(1 - p))

    def _from_logarithm(self, side: Side) -> Tensor:
        log_p = self._given
        if side == "log_true":
            return log_p.masked_fill(log_p == -torch.inf, impossible(log_p.dtype))
        if side == "true":
            return torch.exp(log_p)
        if side == "false":
            return -torch.expm1(log_p)
        log_false: Tensor = log1mexp(TENSORS, log_p)
        return log_false

    def _from_logit(self, side: Side) -> Tensor:
        z = self._given
        if side == "true":
            return torch.sigmoid(z)
        if side == "false":
            return torch.sigmoid(-z)
        z = z if side == "log_true" else -z
        logarithm: Tensor = functional.logsigmoid(z)
        return logarithm.masked_fill(z == -torch.inf, impossible(z.dtype))


def sources_of(
    given: Sequence[Tensor], forms: Sequence[Form], exclusive: Sequence[bool], *, needs_care: bool
) -> list[Source]:
    """Return tensors as sources of degrees; small softmaxes alike in shape are computed as one.

    `needs_care` is for logics whose slopes may be infinite.
    """
    wide = [
        _widened(tensor, is_steep=needs_care or form != "logits")
        for tensor, form in zip(given, forms, strict=True)
    ]
    softmaxes: dict[int, Callable[[Side], Tensor]] = {}
    alike: dict[Any, list[int]] = {}
    for number, tensor in enumerate(wide):
        # Over no classes there is nothing to choose from, and no largest.
        if exclusive[number] and forms[number] == "logits" and 0 not in tensor.shape:
            # A trace would have to settle on the batch size, to tell what is alike.
            is_small = not torch.compiler.is_compiling() and tensor.numel() <= MOST_STACKED
            alike.setdefault((tensor.shape, tensor.dtype) if is_small else number, []).append(
                number
            )
    for numbers in alike.values():
        if len(numbers) == 1:
            softmaxes[numbers[0]] = Softmax(wide[numbers[0]]).side
        else:
            layers = _Layers(Softmax(torch.stack([wide[number] for number in numbers])))
            for place, number in enumerate(numbers):
                softmaxes[number] = layers.at(place)
    return [
        Source(tensor, form, softmaxes.get(number))
        for number, (tensor, form) in enumerate(zip(wide, forms, strict=True))
    ]


@final
class _Layers:
    """Several softmaxes computed as one, and taken apart once for each side."""

    def __init__(self, stacked: Softmax) -> None:
        self._stacked = stacked
        self._apart: dict[Side, tuple[Tensor, ...]] = {}

    def at(self, place: int) -> Callable[[Side], Tensor]:
        """Return the sides of one of them."""
        return lambda side: self._sides(side)[place]

    def _sides(self, side: Side) -> tuple[Tensor, ...]:
        if side not in self._apart:
            self._apart[side] = self._stacked.side(side).unbind(0)
        return self._apart[side]


def _widened(given: Tensor, *, is_steep: bool) -> Tensor:
    if is_steep:
        gate = _Gate if torch.compiler.is_compiling() else _GateBothWays
        given = gate.apply(given)  # type: ignore[no-untyped-call]
    return given if given.dtype in _WIDE else given.float()
