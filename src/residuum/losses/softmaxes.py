"""One softmax on all four sides, exact where probabilities saturate.

The falsity of the likeliest class is the sum of the other probabilities, which keeps its digits
where 1 − p and log p round to 0; so does its gradient, and a saturated and wrong network still
learns. A class masked by −inf has probability 0.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, final

import torch
from torch import Tensor

from residuum.losses.tensors import TENSORS, impossible, is_traced

_NOTHING: Final = -1e30
"""Stands for the logarithm of 0 in a sum, where −inf would bring NaN into gradients."""


@final
class Softmax:
    """The softmax of logits over their last dimension, each side computed when asked for."""

    def __init__(self, logits: Tensor) -> None:
        masked: Tensor | None = logits == -torch.inf
        if not is_traced(logits) and not bool(masked.any()):  # type: ignore[union-attr]
            masked = None
        else:  # where every class is masked, read them as equally likely
            logits = logits.masked_fill(masked.all(-1, keepdim=True), 0.0)  # type: ignore[union-attr]
        self._logits = logits
        self._masked = masked

    @cached_property
    def true(self) -> Tensor:
        """p."""
        return torch.softmax(self._logits, -1)

    @cached_property
    def false(self) -> Tensor:
        """1 − p."""
        return (1 - self.true).scatter(-1, self._top, self._rest)

    @cached_property
    def log_true(self) -> Tensor:
        """log p."""
        log_p = self._log_p
        with torch.no_grad():  # the derivative of log p is accurate as it stands
            p = torch.exp(log_p)
            rest = p.scatter(-1, self._top, 0.0).sum(-1, keepdim=True)
            lost = torch.log1p(-rest) - log_p.gather(-1, self._top)
        exact = log_p.scatter_add(-1, self._top, lost)
        return exact if self._masked is None else exact.masked_fill(
            self._masked, impossible(exact.dtype)
        )  # fmt: skip

    @cached_property
    def log_false(self) -> Tensor:
        """log(1 − p)."""
        below = torch.log1p(-self.true.scatter(-1, self._top, 0.0))
        return below.scatter(-1, self._top, TENSORS.log_or(self._rest, self._log_rest))

    @cached_property
    def _log_p(self) -> Tensor:
        return torch.log_softmax(self._logits, -1)

    @cached_property
    def _top(self) -> Tensor:
        return self._logits.argmax(-1, keepdim=True)

    @cached_property
    def _rest(self) -> Tensor:
        return self.true.scatter(-1, self._top, 0.0).sum(-1, keepdim=True)

    def _log_rest(self) -> Tensor:
        others = self._log_p.scatter(-1, self._top, _NOTHING)
        if self._masked is not None:
            others = others.masked_fill(self._masked, _NOTHING)
        logarithm = torch.logsumexp(others, -1, keepdim=True)
        return torch.where(logarithm < _NOTHING / 2, impossible(others.dtype), logarithm)
