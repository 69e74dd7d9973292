"""Reading the entries of atoms from tensors, at the places that a layout lists."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from residuum.grounding.layouts import Access, Entry


@dataclass(frozen=True)
class Window:
    """A part of one axis. A block evaluates only the groundings inside its window."""

    dimension: int
    start: int
    stop: int


def narrowed(mask: Tensor, window: Window | None, rank: int) -> Tensor:
    """Return the part of a mask over all axes that lies in a window."""
    if window is None or mask.shape[window.dimension - rank] == 1:
        return mask
    return mask.narrow(window.dimension - rank, window.start, window.stop - window.start)


def length_in(window: Window | None, dimension: int, length: int) -> int:
    """Return how many steps of an axis lie in a window."""
    if window is None or window.dimension != dimension:
        return length
    return window.stop - window.start


def read(given: Tensor, access: Access, index: Tensor | None, rank: int, window: Window | None
         ) -> Tensor:  # fmt: skip
    """Return the entries of a slot over the axes: (*batch, axis 0, axis 1, …)."""
    depth = len(access.entries)
    if depth == 0:
        return given.reshape(given.shape + (1,) * rank)
    if 0 in given.shape[-depth:]:  # positions outside read entry 0, and a mask drops them later
        sizes = given.shape[-depth:]
        given = functional.pad(given, [n for size in reversed(sizes) for n in (0, int(size == 0))])
    kept: list[int] = []  # the axis of each remaining dimension, in order; −1 if read jointly
    result = given
    dimension = given.dim() - depth
    for entry in access.entries:
        if entry is None:
            kept.append(-1)
            dimension += 1
        elif entry.axis is None:
            result = result.select(dimension, entry.start)
        else:
            result = _along(result, dimension, entry, window)
            kept.append(entry.axis)
            dimension += 1
    if index is not None:
        result, kept = _jointly(result, kept, index, window)
    return _in_order(result, kept, rank)


def _along(given: Tensor, dimension: int, entry: Entry, window: Window | None) -> Tensor:
    start, length = entry.start, entry.length
    first = 0
    if window is not None and window.dimension == entry.axis:
        first, length = window.start, window.stop - window.start
    if entry.index is not None:
        listed = torch.as_tensor(entry.index, device=given.device)
        return given.index_select(dimension, listed[first : first + length])
    if start + first == 0 and length == given.shape[dimension]:
        return given
    return given.narrow(dimension, start + first, length)


def _jointly(
    given: Tensor, kept: list[int], index: Tensor, window: Window | None
) -> tuple[Tensor, list[int]]:
    """Return the tensor with the dimensions marked −1 read together, at flat positions."""
    if window is not None and index.shape[window.dimension] != 1:
        index = index.narrow(window.dimension, window.start, window.stop - window.start)
    count = given.dim() - len(kept)
    alone = [count + i for i, axis in enumerate(kept) if axis >= 0]
    together = [count + i for i, axis in enumerate(kept) if axis < 0]
    moved = given.permute(*range(count), *alone, *together)
    flat = moved.flatten(-len(together)) if len(together) > 1 else moved
    axes = [d for d, n in enumerate(index.shape) if n != 1]
    found = flat.index_select(-1, index.reshape(-1))
    shaped = found.reshape(*found.shape[:-1], *(index.shape[d] for d in axes))
    return shaped, [axis for axis in kept if axis >= 0] + axes


def _in_order(given: Tensor, axes: list[int], rank: int) -> Tensor:
    """Return the tensor with its dimensions in axis order; a missing axis gets length 1."""
    count = given.dim() - len(axes)
    if axes != sorted(axes):
        order = sorted(range(len(axes)), key=axes.__getitem__)
        given = given.permute(*range(count), *(count + i for i in order))
        axes = sorted(axes)
    shape = [1] * rank
    for position, axis in enumerate(axes):
        shape[axis] = given.shape[count + position]
    return given.reshape((*given.shape[:count], *shape))
