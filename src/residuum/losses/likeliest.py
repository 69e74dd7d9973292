"""The likeliest class of each softmax over dimension 1: its place, or a mark of 1 where it stands.

Marks are faster on a CPU where many softmaxes stand side by side, for it works on several at a
time. Classes that are as likely share the mark, and count as one of them does.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

MANY: Final = 512
"""Softmaxes side by side from which on a CPU is faster with marks."""


def likeliest(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return what is largest of each softmax, and where it stands: as places or as marks."""
    if x.shape[2] < MANY or x.is_cuda:
        top, place = x.max(1, keepdim=True)
        return top, place
    top = x.amax(1, keepdim=True)
    marks = torch.sub(x, top).sign_().add_(1)
    return top, marks.div_(marks.sum(1, keepdim=True))


def sum_of_others(x: Tensor, where: Tensor) -> Tensor:
    """Return the sum of all but the likeliest."""
    return _others(x, where).sum(1, keepdim=True)


def at_likeliest(x: Tensor, where: Tensor) -> Tensor:
    """Return what stands at the likeliest."""
    if _are_places(where):
        return x.gather(1, where)
    return torch.mul(x, where).sum(1, keepdim=True)


def one_less(truths: Tensor, where: Tensor) -> Tensor:
    """Return 1 − x of truths that add up to 1: nothing cancels, for the likeliest too."""
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
