"""A plan under a relaxation: from the sides of its slots to degrees and penalties."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Literal, final

import torch
from torch import Tensor

from residuum.grounding import Layout, Plan
from residuum.grounding.plans import Connect, Known, Quantify, Read
from residuum.logic import And, Forall, Iff, Implies, Not, Or
from residuum.losses.lifting import Group, Lifted, pool_side
from residuum.losses.reading import Window, length_in, narrowed, read
from residuum.losses.softmaxes import Side
from residuum.losses.tensors import LARGEST, TENSORS, impossible
from residuum.relaxations import Degree, Relaxation
from residuum.relaxations.carriers import Exact, as_float
from residuum.relaxations.degrees import Later, truth_of
from residuum.relaxations.minimum import Minimum
from residuum.relaxations.product import Product
from residuum.relaxations.tnorms import Archimedean, OnLogarithms

Sides = Callable[[int, Side], Tensor]
Detached = Literal["antecedent", "consequent"]


@final
class Evaluation:
    """One run of a plan: degrees of steps, each computed once."""

    def __init__(
        self,
        plan: Plan,
        layout: Layout,
        relaxation: Relaxation,
        sides: Sides,
        *,
        indices: Mapping[int, Tensor],
        masks: Mapping[int, Tensor],
        lifted: Lifted | None = None,
        window: Window | None = None,
        detach: Detached | None = None,
    ) -> None:
        self._plan = plan
        self._layout = layout
        self._relaxation = relaxation
        self._sides = sides
        self._indices = indices
        self._masks = masks
        self._lifted = lifted
        self._window = window
        self._detach = detach
        self._degrees: dict[int, Degree] = {}
        self._slot_penalties: dict[int, Tensor] = {}
        self._pool: dict[Side, Tensor] = {}

    # Penalties: what the outermost conjunctions add up

    def total(self) -> Tensor:
        """Return the penalty of the rule, its outermost conjunctions not yet capped."""
        root = self._plan.steps[-1]
        if self._lifted is not None and isinstance(root, Connect):
            parts = [self._penalty(root.operands[p], is_outermost=True) for p in self._lifted.alone]
            for group in self._lifted.groups:
                along = self._along_group(group)
                parts.append(self._placed(along.sum(-1) if self._adds_up else along.amax(-1)))
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

    def _along_group(self, group: Group) -> Tensor:
        """Return the penalties of rules alike in shape: (*batch, rules)."""
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
            detach=self._detach,
        ).total()

    def _placed(self, penalty: Tensor) -> Tensor:
        return penalty.reshape((*penalty.shape, *(1,) * self._plan.rank))

    @property
    def _adds_up(self) -> bool:
        return isinstance(self._relaxation.tnorm, Archimedean)

    def _penalty(self, number: int, *, is_outermost: bool) -> Any:
        step = self._plan.steps[number]
        tnorm = self._relaxation.tnorm
        match step:
            case Known(value):
                return 0.0 if value else self._cap
            case Connect(kind, operands) if kind is And:
                parts = [self._penalty(part, is_outermost=is_outermost) for part in operands]
                return self._conjoin(parts, is_outermost)
            case Quantify(kind) if kind is Forall:
                inner = self._penalty(step.operand, is_outermost=is_outermost)
                total = self._gather(number, step, inner)
                return total if is_outermost else self._capped(total)
            case Connect(kind, (left, right)) if (
                kind is Implies and self._relaxation.kind != "S" and isinstance(tnorm, Archimedean)
            ):
                antecedent = self._penalty(left, is_outermost=False)
                consequent = self._penalty(right, is_outermost=False)
                if is_outermost and self._detach == "antecedent":
                    antecedent = torch.as_tensor(antecedent).detach()
                if is_outermost and self._detach == "consequent":
                    consequent = torch.as_tensor(consequent).detach()
                return TENSORS.excess(consequent, antecedent)
            case Connect(kind, (left, right)) if kind is Implies and is_outermost and self._detach:
                parts = [self.degree(left), self.degree(right)]
                place = ("antecedent", "consequent").index(self._detach)
                parts[place] = _detached(parts[place])
                return tnorm.penalty(self._relaxation.imply(*parts))
            case Read(slot) if isinstance(tnorm, Archimedean):
                # Penalties of what is read often are computed once, where it comes from.
                if slot not in self._slot_penalties:
                    self._slot_penalties[slot] = tnorm.penalty(self._of_slot(slot))
                return self._place(number)(self._slot_penalties[slot])
        return tnorm.penalty(self.degree(number))

    @property
    def _cap(self) -> float:
        tnorm = self._relaxation.tnorm
        limit = as_float(tnorm.limit) if isinstance(tnorm, Archimedean) else 1.0
        return limit if math.isfinite(limit) else -impossible(torch.float32)

    def _capped(self, penalty: Any) -> Any:
        tnorm = self._relaxation.tnorm
        if not isinstance(tnorm, Archimedean) or tnorm.limit == math.inf:
            return penalty
        return TENSORS.minimum(penalty, as_float(tnorm.limit))

    def _conjoin(self, parts: Sequence[Any], is_outermost: bool) -> Any:
        if not isinstance(self._relaxation.tnorm, Archimedean):
            return reduce(TENSORS.maximum, parts)
        total = sum(parts[1:], start=parts[0])
        return total if is_outermost else self._capped(total)

    def _gather(self, number: int, step: Quantify, penalty: Any) -> Any:
        """Return the penalty of all groundings together: their sum, or the largest."""
        dimensions = self._dimensions(step)
        lengths = self._lengths(number, step)
        penalty = _spread(torch.as_tensor(penalty), self._plan.rank, lengths)
        mask = self._mask(number)
        if mask is not None:
            penalty = penalty.masked_fill(~mask, 0.0)
        if isinstance(self._relaxation.tnorm, Archimedean):
            return penalty.sum(dimensions, keepdim=True)
        if 0 in (penalty.shape[d] for d in dimensions):
            return penalty.sum(dimensions, keepdim=True)  # over no groundings: true
        return penalty.amax(dimensions, keepdim=True)

    # Degrees: everything inside

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
                if kind is Forall:
                    return self._along(inner, number, step)
                return self._along(inner.negated, number, step).negated
            case Connect(kind, operands):
                if kind is And:
                    return logic.conjoin(self._conjuncts(number))
                if kind is Implies and logic.kind == "S":
                    denied = self.degree(operands[1]).negated
                    return logic.conjoin([*self._conjuncts(operands[0]), denied]).negated
                parts = [self.degree(operand) for operand in operands]
                if kind is Not:
                    return logic.negate(parts[0])
                if kind is Or:
                    return logic.disjoin(parts)
                return (logic.equate if kind is Iff else logic.imply)(*parts)

    def _conjuncts(self, number: int) -> list[Degree]:
        """Return what a step is the conjunction of, nested ones flattened: they are associative."""
        step = self._plan.steps[number]
        if isinstance(step, Connect) and step.kind is And:
            return [degree for part in step.operands for degree in self._conjuncts(part)]
        return [self.degree(number)]

    # What a degree computes later must not hold `self`, which holds the degree: such a cycle
    # would keep the tensors of a run until Python looks for cycles.

    def _read(self, number: int, step: Read) -> Degree:
        place, sides = self._place(number), self._sides
        return degree_with(lambda side: place(sides(step.slot, side)))

    def _of_slot(self, slot: int) -> Degree:
        return degree_with(lambda side: self._sides(slot, side))

    def _place(self, number: int) -> Callable[[Tensor], Tensor]:
        """Return how the entries that an atom reads are put over the axes."""
        access, index = self._layout.accesses[number], self._indices.get(number)
        rank, window = self._plan.rank, self._window
        return lambda given: read(given, access, index, rank, window)

    def _along(self, x: Degree, number: int, step: Quantify) -> Degree:
        """Return the conjunction of a degree over the axes of a quantifier."""
        tnorm = self._relaxation.tnorm
        dimensions, mask = self._dimensions(step), self._mask(number)
        rank, lengths = self._plan.rank, self._lengths(number, step)

        def side(value: Any, elsewhere: float) -> Tensor:
            spread = _spread(torch.as_tensor(value), rank, lengths)
            return spread if mask is None else spread.masked_fill(~mask, elsewhere)

        def largest(value: Any, elsewhere: float = 0.0) -> Tensor:
            given = side(value, elsewhere)
            if 0 in (given.shape[d] for d in dimensions):
                return given.sum(dimensions, keepdim=True) + elsewhere
            return given.amax(dimensions, keepdim=True)

        if isinstance(tnorm, Minimum):
            return Degree(
                TENSORS,
                true=Later(lambda: -largest(-x.true, elsewhere=-1.0)),
                false=Later(lambda: largest(x.false)),
            )
        if isinstance(tnorm, Product):
            total = Later(lambda: side(x.log_true, 0.0).sum(dimensions, keepdim=True))

            def log_false() -> Tensor:
                sides = side(x.log_false, -LARGEST)
                found = torch.logsumexp(sides, dimensions, keepdim=True)
                return found.masked_fill(found <= -LARGEST, impossible(found.dtype))

            true = Later(lambda: torch.exp(total.number))
            false = Later(lambda: -torch.expm1(total.number))
            return Degree(
                TENSORS,
                true=true,
                log_true=total,
                false=false,
                log_false=Later(lambda: TENSORS.log_complement(true, false, log_false)),
            )
        if isinstance(tnorm, OnLogarithms):
            logarithms = side(tnorm.log_root(x), -LARGEST)
            return tnorm.degree_at(TENSORS, _log_norm(logarithms, dimensions, tnorm.exponent))
        if isinstance(tnorm, Archimedean):
            penalties = side(tnorm.penalty(x), 0.0).sum(dimensions, keepdim=True)
            limit = min(as_float(tnorm.limit), LARGEST)
            return tnorm.degree(TENSORS, TENSORS.minimum(penalties, limit))
        return _halving(tnorm.conjoin, side(x.true, 1.0), dimensions)

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


def _spread(x: Tensor, rank: int, lengths: Mapping[int, int]) -> Tensor:
    """Return x with its full length along the axes: what they do not change counts often."""
    shape = [1] * (rank - x.dim()) + list(x.shape)
    for dimension, length in lengths.items():
        shape[dimension - rank] = length
    return x.expand(shape)


def degree_with(side: Callable[[Side], Tensor]) -> Degree:
    """Return the degree whose sides a function gives, each when it is asked for."""
    return Degree(
        TENSORS,
        true=Later(lambda: side("true")),
        false=Later(lambda: side("false")),
        log_true=Later(lambda: side("log_true")),
        log_false=Later(lambda: side("log_false")),
    )


def _log_norm(logarithms: Tensor, dimensions: tuple[int, ...], p: Exact) -> Tensor:
    """Return `log_norm` along dimensions; over nothing it is log 0, as tensors have it."""
    nothing = impossible(logarithms.dtype)
    if 0 in (logarithms.shape[d] for d in dimensions):
        return logarithms.sum(dimensions, keepdim=True) + nothing
    largest = logarithms.amax(dimensions, keepdim=True).detach()
    exponent = TENSORS.constant(p)
    below = torch.logsumexp(exponent * (logarithms - largest), dimensions, keepdim=True)
    found = largest + below / exponent
    return found.masked_fill(largest <= -LARGEST, nothing)


def _detached(x: Degree) -> Degree:
    return degree_with(lambda side: torch.as_tensor(getattr(x, side)).detach())


def _halving(conjoin: Callable[[Degree, Degree], Degree], x: Tensor, dimensions: Sequence[int]
             ) -> Degree:  # fmt: skip
    """Conjoin along dimensions pair by pair: for t-norms that offer nothing better."""
    for dimension in dimensions:
        if x.shape[dimension] == 0:
            shape = list(x.shape)
            shape[dimension] = 1
            x = x.new_ones(shape)
        while x.shape[dimension] > 1:
            half = x.shape[dimension] // 2
            first, second = x.narrow(dimension, 0, half), x.narrow(dimension, half, half)
            rest = x.narrow(dimension, 2 * half, x.shape[dimension] % 2)
            pairs = conjoin(Degree(TENSORS, true=first), Degree(TENSORS, true=second)).true
            x = torch.cat([pairs, rest], dimension)
    return Degree(TENSORS, true=x)
