"""What a rule's loss does on a sample, under one relaxation."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from residuum.advice.samples import Sample
from residuum.analysis import self_consistency
from residuum.errors import ResiduumError
from residuum.logic import And, Atom, Formula, Implies, Not, Or, atoms_of
from residuum.losses import compile as compile_rule
from residuum.losses.aggregation import capped
from residuum.losses.questions.each import SingleGroundings
from residuum.losses.rules import CompiledRule
from residuum.relaxations import Relaxation
from residuum.relaxations.tnorms import Archimedean
from residuum.syntax import Knowledge

STEPS: Final = 60
LENGTH: Final = 0.5
"""A descent on the rule alone: so many steps, of this length in the logits of each example."""

MOST_DEGREES: Final = 1 << 22
"""Groundings times examples that are looked at; of a larger sample, every n-th example is."""

ROUNDS: Final = 12
SECONDS: Final = 1.0
"""How often calls are timed, and how long a self-consistency may take."""


@dataclass(frozen=True)
class Measured:
    """One rule under one relaxation on one sample. Shares are from 0 to 1; None: not to be had.

    A grounding is *violated* if it is false of the predictions: the likeliest class, or what is
    likelier than not. Of the violated ones `stuck` are those that the loss has no gradient for;
    `raising` is how much of the pull on the others raises their consequent, the rest lowers their
    antecedent. If the logits follow the gradient of the rule alone, `mended` of the violated ones
    become true with their antecedent still predicted, and `evaded` because it no longer is. A rule
    that only forbids has no side to evade to: which of the two is wrong it does not say.
    `disagreement` is the mean distance of the degree of truth from the exact probability.
    `self_consistency` is that of one grounding, its atoms free. `seconds` is what one example
    costs, forward and backward, and `cost` its ratio to the cheapest relaxation.
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
    disagreement: float | None
    self_consistency: float | None
    seconds: float
    cost: float


class Pull(NamedTuple):
    """A penalty per example, and its slopes by the parts of groundings: (examples, groundings)."""

    total: Tensor
    slopes: Mapping[str, Tensor]


def measure(
    knowledge: Knowledge, rule: str, sample: Sample, relaxations: Sequence[Relaxation]
) -> list[Measured]:
    """Measure one rule of a knowledge under each relaxation."""
    thinned = _thinned(knowledge, rule, sample)
    rules = [_compiled(knowledge, rule, one) for one in relaxations]
    seconds = _seconds(rules, thinned)
    return [
        Measured(
            rule=rule,
            sample=sample.name,
            relaxation=one.name,
            seconds=taken,
            cost=taken / min(seconds),
            **_measure(knowledge, rule, compiled, thinned),
        )
        for one, compiled, taken in zip(relaxations, rules, seconds, strict=True)
    ]


def _compiled(knowledge: Knowledge, rule: str, relaxation: str | Relaxation) -> CompiledRule:
    # Without its weight: one of 0 would hide every gradient.
    formula = knowledge.rules[rule].formula
    return compile_rule(formula, relaxation, knowledge=knowledge, weight=1.0, reduction="none")


def _own(compiled: CompiledRule, sample: Sample) -> tuple[dict[str, Tensor], Tensor | None]:
    logits = {slot.name: sample.logits[slot.name] for slot in compiled.plan.slots}
    return logits, sample.lengths if compiled.plan.sequence_domains else None


