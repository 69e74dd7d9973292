"""Recognises clauses: the literals of a step, and how the penalty of a clause follows from them.

A clause is violated when certain literals are all true. Its penalty depends on properties of the
t-norm, never on its class. There are three kinds:

- `excess`: a sum of sides, or 0 if the sum is negative. For `A & B -> C` the sum is the penalty of
  C minus those of A and B. This holds for a residuum whose penalty is a side of a degree, and for
  an S-implication if that side is 1 − x, because then both implications are equal.
- `complement`: −log(1 − x), where x is the product of the truths of the literals.
- `least`: the minimum of the truths of the literals, under the only idempotent t-norm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeVar

from residuum.grounding import Plan
from residuum.grounding.plans import Connect, Read
from residuum.logic import And, Implies, Not, Or
from residuum.losses.degrees.logits import Side
from residuum.relaxations import Relaxation
from residuum.relaxations.tnorms import PenaltySide

Cost = Literal["excess", "complement", "least"]
"""How the penalty of a clause follows from its literals; see the top of this file."""


class Law(NamedTuple):
    """How the penalty of a clause is computed, and the side of a degree that equals a penalty."""

    cost: Cost
    side: PenaltySide | None


T = TypeVar("T")


class Member(NamedTuple):
    """A literal of a clause: the step that reads its atom, its side, and its sign in the sum."""

    read: int
    side: Side
    sign: int


class _Literal(NamedTuple):
    """An atom or its negation. `read` is the step that reads the atom."""

    read: int
    is_negated: bool


_TRUTHS: Final[Mapping[bool, Side]] = {False: "true", True: "false"}
_FALSITIES: Final[Mapping[bool, Side]] = {False: "false", True: "true"}
_LOGARITHMS: Final[Mapping[bool, Side]] = {False: "log_true", True: "log_false"}


def law_of(relaxation: Relaxation) -> Law | None:
    """Return how clauses are penalised under a relaxation; None if none of the three kinds fits."""
    tnorm = relaxation.tnorm
    if not tnorm.has_bounded_gradients:
        return None
    side, is_residuum = tnorm.penalty_side, relaxation.kind != "S"
    if tnorm.structure == "idempotent":
        return None if is_residuum else Law("least", side)
    return Law("excess" if is_residuum or side == "false" else "complement", side)


def literals_of(plan: Plan, number: int, law: Law) -> list[Member] | None:
    """Return the literals that the penalty of a step depends on; None if it is no clause."""
    if law == Law("excess", "log_true"):
        return _of_implication(plan, number)
    found = violating_literals(plan, number, lambda step: _literal(plan, step), _negated)
    if found is None or len(found) < 2:
        return None
    if law.cost == "excess":  # 1 − (all falsities) = one truth − (the other falsities)
        *others, last = found
        turned = [Member(one.read, _FALSITIES[one.is_negated], -1) for one in others]
        return [Member(last.read, _TRUTHS[last.is_negated], 1), *turned]
    return [Member(one.read, _TRUTHS[one.is_negated], 1) for one in found]


def _of_implication(plan: Plan, number: int) -> list[Member] | None:
    """Return the literals of an implication of conjunctions; those on the right have sign −1."""
    step = plan.steps[number]
    if not isinstance(step, Connect) or step.kind is not Implies:
        return None
    antecedent, consequent = (_conjuncts(plan, operand) for operand in step.operands)
    if antecedent is None or consequent is None:
        return None
    signed = [(one, 1) for one in antecedent] + [(one, -1) for one in consequent]
    return [Member(one.read, _LOGARITHMS[one.is_negated], sign) for one, sign in signed]


def _conjuncts(plan: Plan, number: int) -> list[_Literal] | None:
    step = plan.steps[number]
    if isinstance(step, Connect) and step.kind is And:
        return _joined([_conjuncts(plan, part) for part in step.operands])
    literal = _literal(plan, number)
    return None if literal is None else [literal]


def _literal(plan: Plan, number: int) -> _Literal | None:
    step = plan.steps[number]
    if isinstance(step, Read):
        return _Literal(number, is_negated=False)
    if isinstance(step, Connect) and step.kind is Not:
        inner = _literal(plan, step.operands[0])
        return None if inner is None else _negated(inner)
    return None


def _negated(literal: _Literal) -> _Literal:
    return _Literal(literal.read, not literal.is_negated)


def violating_literals(
    plan: Plan,
    number: int,
    literal_of: Callable[[int], T | None],
    negated: Callable[[T], T],
    *,
    is_denied: bool = True,
) -> list[T] | None:
    """Return the literals that violate a step when all are true; None if it is no clause.

    `literal_of` returns the literal of a step, or None. With `is_denied=False`, return the literals
    that satisfy the step when all are true. Clauses may be written with ¬, ∧, ∨ and →.
    """

    def below(part: int, *, is_denied: bool) -> list[T] | None:
        return violating_literals(plan, part, literal_of, negated, is_denied=is_denied)

    literal = literal_of(number)
    if literal is not None:
        return [negated(literal) if is_denied else literal]
    step = plan.steps[number]
    if not isinstance(step, Connect):
        return None
    if step.kind is Not:
        return below(step.operands[0], is_denied=not is_denied)
    if step.kind is Implies and is_denied:
        left, right = step.operands
        return _joined([below(left, is_denied=False), below(right, is_denied=True)])
    if step.kind is (Or if is_denied else And):
        return _joined([below(part, is_denied=is_denied) for part in step.operands])
    return None


def _joined(parts: Sequence[list[T] | None]) -> list[T] | None:
    if any(part is None for part in parts):
        return None
    return [one for part in parts if part is not None for one in part]
