"""How many groundings a rule has: those of its outermost `forall` quantifiers."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from residuum.errors import GroundingError
from residuum.grounding.layouts import lay_out
from residuum.grounding.plans import Plan, Quantify
from residuum.limits import MOST_ENTRIES
from residuum.logic import Forall


def count_groundings(plan: Plan, lengths: Mapping[str, int]) -> int:
    """Return the number of groundings of one example, with sequences of these lengths.

    Guards and positions outside of a sequence are taken into account. GroundingError says that the
    table of what they leave is too large to count.
    """
    layout = lay_out(plan, lengths)
    sizes, masks = [1] * plan.rank, []
    number = len(plan.steps) - 1
    while isinstance(step := plan.steps[number], Quantify) and step.kind is Forall:
        selection = layout.selections[number]
        for axis, length in zip(step.axes, selection.lengths, strict=True):
            if axis.dimension is not None:
                sizes[axis.dimension] = length
        if selection.mask is not None:
            masks.append(selection.mask)
        number = step.operand
    if not masks:
        return math.prod(sizes)
    shape = np.broadcast_shapes(*(mask.shape for mask in masks))
    if math.prod(shape) > MOST_ENTRIES:
        raise GroundingError(
            f"expected at most {MOST_ENTRIES:,} groundings to count under several guards, got "
            f"{math.prod(shape):,}; make the domains smaller"
        )
    together = masks[0] if len(masks) == 1 else np.logical_and.reduce(np.broadcast_arrays(*masks))
    # A mask has length 1 along an axis that it does not depend on.
    shape = (1,) * (plan.rank - together.ndim) + together.shape
    free = [size for size, own in zip(sizes, shape, strict=True) if own == 1]
    return int(np.count_nonzero(together)) * math.prod(free)
