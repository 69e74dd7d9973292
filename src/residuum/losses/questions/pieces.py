"""Questions that are answered block by block, so that they need the memory of one block.

The answers for the blocks of an example are combined to one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from residuum.losses.degrees.tensors import is_transformed
from residuum.losses.inputs.calls import Call
from residuum.losses.routes.blocks import flattened, part_of, split
from residuum.losses.routes.definition import Definition


class Piece(NamedTuple):
    """A call with some of the examples, and the number of the first of them."""

    call: Call
    first: int


def needs_pieces(definition: Definition, call: Call) -> bool:
    """Return whether there are more groundings in the batch than are evaluated at a time."""
    assert call.case is not None
    return call.case.groundings > definition.block(call.device) and not is_transformed()


def pieces_of(definition: Definition, call: Call) -> Iterator[Piece]:
    """Yield the parts of a call that fit a block each."""
    whole = flattened(call, definition.plan)
    if not needs_pieces(definition, call):
        # A loop over blocks would fix the batch size in a trace.
        yield Piece(whole, 0)
        return
    block = definition.block(call.device)
    for one in split(definition.plan, call.bound.layout, whole.batch[0], block):
        yield Piece(part_of(whole, one), one.rows.start)


def ask(
    definition: Definition,
    call: Call,
    answer: Callable[[Call], Tensor],
    combine: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """Return one answer per example; `combine` joins the answers for parts of an example."""
    found: dict[int, Tensor] = {}
    for piece in pieces_of(definition, call):
        one = answer(piece.call)
        known = found.get(piece.first)
        found[piece.first] = one if known is None else combine(known, one)
    return torch.cat(list(found.values()))
