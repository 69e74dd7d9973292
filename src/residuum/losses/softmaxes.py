"""One softmax on all four sides, exact where probabilities saturate.

The falsity of the likeliest class is the sum of the other probabilities, which keeps its digits
where 1 − p and log p round to 0; so does its gradient, and a saturated and wrong network still
learns. A class masked by −inf has probability 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, final

import torch
from torch import Tensor

from residuum.losses.tensors import TENSORS, bounded, impossible, is_traced
from residuum.relaxations.degrees import Later

Side = Literal["true", "false", "log_true", "log_false"]
MIRRORED: Final[Mapping[Side, Side]] = {
    "true": "false", "false": "true", "log_true": "log_false", "log_false": "log_true",
}  # fmt: skip
"""The side of a negation that is a side of what it negates."""

VECTOR: Final = 16
WORTH_TURNING: Final = 4096

_NOTHING: Final = -1e38
"""Stands for the logarithm of 0 in a sum, where −inf would bring NaN into gradients."""


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
        p = Later(lambda: _over_classes(torch.softmax, logits))
        top = Later(lambda: logits.argmax(-1, keepdim=True))
        self._p, self._top = p, top
        self._log_p = Later(lambda: _over_classes(torch.log_softmax, logits))
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


def _over_classes(normalise: Callable[[Tensor, int], Tensor], logits: Tensor) -> Tensor:
    """Return a softmax over the last dimension.

    On a CPU one over fewer classes than a vector has numbers is several times faster with the
    examples side by side, both copies included.
    """
    if is_traced(logits) or logits.shape[-1] >= VECTOR or logits.numel() < WORTH_TURNING:
        return normalise(logits, -1)
    return normalise(logits.movedim(-1, 0).contiguous(), 0).movedim(0, -1).contiguous()
