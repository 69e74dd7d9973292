"""Comparisons of numbers as degrees: how a difference, in units of the scale, becomes a truth.

The tensor of a comparison holds `signed_difference`, from which the degree follows by a form of
`logits.py`, and whether the comparison holds by its sign:

| comparison | degree | form |
| --- | --- | --- |
| a < b, logistic | the sigmoid of d = (b − a) / scale | "logits" |
| a < b, ramp | ½ + d / 2, from 0 at −1 to 1 at 1 | "ramp" |
| a = b | exp(−abs(d)) | "log_probs" |
"""

from __future__ import annotations

import torch
from torch import Tensor

from residuum.grounding.plans import Compared
from residuum.losses.degrees.logits import CERTAIN, Form
from residuum.losses.degrees.tensors import LARGEST


def form_of(compared: Compared) -> Form:
    """Return how the degree of a comparison follows from its tensor."""
    if compared.comparison.operator == "=":
        return "log_probs"
    return "ramp" if compared.smoothing == "ramp" and compared.scale > 0 else "logits"


def signed_difference(compared: Compared, left: Tensor, right: Tensor) -> Tensor:
    """Return the tensor of a comparison of numbers of at most 1e30 or so.

    It is positive where the comparison holds, or of `=` 0, and otherwise negative. In units of the
    scale it is cut at 1e30, where the derivative stays what it is.
    """
    is_less = compared.comparison.operator in ("<", "<=")
    difference = right - left if is_less else left - right
    if compared.comparison.operator == "=":
        difference = -difference.abs()
    if compared.scale == 0:
        return difference
    return cut(difference, min(LARGEST * compared.scale, 1e38)) / compared.scale


def cut(given: Tensor, most: float = LARGEST) -> Tensor:
    """Return numbers cut to ±`most`, with the derivative 1 everywhere.

    Values are not looked at, so that no GPU is waited for.
    """
    fixed = given.detach()
    return fixed.clamp(-most, most) + (given - fixed)


def holds(given: Tensor, operator: str) -> Tensor:
    """Return where a comparison holds, from its tensor. With NaN it does not."""
    if operator == "=":
        return given == 0
    return given >= 0 if operator in ("<=", ">=") else given > 0


def certain(given: Tensor, compared: Compared) -> Tensor:
    """Return the tensor of a comparison whose degrees are exactly 1 and 0, without gradients."""
    true, false = {"logits": (CERTAIN, -torch.inf), "log_probs": (0.0, -torch.inf)}.get(
        form_of(compared), (1.0, -1.0)
    )
    is_true = holds(given.detach(), compared.comparison.operator)
    found = torch.where(is_true, given.new_full((), true), given.new_full((), false))
    return torch.where(given.isnan(), given.detach(), found)
