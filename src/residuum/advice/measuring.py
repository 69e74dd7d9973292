"""What the loss of a rule does on a sample of predictions, under each relaxation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from residuum.advice.samples import Sample
from residuum.errors import ResiduumError
from residuum.grounding.plans import Connect
from residuum.logic import And, Atom, Formula, Implies, Not, Or, atoms_of
from residuum.losses import compile as compile_rule
from residuum.losses.aggregation import capped
from residuum.losses.questions.each import SingleGroundings
from residuum.losses.questions.explain import slots_below
from residuum.losses.rules import CompiledRule
from residuum.relaxations import Relaxation
from residuum.relaxations.catalogue import EXACT
from residuum.relaxations.tnorms import Archimedean
from residuum.syntax import Knowledge

STEPS: Final = 60
"""How many steps the logits follow the gradient of the rule alone."""

LENGTH: Final = 0.5
"""The length of one step in the logits of each example."""


@dataclass(frozen=True)
class Measured:
    """One rule under one relaxation on one sample. Shares lie between 0 and 1.

    A field is None where it has no value: nothing is violated, the rule is no implication, or the
    computation would take too long.

    - A grounding is *violated* if it is false for the predicted classes: the likeliest class of a
      softmax, and true for a sigmoid above 1/2. `violated` is the share of such groundings.
    - `stuck` is the share of the violated groundings for which the loss has no gradient.
    - `raising` is the share of the gradient at the other violated groundings that raises their
      consequent. The rest lowers their antecedent.
    - `mended` and `evaded` are shares of the violated groundings that become true when the logits
      follow the gradient of the rule alone: `mended` with an antecedent that is still predicted,
      `evaded` because it no longer is. A rule that only forbids has no `evaded`, because it does
      not say which side is wrong.
    - `bytes` is the memory for one number per grounding of an example, in single precision.
    """

    rule: str
    sample: str
    relaxation: str
    examples: int
    groundings: int
    bytes: int
    violated: float
    stuck: float | None
    raising: float | None
    mended: float | None
    evaded: float | None


class PenaltyGradients(NamedTuple):
    """The penalty of each example, and its gradients by the parts of the groundings.

    A gradient has the shape (examples, groundings).
    """

    total: Tensor
    by_part: Mapping[str, Tensor]


def measure(
    knowledge: Knowledge, rule: str, sample: Sample, relaxations: Sequence[Relaxation]
) -> list[Measured]:
    """Return the measurements of one rule of a rule file, for each relaxation but `exact`.

    All groundings of all examples are in memory at once: `fit` makes a sample small enough.
    """
    return [
        Measured(rule=rule, sample=sample.name, relaxation=one.name,
                 **_measure(compiled_rule(knowledge, rule, one), sample))
        for one in relaxations
        if one != EXACT
    ]  # fmt: skip


def compiled_rule(knowledge: Knowledge, rule: str, relaxation: str | Relaxation) -> CompiledRule:
    """Return one rule with a penalty for each example, and without its weight.

    A weight of 0 would hide every gradient. If the rule costs the mean over its groundings, so does
    the compiled one; other aggregators of the file are left out.
    """
    asked = knowledge.rules[rule]
    over = "mean" if asked.over == "mean" else None
    return compile_rule(asked.formula, relaxation, knowledge=knowledge, weight=1.0, over=over,
                        reduction="none")  # fmt: skip


class Given(NamedTuple):
    """What one rule reads of a sample."""

    tensors: Mapping[str, Tensor]
    lengths: Tensor | None
    observed: Mapping[str, Tensor] | None


def given_to(compiled: CompiledRule, sample: Sample) -> Given:
    """Return what a rule reads of a sample."""
    names = {slot.name for slot in compiled.plan.given}
    if not names:
        raise ResiduumError(
            f"expected rules with atoms, but `{compiled.formula}` reads no predictions, so that "
            "nothing can be measured; remove it from the file"
        )
    return Given(
        {name: one for name, one in sample.logits.items() if name in names},
        sample.lengths if compiled.plan.sequence_domains else None,
        {name: one for name, one in sample.observed.items() if name in names} or None,
    )


def _measure(compiled: CompiledRule, sample: Sample) -> dict[str, Any]:
    """Return all fields of `Measured` that depend on one relaxation."""
    tensors, lengths, observed = given = given_to(compiled, sample)
    with torch.no_grad():
        before = compiled.each(tensors, lengths=lengths, observed=observed)
        after = compiled.each(_descended(compiled, given), lengths=lengths, observed=observed)
    examples, entries = before.counted.shape
    groundings = int(before.counted.sum(1).max()) if entries else 0
    if compiled.over == "mean":
        before, after = _apart(before), _apart(after)
    violated = before.counted & ~before.holds
    may_evade = _may_evade(compiled, before.formula, sample)
    is_mended = after.holds & after.covered if may_evade else after.holds
    return {
        "examples": examples,
        "groundings": groundings,
        "bytes": 4 * entries,
        "violated": _share(violated, before.counted) or 0.0,
        "stuck": _share(_is_stuck(before, compiled.relaxation), violated),
        "raising": _raising(before, compiled.relaxation, violated),
        "mended": _share(is_mended, violated),
        "evaded": _share(after.holds & ~after.covered, violated) if may_evade else None,
    }


def _apart(each: SingleGroundings) -> SingleGroundings:
    """Return groundings whose mean counts: neither a cap nor the worst one joins them."""
    return each._replace(
        parts={name: part.reshape(-1, 1) for name, part in each.parts.items()},
        counted=each.counted.reshape(-1, 1),
        holds=each.holds.reshape(-1, 1),
        covered=each.covered.reshape(-1, 1),
    )


def _may_evade(compiled: CompiledRule, formula: Formula, sample: Sample) -> bool:
    """Return whether it is wrong to mend a grounding by a false antecedent.

    It is not if the rule only forbids, or if its consequent is observed.
    """
    if not isinstance(formula, Implies) or _denies(formula.consequent):
        return False
    read = observed_consequents(compiled)
    return not read or not all(map(sample.is_observed, read))


def observed_consequents(compiled: CompiledRule) -> set[str]:
    """Return the names of the tensors that consequents of the rule read."""
    plan = compiled.plan
    implications = [one for one in plan.steps if isinstance(one, Connect) and one.kind is Implies]
    return slots_below(plan, [one.operands[1] for one in implications])


def _denies(formula: Formula) -> bool:
    """Return whether all atoms of a formula of `&` and `|` are negated."""
    rest = [formula]
    while rest:
        match rest.pop():
            case Not(Atom()):
                pass
            case And() | Or() as joined:
                rest += joined.operands
            case _:
                return False
    return True


def _share(which: Tensor, among: Tensor) -> float | None:
    return float(which[among].double().mean()) if bool(among.any()) else None


def penalty_gradients(
    formula: Formula, parts: Mapping[str, Tensor], counted: Tensor, relaxation: Relaxation
) -> PenaltyGradients:
    """Return the penalty of each example, and its gradient by each part of each grounding.

    The penalties of the groundings are added up, or the largest is taken, as in the rule itself.
    """
    leaves = {name: part.detach().clone().requires_grad_() for name, part in parts.items()}
    penalties = compile_rule(formula, relaxation, inputs="probs", reduction="none")(leaves)
    penalties = penalties.expand(counted.shape).masked_fill(~counted, 0.0)
    adds_up = isinstance(relaxation.tnorm, Archimedean)
    joined = penalties.sum(1) if adds_up or not counted.shape[1] else penalties.amax(1)
    total = capped(joined, relaxation)
    found = torch.autograd.grad(total.sum(), list(leaves.values()), materialize_grads=True)
    return PenaltyGradients(total.detach(), dict(zip(leaves, found, strict=True)))


def _is_stuck(each: SingleGroundings, relaxation: Relaxation) -> Tensor:
    gradients = penalty_gradients(each.formula, each.parts, each.counted, relaxation).by_part
    # By the logit the degree x has the derivative x(1 - x), which is 0 for x = 0 and x = 1.
    moves = [gradients[name] * part * (1 - part) != 0 for name, part in each.parts.items()]
    return ~torch.stack(moves).any(0) if moves else torch.ones_like(each.counted)


def _raising(each: SingleGroundings, relaxation: Relaxation, violated: Tensor) -> float | None:
    formula = each.formula
    if not isinstance(formula, Implies):
        return None
    sides = {}
    for name, side in (("antecedent", formula.antecedent), ("consequent", formula.consequent)):
        read = {str(atom): each.parts[str(atom)] for atom in atoms_of(side)}
        if not read:
            return None
        sides[name] = compile_rule(side, relaxation, inputs="probs").truth(read)
    implication = Implies(Atom("antecedent"), Atom("consequent"))
    gradients = penalty_gradients(implication, sides, each.counted, relaxation).by_part
    lowering, raising = (
        # What is certain, as evidence is, does not move.
        gradients[name].abs().masked_fill(sides[name] * (1 - sides[name]) == 0, 0.0)
        for name in ("antecedent", "consequent")
    )
    moved = violated & (lowering + raising > 0)
    if not bool(moved.any()):
        return None
    return float((raising[moved] / (lowering + raising)[moved]).mean())


def _descended(compiled: CompiledRule, given: Given) -> dict[str, Tensor]:
    """Return the logits after gradient descent on the rule alone, in steps of equal length."""
    moving = {name: tensor.clone() for name, tensor in given.tensors.items()}
    for _ in range(STEPS if moving else 0):
        with torch.enable_grad():
            leaves = [tensor.requires_grad_() for tensor in moving.values()]
            total = compiled(moving, lengths=given.lengths, observed=given.observed).sum()
            if not total.requires_grad:  # only comparisons are left, or what is observed
                break
            gradients = torch.autograd.grad(total, leaves, materialize_grads=True)
        squares = [one.square().reshape(len(one), -1).sum(1) for one in gradients]
        size = torch.stack(squares).sum(0).sqrt()
        scale = torch.where(size > 0, LENGTH / size, 0.0)
        moving = {
            name: tensor.detach() - scale.reshape(-1, *(1,) * (tensor.dim() - 1)) * gradient
            for (name, tensor), gradient in zip(moving.items(), gradients, strict=True)
        }
    return {name: tensor.detach() for name, tensor in moving.items()}
