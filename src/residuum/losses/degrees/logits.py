"""Logits, log-probabilities or probabilities as degrees: truth, falsity and their logarithms.

The falsity of the likeliest class of a softmax is the sum of the other probabilities, which keeps
its digits where 1 − p and log p round to 0. The gradient keeps its digits too, so that a network
that is saturated and wrong still learns. A class masked by −inf has probability 0.

`fused_logits.py` computes the same for routes with gradients by hand: change both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, final

import torch
from torch import Tensor
from torch.nn import functional

from residuum.losses.degrees.tensors import LARGEST, TENSORS, bounded, impossible
from residuum.losses.routes import thresholds
from residuum.relaxations import Degree
from residuum.relaxations.degrees import Later, log1mexp

Side = Literal["true", "false", "log_true", "log_false"]
MIRRORED: Final[Mapping[Side, Side]] = {
    "true": "false", "false": "true", "log_true": "log_false", "log_false": "log_true",
}  # fmt: skip
"""Each side of a negation, with the side of the negated formula that equals it."""

_NOTHING: Final = -1e38
"""Stands for the logarithm of 0 in a sum, where −inf would bring NaN into gradients."""

Form = Literal["logits", "log_probs", "probs", "ramp"]
"""What a tensor holds. A ramp is the difference of two numbers, in units of a scale."""

FORMS: Final[tuple[Form, ...]] = ("logits", "log_probs", "probs")
"""The forms of outputs of networks."""


_RANGES: Final[Mapping[Form, tuple[float, float]]] = {
    "logits": (-LARGEST, LARGEST),
    "log_probs": (-LARGEST, 0.0),
    "probs": (0.0, 1.0),
    "ramp": (-LARGEST, LARGEST),
}
"""The range of each form. A number outside by rounding is cut, or its logarithm would explode."""

_WIDE: Final = (torch.float32, torch.float64)

CERTAIN: Final = 2.0**127
"""The logit of a sigmoid that is observed to be true: its degree is exactly 1.

It is finite, because +inf is a mistake of the caller, which must come out. All other logits beyond
1e30 count as 1e30.
"""


class _Gate(torch.autograd.Function):
    """The identity, whose gradients are cut to the range of the tensor's floats.

    At probability 0 or 1 some penalties have an infinite gradient, and its product with 0 is NaN.
    A NaN gradient becomes 0.
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
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        largest = min(torch.finfo(ctx.dtype).max, LARGEST)
        finite = torch.nan_to_num(gradient, nan=0.0, posinf=largest, neginf=-largest)
        return finite.clamp(-largest, largest).to(ctx.dtype)


