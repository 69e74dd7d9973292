"""A call in pieces: some of its examples at a time, and a window of the first variable.

What is asked about each example is asked of its pieces, and the answers are combined, so that
memory is that of one piece.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from residuum.losses.reading import Window
from residuum.losses.receiving import Call
from residuum.losses.tensors import TENSORS
from residuum.relaxations import Degree
from residuum.relaxations.tnorms import TNorm


class Piece(NamedTuple):
    """A call with some of the examples, a window of its groundings, and its first example."""

    call: Call
    window: Window | None
    first: int


def in_one(call: Call, inputs: Sequence[Tensor]) -> Piece:
    """Return a call as one piece; its inputs, with one batch dimension, are given too."""
    flat = call._replace(
        inputs=list(inputs),
        batch=(math.prod(call.batch),),
        masks=flat_masks(call.masks, call.batch),
        lengths=None if call.lengths is None else call.lengths.reshape(-1),
    )
    return Piece(flat, None, 0)


def cut(piece: Piece, parts: Iterable[tuple[slice, Window | None]]) -> Iterator[Piece]:
    """Yield the parts of a call that is in one piece."""
    call = piece.call
    for rows, window in parts:
        part = call._replace(
            inputs=[given[rows] for given in call.inputs],
            batch=(rows.stop - rows.start,),
            masks={number: mask[rows] for number, mask in call.masks.items()},
            lengths=None if call.lengths is None else call.lengths[rows],
        )
        yield Piece(part, window, rows.start)


def flat_masks(masks: Mapping[int, Tensor], batch: tuple[int, ...]) -> dict[int, Tensor]:
    """Return masks with their batch dimensions as one."""
    examples = math.prod(batch)
    return {n: mask.reshape(examples, *mask.shape[len(batch) :]) for n, mask in masks.items()}


def ask(
    pieces: Iterable[Piece],
    answer: Callable[[Piece], Tensor],
    combine: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """Return one answer per example, those of the windows of an example combined."""
    found: dict[int, Tensor] = {}
    for piece in pieces:
        one = answer(piece)
        known = found.get(piece.first)
        found[piece.first] = one if known is None else combine(known, one)
    return torch.cat(list(found.values()))


def truth_in_pieces(
    pieces: Iterable[Piece], degree: Callable[[Piece], Degree], tnorm: TNorm
) -> Tensor:
    """Return one degree of truth per example; windows are conjoined on both sides.

    Gradients are taken piece by piece as well, each being evaluated again for them.
    """

    def sides(piece: Piece) -> Tensor:
        def evaluate(*inputs: Tensor) -> Tensor:
            one = degree(piece._replace(call=piece.call._replace(inputs=list(inputs))))
            return _stacked(one, piece.call)

        inputs = piece.call.inputs
        if torch.is_grad_enabled() and any(given.requires_grad for given in inputs):
            found: Tensor = checkpoint(
                evaluate, *inputs, use_reentrant=False, preserve_rng_state=False
            )
            return found
        return evaluate(*inputs)

    def conjoin(first: Tensor, second: Tensor) -> Tensor:
        x, y = (Degree(TENSORS, true=one[:, 0], false=one[:, 1]) for one in (first, second))
        both = tnorm.conjoin(x, y)
        return torch.stack([both.true, both.false], -1)

    return ask(pieces, sides, conjoin)[:, 0]


def _stacked(degree: Degree, call: Call) -> Tensor:
    sides = (torch.as_tensor(side, device=call.device) for side in (degree.true, degree.false))
    return torch.stack([side.flatten().expand(*call.batch) for side in sides], -1)
