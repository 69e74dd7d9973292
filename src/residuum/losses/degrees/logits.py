"""Logits, log-probabilities or probabilities to degrees: all four sides, by what is accurate.

The falsity of the likeliest class of a softmax is the sum of the other probabilities, which keeps
its digits where 1 − p and log p round to 0. So does its gradient, and a saturated and wrong network
still learns. A class masked by −inf has probability 0.
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
"""The side of a negation that is a side of what it negates."""

_NOTHING: Final = -1e38
"""Stands for the logarithm of 0 in a sum, where −inf would bring NaN into gradients."""

Form = Literal["logits", "log_probs", "probs"]
FORMS: Final[tuple[Form, ...]] = ("logits", "log_probs", "probs")


_RANGES: Final[Mapping[Form, tuple[float, float]]] = {
    "logits": (-LARGEST, LARGEST),
    "log_probs": (-LARGEST, 0.0),
    "probs": (0.0, 1.0),
}
"""What is outside by a rounding counts as the end of the range, or its logarithm would explode."""

_WIDE: Final = (torch.float32, torch.float64)


class _Gate(torch.autograd.Function):
    """Numbers pass, and gradients too large for the floats of the tensor are cut to their range.

    At probability 0 or 1 some penalties are infinitely steep, and a product of such gradients with
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
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        largest = min(torch.finfo(ctx.dtype).max, LARGEST)
        finite = torch.nan_to_num(gradient, nan=0.0, posinf=largest, neginf=-largest)
        return finite.clamp(-largest, largest).to(ctx.dtype)


class _GateBothWays(_Gate):
    """The same with forward gradients, which pass unchanged; torch.compile refuses to have them."""

    @staticmethod
    def jvp(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient.to(ctx.wide, copy=True)


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

    `needs_care` is for logics whose gradients may be infinite.
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


def degree_with(side: Callable[[Side], Tensor]) -> Degree:
    """Return the degree whose sides a function gives, each when it is asked for."""
    return Degree(
        TENSORS,
        true=Later(lambda: side("true")),
        false=Later(lambda: side("false")),
        log_true=Later(lambda: side("log_true")),
        log_false=Later(lambda: side("log_false")),
    )


@final
class Softmax:
    """The softmax of logits over their last dimension, each side computed when asked for."""

    def __init__(self, logits: Tensor) -> None:
        logits, may_be_masked = bounded(logits)
        self._masked: Tensor | None = None
        if may_be_masked:  # where every class is masked, read them as equally likely
            masked = logits == -torch.inf
            are_all = masked.all(-1, keepdim=True)
            logits = logits.masked_fill(are_all, 0.0)
            self._masked = masked & ~are_all

        # `functools.cached_property` takes a lock, which torch.compile cannot. What is computed
        # later must not hold `self`: a cycle would keep the graph until Python looks for cycles.
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
        with torch.no_grad():  # the derivative of log p is accurate as it stands
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
    """Return x with a value in the place of the likeliest class."""
    return x.scatter(-1, top, value)