class _GateBothWays(_Gate):
    """A gate that also passes forward-mode gradients, which torch.compile does not support."""

    @staticmethod
    def jvp(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient.to(ctx.wide, copy=True)


@final
class Source:
    """One input tensor as degrees. Each side is computed once, when first needed.

    Half precision is converted to float32. A class masked by the logit −inf has degree 0.
    """

    def __init__(
        self, given: Tensor, form: Form, softmax: Callable[[Side], Tensor] | None = None
    ) -> None:
        self._given = given if softmax is not None else _in_range(given, form)
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
            return _of_probability(self._given, 1 - self._given, side)
        if self._form == "ramp":
            true, false = ((0.5 + d / 2).clamp(0.0, 1.0) for d in (self._given, -self._given))
            return _of_probability(true, false, side)
        if self._form == "log_probs":
            return self._from_logarithm(side)
        return self._from_logit(side) if self._softmax is None else self._softmax(side)

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


def _of_probability(p: Tensor, complement: Tensor, side: Side) -> Tensor:
    """Return a side of a degree, given the probability p and 1 − p."""
    if side == "true":
        return p
    if side == "false":
        return complement
    # 1 − p is exact for p ≥ 1/2; below, log(1 − p) is computed from p.
    if side == "log_true":
        return torch.where(p < 0.5, TENSORS.log(p), TENSORS.log1p(-complement))
    return torch.where(p < 0.5, TENSORS.log1p(-p), TENSORS.log(complement))


def _in_range(given: Tensor, form: Form) -> Tensor:
    """Return numbers cut to the range of their form; certain logits become infinite."""
    found, may_be_infinite = bounded(given, *_RANGES[form])
    if not may_be_infinite or form != "logits":
        return found
    return torch.where(given == CERTAIN, torch.inf, found)


def sources_of(
    given: Sequence[Tensor], forms: Sequence[Form], exclusive: Sequence[bool], *, needs_care: bool
) -> list[Source]:
    """Return tensors as sources of degrees. Small softmaxes of one shape are computed together.

    `needs_care` says that the gradients of the relaxation may be infinite.
    """
    wide = [
        widened(tensor, is_steep=needs_care or form != "logits")
        for tensor, form in zip(given, forms, strict=True)
    ]
    softmaxes: dict[int, Callable[[Side], Tensor]] = {}
    alike: dict[Any, list[int]] = {}
    for number, tensor in enumerate(wide):
        # A softmax over no classes has no likeliest class.
        if exclusive[number] and forms[number] == "logits" and 0 not in tensor.shape:
            # A trace does not compare shapes, which would tie it to one batch size.
            most = 0 if torch.compiler.is_compiling() else thresholds.SMALL_SOFTMAX
            is_small = most > 0 and tensor.numel() <= most
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
    """Several softmaxes computed as one tensor, which is split once for each side."""

    def __init__(self, stacked: Softmax) -> None:
        self._stacked = stacked
        self._apart: dict[Side, tuple[Tensor, ...]] = {}

    def at(self, place: int) -> Callable[[Side], Tensor]:
        """Return a function that gives a side of the softmax at a place."""
        return lambda side: self._sides(side)[place]

    def _sides(self, side: Side) -> tuple[Tensor, ...]:
        if side not in self._apart:
            self._apart[side] = self._stacked.side(side).unbind(0)
        return self._apart[side]


def widened(given: Tensor, *, is_steep: bool) -> Tensor:
    """Return a tensor in single or double precision; the gradients of a steep one are cut."""
    if is_steep:
        gate = _Gate if torch.compiler.is_compiling() else _GateBothWays
        given = gate.apply(given)  # type: ignore[no-untyped-call]
    return given if given.dtype in _WIDE else given.float()


def degree_with(side: Callable[[Side], Tensor]) -> Degree:
    """Return a degree whose sides a function computes, each when first needed."""
    return Degree(
        TENSORS,
        true=Later(lambda: side("true")),
        false=Later(lambda: side("false")),
        log_true=Later(lambda: side("log_true")),
        log_false=Later(lambda: side("log_false")),
    )


@final
class Softmax:
    """The softmax of logits over the last dimension. Each side is computed when first needed."""

    def __init__(self, logits: Tensor) -> None:
        logits, may_be_masked = bounded(logits)
        self._masked: Tensor | None = None
        if may_be_masked:  # if all classes are masked, they count as equally likely
            masked = logits == -torch.inf
            are_all = masked.all(-1, keepdim=True)
            logits = logits.masked_fill(are_all, 0.0)
            self._masked = masked & ~are_all

        # Not `functools.cached_property`: torch.compile cannot trace its lock. The functions do not
        # hold `self`: a reference cycle would keep the graph alive until garbage is collected.
        p = Later(lambda: torch.softmax(logits, -1))
        top = Later(lambda: logits.argmax(-1, keepdim=True))
        self._p, self._top = p, top
        self._log_p = Later(lambda: torch.log_softmax(logits, -1))
        self._rest = Later(lambda: _without(top.number, p.number).sum(-1, keepdim=True))
        self._sides: dict[Side, Tensor] = {}

    def side(self, side: Side) -> Tensor:
        """Return p, 1 − p or the logarithm of either."""
        if side not in self._sides:
            self._sides[side] = self._compute(side)
        return self._sides[side]

    def _compute(self, side: Side) -> Tensor:
        if side == "true":
            p: Tensor = self._p.number
            return p
        if side == "false":
            return self._false()
        return self._log_true() if side == "log_true" else self._log_false()

    def _false(self) -> Tensor:
        found: Tensor = (1 - self._p.number).scatter(-1, self._top.number, self._rest.number)
        return found

    def _log_true(self) -> Tensor:
        log_p, top = self._log_p.number, self._top.number
        with torch.no_grad():  # only the value loses digits, not the gradient
            rest = _without(top, torch.exp(log_p)).sum(-1, keepdim=True)
            lost = torch.log1p(-rest) - log_p.gather(-1, top)
        exact: Tensor = log_p.scatter_add(-1, top, lost)
        if self._masked is None:
            return exact
        return exact.masked_fill(self._masked, impossible(exact.dtype))

    def _log_false(self) -> Tensor:
        p, top = self._p.number, self._top.number
        below = torch.log1p(-_without(top, p))
        likeliest = Later(lambda: p.gather(-1, top))
        at_top = TENSORS.log_complement(likeliest, self._rest, self._log_rest)
        return below.scatter(-1, top, at_top)

    def _log_rest(self) -> Tensor:
        others = _without(self._top.number, self._log_p.number, _NOTHING)
        if self._masked is not None:
            others = others.masked_fill(self._masked, _NOTHING)
        logarithm = torch.logsumexp(others, -1, keepdim=True)
        return torch.where(logarithm < _NOTHING / 2, impossible(others.dtype), logarithm)


def _without(top: Tensor, x: Tensor, value: float = 0.0) -> Tensor:
    """Return x with the entry of the likeliest class replaced by a value."""
    return x.scatter(-1, top, value)