def _thinned(knowledge: Knowledge, rule: str, sample: Sample) -> Sample:
    compiled = _compiled(knowledge, rule, "s-godel")
    logits, lengths = _own(compiled, sample)
    if not logits:
        raise ResiduumError(f"rule `{rule}` reads no predictions: there is nothing to measure")
    first = {name: tensor[:1] for name, tensor in logits.items()}
    groundings = compiled.each(first, lengths=None if lengths is None else lengths[:1])
    examples = max(len(tensor) for tensor in logits.values())
    most = max(1, MOST_DEGREES // max(1, groundings.counted.shape[1]))
    step = -(-examples // most)
    return Sample(
        sample.name,
        {name: tensor[::step] for name, tensor in logits.items()},
        None if lengths is None else lengths[::step],
    )


def _measure(
    knowledge: Knowledge, rule: str, compiled: CompiledRule, sample: Sample
) -> dict[str, Any]:
    """Return all but what it takes."""
    logits, lengths = _own(compiled, sample)
    with torch.no_grad():
        before = compiled.each(logits, lengths=lengths)
        after = compiled.each(_descended(compiled, logits, lengths), lengths=lengths)
    violated = before.counted & ~before.holds
    groundings = before.counted.shape[1]
    may_evade = isinstance(before.formula, Implies) and not _denies(before.formula.consequent)
    is_mended = after.holds & after.covered if may_evade else after.holds
    return {
        "examples": len(before.counted),
        "groundings": groundings,
        "bytes": 4 * groundings,
        "violated": _share(violated, before.counted) or 0.0,
        "stuck": _share(_is_stuck(before, compiled.relaxation), violated),
        "raising": _raising(before, compiled.relaxation, violated),
        "mended": _share(is_mended, violated),
        "evaded": _share(after.holds & ~after.covered, violated) if may_evade else None,
        "disagreement": _disagreement(knowledge, rule, compiled, logits, lengths),
        "self_consistency": _self_consistency(before.formula, compiled.relaxation),
    }


def _denies(formula: Formula) -> bool:
    """Return whether a formula is made of negated atoms alone."""
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


def pull(
    formula: Formula, parts: Mapping[str, Tensor], counted: Tensor, relaxation: Relaxation
) -> Pull:
    """Return the penalty of each example, and its slope by each part of each grounding.

    The groundings are put together as a rule's are: added up, or the largest taken.
    """
    leaves = {name: part.detach().clone().requires_grad_() for name, part in parts.items()}
    penalties = compile_rule(formula, relaxation, inputs="probs", reduction="none")(leaves)
    penalties = penalties.expand(counted.shape).masked_fill(~counted, 0.0)
    adds_up = isinstance(relaxation.tnorm, Archimedean)
    joined = penalties.sum(1) if adds_up or not counted.shape[1] else penalties.amax(1)
    total = capped(joined, relaxation)
    slopes = torch.autograd.grad(total.sum(), list(leaves.values()), materialize_grads=True)
    return Pull(total.detach(), dict(zip(leaves, slopes, strict=True)))


def _is_stuck(each: SingleGroundings, relaxation: Relaxation) -> Tensor:
    slopes = pull(each.formula, each.parts, each.counted, relaxation).slopes
    # A logit moves its degree at the rate x(1 - x), which is 0 at degrees of exactly 0 and 1.
    moves = [slopes[name] * part * (1 - part) != 0 for name, part in each.parts.items()]
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
    slopes = pull(Implies(Atom("antecedent"), Atom("consequent")), sides, each.counted, relaxation)
    lowering, raising = (slopes.slopes[name].abs() for name in ("antecedent", "consequent"))
    moved = violated & (lowering + raising > 0)
    if not bool(moved.any()):
        return None
    return float((raising[moved] / (lowering + raising)[moved]).mean())


def _descended(
    compiled: CompiledRule, logits: Mapping[str, Tensor], lengths: Tensor | None
) -> dict[str, Tensor]:
    """Return the logits after steps of one length down the gradient of the rule alone."""
    moving = {name: tensor.clone() for name, tensor in logits.items()}
    for _ in range(STEPS):
        with torch.enable_grad():
            leaves = [tensor.requires_grad_() for tensor in moving.values()]
            total = compiled(moving, lengths=lengths).sum()
            slopes = torch.autograd.grad(total, leaves, materialize_grads=True)
        squares = [slope.square().reshape(len(slope), -1).sum(1) for slope in slopes]
        size = torch.stack(squares).sum(0).sqrt()
        scale = torch.where(size > 0, LENGTH / size, 0.0)
        moving = {
            name: tensor.detach() - scale.reshape(-1, *(1,) * (tensor.dim() - 1)) * slope
            for (name, tensor), slope in zip(moving.items(), slopes, strict=True)
        }
    return moving


def _disagreement(
    knowledge: Knowledge,
    rule: str,
    compiled: CompiledRule,
    logits: Mapping[str, Tensor],
    lengths: Tensor | None,
) -> float | None:
    try:
        exact = _compiled(knowledge, rule, "exact").truth(logits, lengths=lengths)
    except ResiduumError:  # too many states
        return None
    return float((compiled.truth(logits, lengths=lengths) - exact).abs().mean())


def _self_consistency(formula: Formula, relaxation: Relaxation) -> float | None:
    if not atoms_of(formula):
        return None
    return self_consistency(formula, relaxation, seconds=SECONDS).value


def _seconds(rules: Sequence[CompiledRule], sample: Sample) -> list[float]:
    """Return what one example takes under each, forward and backward, at best of many rounds.

    All are timed in each round, so that what else the machine does hits all alike.
    """
    logits, lengths = _own(rules[0], sample)
    singles = {name: tensor.float().requires_grad_() for name, tensor in logits.items()}
    best = [math.inf] * len(rules)
    for _ in range(ROUNDS):
        for place, compiled in enumerate(rules):
            started = time.perf_counter()
            penalty = compiled(singles, lengths=lengths)
            penalty.sum().backward()
            best[place] = min(best[place], (time.perf_counter() - started) / len(penalty))
    return best
