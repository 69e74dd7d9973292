"""`over=` for rules that relate members of open domains: their rows are groundings of one example.

The groundings of a row, over outermost variables with labels, are aggregated first. Each row has as
many, so that a mean of their means is the mean of all; a share of the worst is not.
"""

from __future__ import annotations

from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding import Plan
from residuum.losses.aggregation.aggregators import OnDegrees, aggregator_of
from residuum.losses.aggregation.groundings import chain_at
from residuum.losses.degrees.tensors import TENSORS
from residuum.losses.routes.axes import AlongAxes
from residuum.relaxations import Degree, Relaxation
from residuum.relaxations.tnorms import Archimedean
from residuum.syntax.over import CONJUNCTION, Over


def combines_rows(plan: Plan, over: Over) -> bool:
    """Return whether rows are combined by `over`, in the place of a reduction.

    Those of a rule about one member of a domain are a batch, also if other rules relate members.
    Raises GroundingError if a share of the worst groundings would be taken twice.
    """
    rows = plan.relation
    if rows is None or rows.is_batch or not rows.variables or over == CONJUNCTION:
        return False
    if over.name == "worst" and chain_at(plan, len(plan.steps) - 1).quantifiers:
        raise GroundingError(
            f"over={str(over)!r}: expected outermost variables over open domains alone, but "
            f"`{plan.formula}` has others as well; write `forall` with them into a rule of its own"
        )
    return True


def over_rows(penalties: Tensor, over: Over, relaxation: Relaxation) -> Tensor:
    """Return the penalty of all rows from that of each."""
    aggregator = aggregator_of(over)
    assert aggregator is not None
    along = AlongAxes((-1,), 1, {0: len(penalties)}, None, penalties.device)
    if not isinstance(aggregator, OnDegrees):
        return aggregator.penalty(penalties, along).squeeze(-1)
    tnorm = relaxation.tnorm
    degree = Degree(TENSORS, false=penalties)
    if isinstance(tnorm, Archimedean):
        degree = tnorm.degree(TENSORS, penalties)
    found: Tensor = tnorm.penalty(aggregator.forall(degree, along)).squeeze(-1)
    return found
