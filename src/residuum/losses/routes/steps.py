"""The general route: a plan step by step, from the sides of its slots to degrees and penalties.

It evaluates every rule. Tests compare every other route with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, final

import torch
from torch import Tensor

from residuum.grounding import Layout, Plan
from residuum.grounding.plans import Connect, Known, Quantify, Read
from residuum.logic import And, Forall, Implies, Not, Or
from residuum.losses.aggregation import aggregation_of, cap_of, changeable
from residuum.losses.aggregation.aggregators import Aggregator, OnDegrees
from residuum.losses.aggregation.groundings import Chain, chain_at
from residuum.losses.degrees.logits import Side, degree_with
from residuum.losses.degrees.tensors import TENSORS, impossible
from residuum.losses.inputs.calls import Call, Case
from residuum.losses.inputs.reading import Window, length_in, narrowed, read
from residuum.losses.routes.axes import AlongAxes, spread
from residuum.losses.routes.counting import count_along, count_of
from residuum.losses.routes.definition import Definition, Detached
from residuum.losses.routes.lifting import Group, Lifted, pool_side
from residuum.losses.routes.route import Evaluate, Surroundings
from residuum.relaxations import Degree, Relaxation
from residuum.relaxations.carriers import as_float
from residuum.relaxations.degrees import SIDES, truth_of

if TYPE_CHECKING:
    from residuum.losses.routes.certainty import Certainty

Sides = Callable[[int, Side], Tensor]
Changed = Callable[[int, Degree], Degree]
"""Returns the degree that takes the place of the one that a step reads."""


@final
class StepsRoute:
    """Evaluates all groundings at once, with a few tensor operations for each step of the plan."""

    name: Final = "steps"
    hands_over_because: Final = "this route never hands over"

    def __init__(self, definition: Definition) -> None:
        self._definition = definition

    def prepare(self, _case: Case, _around: Surroundings) -> Evaluate | str:
        """Return a function that evaluates calls of a case, or the reason why there is none."""
        if self._definition.is_several and self._definition.plan.rank:
            return "several rules with variables are evaluated together only as clauses"
        return self.evaluate

    def evaluate(self, call: Call) -> Tensor:
        """Return the penalties of a call, in the shape of its batch, or rules × batch."""
        evaluation = evaluation_of(self._definition, call)
        if self._definition.is_several:
            return torch.stack([self._per_example(part, call) for part in evaluation.parts()])
        return self._per_example(evaluation.total(), call)

    def _per_example(self, given: Tensor, call: Call) -> Tensor:
        found = per_example(given, call, self._definition.plan.rank)
        adds_up = self._definition.relaxation.tnorm.penalties_add_up
        return found if adds_up else changeable(found)


def per_example(given: Tensor, call: Call, rank: int) -> Tensor:
    """Return one number for each example from a tensor over all axes."""
    value: Tensor = torch.as_tensor(given, device=call.device)
    if 0 not in call.batch or not value.dtype.is_floating_point:
        return value.expand((*call.batch, *(1,) * rank)).reshape(call.batch)
    # An empty batch costs nothing, but must stay connected to the graph of its inputs.
    nothing: Tensor = sum((one.sum() for one in call.inputs), value.new_zeros(()))
    return nothing.expand(call.batch)


def evaluation_of(definition: Definition, call: Call, changed: Changed | None = None) -> Evaluation:
    """Return the evaluation of a rule on a call."""
    sources = definition.sources(call.inputs) if call.sources is None else call.sources()
    certainty, lifted = None, call.bound.lifted if definition.plan.relation is None else None
    if definition.jumps_at_false and call.case is not None and call.case.is_observed:
        from residuum.losses.routes.certainty import certainty_of

        # Rules that are evaluated together do not ask what is certain.
        certainty, lifted = certainty_of(definition.plan, call, sources), None
    return Evaluation(
        definition.plan,
        call.bound.layout,
        definition.relaxation,
        lambda slot, side: sources[slot].side(side),
        indices=call.bound.indices,
        masks={**call.bound.masks, **call.masks},
        device=call.device,
        lifted=lifted,
        window=call.window,
        detach=definition.detach,
        certainty=certainty,
        changed=changed,
        aggregator=definition.aggregator,
    )


@final
class Evaluation:
    """One evaluation of a plan. The degree of each step is computed once."""

    def __init__(
        self,
        plan: Plan,
        layout: Layout,
        relaxation: Relaxation,
        sides: Sides,
        *,
        indices: Mapping[int, Tensor],
        masks: Mapping[int, Tensor],
        device: torch.device,
        lifted: Lifted | None = None,
        window: Window | None = None,
        detach: Detached | None = None,
        certainty: Certainty | None = None,
        changed: Changed | None = None,
        aggregator: Aggregator | None = None,
    ) -> None:
        self._plan = plan
        self._layout = layout
        self._relaxation = relaxation
        self._aggregation = aggregation_of(relaxation)
        self._sides = sides
        self._indices = indices
        self._masks = masks
        self._device = device  # where constants must be created
        self._lifted = lifted
        self._window = window
        self._detach = detach
        self._certainty = certainty
        self._changed = changed
        self._aggregator = aggregator
        self._degrees: dict[int, Degree] = {}
        self._slot_penalties: dict[int, Tensor] = {}
        self._pool: dict[Side, Tensor] = {}

    # Penalties: outermost conjunctions aggregate penalties, not degrees

    def total(self) -> Tensor:
        """Return the penalty of the rule. Sums of outermost conjunctions are not capped."""
        root = self._plan.steps[-1]
        if self._lifted is not None and isinstance(root, Connect):
            parts = [self._penalty(root.operands[p], is_outermost=True) for p in self._lifted.alone]
            groups = [self._along_group(group) for group in self._lifted.groups]
            parts += [self._placed(self._aggregation.along(each, -1)) for each in groups]
            return torch.as_tensor(self._conjoin(parts, is_outermost=True))
        return torch.as_tensor(self._penalty(len(self._plan.steps) - 1, is_outermost=True))

    def parts(self) -> list[Tensor]:
        """Return the penalty of each operand of the outermost conjunction."""
        root = self._plan.steps[-1]
        assert isinstance(root, Connect)
        found: dict[int, Tensor] = {}
        for group in self._lifted.groups if self._lifted is not None else ():
            each = self._along_group(group).unbind(-1)
            found |= {p: self._placed(one) for p, one in zip(group.members, each, strict=True)}
        return [
            found[position]
            if position in found
            else torch.as_tensor(self._penalty(number, is_outermost=True))
            for position, number in enumerate(root.operands)
        ]

    def penalty(self, number: int) -> Any:
        """Return the penalty of a step below the outermost quantifiers, for each grounding."""
        return self._penalty(number, is_outermost=True)

    def _aggregated(self, number: int, aggregator: Aggregator) -> Any:
        """Return the penalty of the groundings of a chain of outermost quantifiers."""
        if isinstance(aggregator, OnDegrees):
            return self._relaxation.tnorm.penalty(self._outermost_degree(number, aggregator))
        chain = chain_at(self._plan, number)
        return aggregator.penalty(self._of_each_grounding(chain.body), self._along_chain(chain))

    def _along_chain(self, chain: Chain) -> AlongAxes:
        dimensions: list[int] = []
        lengths: dict[int, int] = {}
        mask = None
        for number in chain.quantifiers:
            step = self._plan.steps[number]
            assert isinstance(step, Quantify)
            dimensions += self._dimensions(step)
            lengths |= self._lengths(number, step)
            own = self._mask(number)
            if own is not None:
                mask = own if mask is None else mask & own
        return AlongAxes(tuple(dimensions), self._plan.rank, lengths, mask, self._device)

    def each_grounding(self, aggregator: Aggregator) -> tuple[list[Tensor], Tensor]:
        """Return what an aggregator combines, and which groundings count, as lists of groundings.

        These are those of the outermost chain, of a single example, in a penalty or in four sides.
        """
        chain = chain_at(self._plan, len(self._plan.steps) - 1)
        along = self._along_chain(chain)
        if isinstance(aggregator, OnDegrees):
            degree = self._outermost_degree(chain.body, aggregator)
            numbers = [getattr(degree, side) for side in SIDES]
        else:
            numbers = [self._of_each_grounding(chain.body)]
        counted = along.counted(True, elsewhere=False).flatten()
        return [along.counted(one, elsewhere=0.0).flatten() for one in numbers], counted

    def _of_each_grounding(self, body: int) -> Any:
        """Return the penalty of each grounding, as of a rule of its own."""
        penalty = self._penalty(body, is_outermost=True)
        cap = cap_of(self._relaxation)
        return penalty if cap is None else TENSORS.minimum(penalty, cap)

    def _outermost_degree(self, number: int, aggregator: OnDegrees) -> Degree:
        """Return the degree of a part of a rule, in which outermost quantifiers are aggregated."""
        step = self._plan.steps[number]
        if isinstance(step, Quantify) and step.kind is Forall:
            chain = chain_at(self._plan, number)
            inner = self._outermost_degree(chain.body, aggregator)
            return aggregator.forall(inner, self._along_chain(chain))
        if isinstance(step, Connect) and step.kind is And:
            parts = [self._outermost_degree(part, aggregator) for part in step.operands]
            return self._relaxation.conjoin(parts)
        if isinstance(step, Connect) and step.kind is Implies and self._detach:
            left, right = step.operands
            return self._imply(left, *self._detached_sides(left, right))
        return self.degree(number)

    def _detached_sides(self, left: int, right: int) -> list[Degree]:
        """Return antecedent and consequent, one of them without a gradient."""
        parts = [self.degree(left), self.degree(right)]
        place = ("antecedent", "consequent").index(self._detach or "")
        parts[place] = _detached(parts[place])
        return parts

    def _along_group(self, group: Group) -> Tensor:
        """Return the penalties of a group of rules of one shape: (*batch, rules)."""
        assert self._lifted is not None
        depths = [len(slot.domains) for slot in self._plan.slots]
        pool = self._lifted.pool

        def side_of_pool(_: int, side: Side) -> Tensor:
            if side not in self._pool:
                self._pool[side] = pool_side(pool, depths, self._sides, side)
            return self._pool[side]

        return Evaluation(
            group.plan,
            group.layout,
            self._relaxation,
            side_of_pool,
            indices=group.indices,
            masks={},
            device=self._device,
            detach=self._detach,
        ).total()

    def _placed(self, penalty: Tensor) -> Tensor:
        return penalty.reshape((*penalty.shape, *(1,) * self._plan.rank))

    def _penalty(self, number: int, *, is_outermost: bool) -> Any:
        step = self._plan.steps[number]
        tnorm = self._relaxation.tnorm
        match step:
            case Known(value):
                return 0.0 if value else self._cap
            case Connect(kind, operands) if kind is And:
                parts = [self._penalty(part, is_outermost=is_outermost) for part in operands]
                return self._conjoin(parts, is_outermost)
            case Quantify(kind) if kind is Forall and is_outermost and self._aggregator is not None:
                return self._aggregated(number, self._aggregator)
            case Quantify(kind) if kind is Forall:
                inner = self._penalty(step.operand, is_outermost=is_outermost)
                total = self._gather(number, step, inner)
                return total if is_outermost else self._capped(total)
            case Connect(kind, (left, right)) if (
                kind is Implies and self._relaxation.kind != "S" and tnorm.penalties_add_up
            ):
                antecedent = self._penalty(left, is_outermost=False)
                consequent = self._penalty(right, is_outermost=False)
                if is_outermost and self._detach == "antecedent":
                    antecedent = torch.as_tensor(antecedent).detach()
                if is_outermost and self._detach == "consequent":
                    consequent = torch.as_tensor(consequent).detach()
                excess = TENSORS.excess(consequent, antecedent)
                return excess if self._certainty is None else self._certainty.or_true(left, excess)
            case Connect(kind, (left, right)) if kind is Implies and is_outermost and self._detach:
                return tnorm.penalty(self._imply(left, *self._detached_sides(left, right)))
            case Read(slot) if tnorm.penalties_add_up and self._changed is None:
                # Computed once for the whole slot, whose entries may be read many times.
                if slot not in self._slot_penalties:
                    self._slot_penalties[slot] = tnorm.penalty(self._of_slot(slot))
                return self._place(number)(self._slot_penalties[slot])
        return tnorm.penalty(self.degree(number))

    @property
    def _cap(self) -> float:
        limit = as_float(self._relaxation.tnorm.limit)
        return limit if math.isfinite(limit) else -impossible(torch.float32)

    def _capped(self, penalty: Any) -> Any:
        tnorm = self._relaxation.tnorm
        if not tnorm.penalties_add_up or tnorm.limit == math.inf:  # a maximum stays below the limit
            return penalty
        return TENSORS.minimum(penalty, as_float(tnorm.limit))

    def _conjoin(self, parts: Sequence[Any], is_outermost: bool) -> Any:
        total = self._aggregation.of_parts(parts)
        return total if is_outermost else self._capped(total)

    def _gather(self, number: int, step: Quantify, penalty: Any) -> Any:
        """Return the penalty of all groundings of a quantifier: their sum, or the largest."""
        dimensions = self._dimensions(step)
        lengths = self._lengths(number, step)
        known = torch.as_tensor(penalty, device=self._device)
        penalty = spread(known, self._plan.rank, lengths)
        mask = self._mask(number)
        if mask is not None:
            penalty = penalty.masked_fill(~mask, 0.0)
        return self._aggregation.along(penalty, dimensions, keepdim=True)

    # Degrees: everything below the outermost conjunctions

    def degree(self, number: int) -> Degree:
        """Return the degree of a step."""
        if number not in self._degrees:
            self._degrees[number] = self._compute(number)
        return self._degrees[number]

    def _compute(self, number: int) -> Degree:
        step, logic = self._plan.steps[number], self._relaxation
        match step:
            case Known(value):
                return truth_of(TENSORS, value)
            case Read():
                return self._read(number, step)
            case Quantify(kind):
                inner = self.degree(step.operand)
                if step.count is not None:
                    return count_along(logic, step.count, inner, self._groundings(number, step))
                if kind is Forall:
                    return self._along(inner, number, step)
                if isinstance(self._aggregator, OnDegrees):
                    return self._aggregator.exists(inner, self._groundings(number, step))
                return self._along(inner.negated, number, step).negated
            case Connect(kind, operands):
                if kind is And:
                    return logic.conjoin(self._conjuncts(number))
                if kind is Implies and logic.kind == "S":
                    denied = self.degree(operands[1]).negated
                    return logic.conjoin([*self._conjuncts(operands[0]), denied]).negated
                parts = [self.degree(operand) for operand in operands]
                if step.count is not None:
                    return count_of(logic, step.count, parts, self._device)
                if kind is Not:
                    return logic.negate(parts[0])
                if kind is Or:
                    return logic.disjoin(parts)
                if kind is Implies:
                    return self._imply(operands[0], *parts)
                ways = [self._imply(operands[0], *parts), self._imply(operands[1], *parts[::-1])]
                return logic.tnorm.conjoin(*ways)

    def _imply(self, antecedent: int, x: Degree, y: Degree) -> Degree:
        """Return x → y, where x is the degree of the step `antecedent`."""
        found = self._relaxation.imply(x, y)
        if self._certainty is None:
            return found
        return self._certainty.or_true_degree(antecedent, found)

    def _conjuncts(self, number: int) -> list[Degree]:
        """Return the conjuncts of a step. Nested conjunctions are flattened."""
        step = self._plan.steps[number]
        if isinstance(step, Connect) and step.kind is And:
            return [degree for part in step.operands for degree in self._conjuncts(part)]
        return [self.degree(number)]

    # The functions of a lazy degree must not hold `self`, which holds the degree: the reference
    # cycle would keep tensors alive until garbage is collected.

    def _read(self, number: int, step: Read) -> Degree:
        place, sides = self._place(number), self._sides
        found = degree_with(lambda side: place(sides(step.slot, side)))
        return found if self._changed is None else self._changed(number, found)

    def _of_slot(self, slot: int) -> Degree:
        return degree_with(lambda side: self._sides(slot, side))

    def _place(self, number: int) -> Callable[[Tensor], Tensor]:
        """Return a function that reads the entries of an atom and puts them over the axes."""
        access, index = self._layout.accesses[number], self._indices.get(number)
        rank, window = self._plan.rank, self._window
        return lambda given: read(given, access, index, rank, window)

    def _along(self, x: Degree, number: int, step: Quantify) -> Degree:
        """Return the conjunction of a degree along the axes of a quantifier."""
        return self._relaxation.tnorm.conjoin_along(x, self._groundings(number, step))

    def _groundings(self, number: int, step: Quantify) -> AlongAxes:
        dimensions, lengths = self._dimensions(step), self._lengths(number, step)
        rank, mask = self._plan.rank, self._mask(number)
        return AlongAxes(dimensions, rank, lengths, mask, self._device)

    # Axes

    def _dimensions(self, step: Quantify) -> tuple[int, ...]:
        return tuple(axis.dimension - self._plan.rank for axis in step.axes)  # type: ignore[operator]

    def _lengths(self, number: int, step: Quantify) -> dict[int, int]:
        """Return the length of each dimension that a quantifier ranges over."""
        found: dict[int, int] = {}
        lengths = self._layout.selections[number].lengths
        for axis, length in zip(step.axes, lengths, strict=True):
            assert axis.dimension is not None
            found[axis.dimension] = length_in(self._window, axis.dimension, length)
        return found

    def _mask(self, number: int) -> Tensor | None:
        mask = self._masks.get(number)
        return None if mask is None else narrowed(mask, self._window, self._plan.rank)


def _detached(x: Degree) -> Degree:
    return degree_with(lambda side: torch.as_tensor(getattr(x, side)).detach())
