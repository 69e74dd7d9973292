"""Which groundings of a rule are aggregated, and how many there are.

An *outermost* `forall` stands below nothing but other `forall`s and `&`. Those that stand directly
below each other range over one set of groundings. A `forall` below an `&` has a set of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding import Plan
from residuum.grounding.plans import Connect, Quantify
from residuum.logic import And, Exists, Forall
from residuum.losses import aggregation
from residuum.losses.aggregation.conjunctions import cap_of
from residuum.losses.inputs.layouts import Bound
from residuum.relaxations import Relaxation
from residuum.syntax.over import CONJUNCTION, Over

if TYPE_CHECKING:
    from residuum.losses.aggregation.aggregators import Aggregator


class Chain(NamedTuple):
    """The `forall` quantifiers over one set of groundings, and the step below them."""

    quantifiers: tuple[int, ...]
    body: int


def chain_at(plan: Plan, number: int) -> Chain:
    """Return the chain of `forall` quantifiers that starts at a step; it may be empty."""
    found = []
    step = plan.steps[number]
    while isinstance(step, Quantify) and step.kind is Forall:
        found.append(number)
        number = step.operand
        step = plan.steps[number]
    return Chain(tuple(found), number)


def _chains(plan: Plan, number: int) -> Iterator[Chain]:
    """Yield the outermost chains of a rule, those inside the groundings of others included."""
    waiting = [number]
    while waiting:
        chain = chain_at(plan, waiting.pop())
        if chain.quantifiers:
            yield chain
        body = plan.steps[chain.body]
        if isinstance(body, Connect) and body.kind is And:
            waiting.extend(body.operands)


class RuleAggregation(NamedTuple):
    """How the groundings of one rule are aggregated.

    With an `aggregator` the rule is evaluated by steps that use it. With `divided`, the mean is the
    conjunction, a sum, divided by the number of groundings, so that the rule takes any route.
    """

    over: Over
    aggregator: Aggregator | None = None
    divided: Chain | None = None


def aggregation_over(
    plan: Plan, number: int, relaxation: Relaxation, over: Over
) -> RuleAggregation:
    """Return how the groundings of the rule at a step of a plan are aggregated.

    A rule to whose quantifiers `over` does not apply is a conjunction.
    """
    if over == CONJUNCTION:
        return RuleAggregation(over)
    chains = list(_chains(plan, number))
    aggregator = aggregation.aggregators.aggregator_of(over)
    is_on_degrees = isinstance(aggregator, aggregation.aggregators.OnDegrees)
    has_exists = any(isinstance(one, Quantify) and one.kind is Exists for one in plan.steps)
    if not (chains or (is_on_degrees and has_exists)):
        return RuleAggregation(CONJUNCTION)
    for chain in chains:
        _refuse_shadows(plan, chain, over)
    if over.name == "mean" and _is_sum_over(plan, chains, number, relaxation):
        return RuleAggregation(over, divided=chains[0])
    return RuleAggregation(over, aggregator)


def _is_sum_over(plan: Plan, chains: list[Chain], number: int, relaxation: Relaxation) -> bool:
    """Return whether the mean of a rule is its conjunction divided by the number of groundings."""
    [chain] = chains if len(chains) == 1 else [Chain((), number)]
    if chain.quantifiers[:1] != (number,) or not relaxation.tnorm.penalties_add_up:
        return False
    body = plan.steps[chain.body]
    # The cap of the logic holds for each grounding, and only conjunctions exceed it.
    is_conjunction = isinstance(body, Connect) and body.kind is And
    return not is_conjunction or cap_of(relaxation) is None


def _refuse_shadows(plan: Plan, chain: Chain, over: Over) -> None:
    """Raise GroundingError if a variable of a chain shadows another one of the same domain."""
    seen: set[int | None] = set()
    for number in chain.quantifiers:
        step = plan.steps[number]
        assert isinstance(step, Quantify)
        for axis in step.axes:
            if axis.dimension in seen:
                raise GroundingError(
                    f"over={str(over)!r}: expected each outermost `forall` to have variables of "
                    f"its own, but `{axis.variable}` shadows a variable around it; rename one"
                )
        seen |= {axis.dimension for axis in step.axes}


def count_groundings(chain: Chain, plan: Plan, bound: Bound) -> int:
    """Return how many groundings of a chain count if all sequences have their padded length."""
    shape = _shape(chain, plan, bound)
    mask = _mask(chain, bound)
    return math.prod(shape) if mask is None else int(mask.expand(shape).sum())


def counts_by_length(chain: Chain, plan: Plan, bound: Bound, longest: int) -> Tensor:
    """Return how many groundings count in sequences of each length from 0 to the longest."""
    shape = _shape(chain, plan, bound)
    needed = torch.zeros((1,) * plan.rank, dtype=torch.int64)
    for number in chain.quantifiers:
        for positions in bound.layout.selections[number].positions:
            needed = torch.maximum(needed, torch.as_tensor(positions) + 1)
    mask = _mask(chain, bound)
    needed = needed.expand(shape)
    counted = needed.flatten() if mask is None else needed[mask.expand(shape)]
    found = torch.bincount(counted.clamp(0, longest + 1), minlength=longest + 2)
    return found[: longest + 1].cumsum(0)


def _shape(chain: Chain, plan: Plan, bound: Bound) -> list[int]:
    shape = [1] * plan.rank
    for number in chain.quantifiers:
        step = plan.steps[number]
        assert isinstance(step, Quantify)
        for axis, length in zip(step.axes, bound.layout.selections[number].lengths, strict=True):
            assert axis.dimension is not None
            shape[axis.dimension] = length
    return shape


def _mask(chain: Chain, bound: Bound) -> Any:
    """Return which groundings of a chain count, or None if all do."""
    mask = None
    for number in chain.quantifiers:
        own = bound.masks.get(number)
        if own is not None:
            mask = own if mask is None else mask & own
    return mask
