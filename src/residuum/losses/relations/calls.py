"""Calls of rules that relate members of open domains: all rows are the examples of one call."""

from __future__ import annotations

from residuum.errors import GroundingError
from residuum.grounding import Plan
from residuum.losses.inputs.arguments import Inputs
from residuum.losses.inputs.calls import Call, Receiver
from residuum.losses.relations.grounded import Grounded
from residuum.losses.relations.tables import from_tables


def on_rows(receiver: Receiver, plan: Plan, given: Inputs, *, check: bool) -> Call:
    """Return a checked call of a rule on all its rows. The tensors are tables, or those of rows."""
    tensors, lengths, observed = given
    if lengths is not None:
        raise GroundingError("lengths: expected none, as no rule is over a sequence")
    rows = tensors if isinstance(tensors, Grounded) else from_tables(plan, tensors, observed)
    call = receiver.receive(Inputs(rows.tensors, None, rows.labels or None), check=check)
    masks = {
        number: mask & call.bound.masks[number] if number in call.bound.masks else mask
        for number, mask in rows.masks.items()
    }
    return call._replace(masks=masks, rows=rows)
