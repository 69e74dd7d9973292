"""A rule in words: inputs, axes, groundings, memory, and where gradients vanish."""

from __future__ import annotations

import math

import torch

from residuum.grounding import Plan
from residuum.grounding.plans import Connect, Quantify
from residuum.logic import Iff, Implies
from residuum.losses.degrees.comparing import form_of
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.layouts import Bound, groundings_of
from residuum.losses.questions.crisp_truth import Crisp
from residuum.losses.routes import thresholds
from residuum.losses.routes.definition import Comparisons
from residuum.relaxations import Relaxation
from residuum.relaxations.catalogue import EXACT


def describe(
    plan: Plan, bound: Bound | None, relaxation: Relaxation, comparisons: Comparisons
) -> str:
    """Return the plan in words. The layout `bound` is None for a rule over sequences."""
    lines = [f"{plan.formula}", f"relaxation {relaxation}"]
    lines += [f"reads {slot}" for slot in plan.outputs]
    lines += [f"reads {slot.name}, numbers" for slot in plan.quantities]
    groundings = groundings_of(plan)
    for step in plan.steps:
        if isinstance(step, Quantify):
            for axis in step.axes:
                size = "as long as the sequence"
                if axis.domain.labels is not None:
                    size = f"{len(axis.domain.labels)} long"
                lines.append(f"axis {axis.variable} over {axis.domain.name}, {size}")
    if bound is not None:
        count = groundings.largest(bound.layout)
        lines.append(
            f"{count:,} groundings per example; one number for each of them takes {4 * count:,} "
            "bytes in single precision"
        )
    implies = any(isinstance(s, Connect) and s.kind in (Implies, Iff) for s in plan.steps)
    lines.append(_where_gradients_vanish(relaxation, implies))
    if any(count.relation == "exactly" for count in plan.counts):
        lines.append("no gradient where `exactly` is pulled up and down evenly")
    lines += _how_numbers_are_compared(plan, relaxation, comparisons)
    if bound is not None:
        lines += _what_one_label_decides(plan, bound)
    return "\n".join(lines)


def _how_numbers_are_compared(
    plan: Plan, relaxation: Relaxation, comparisons: Comparisons
) -> list[str]:
    """Return a line for each comparison, which says where it has no gradient."""
    is_crisp = relaxation == EXACT and comparisons == "crisp"
    is_bounded = relaxation.tnorm.limit != math.inf
    lines = []
    for slot in plan.slots:
        compared = slot.compared
        if compared is None:
            continue
        if is_crisp or compared.scale == 0:
            lines.append(f"compares {compared.comparison} crisply: no gradient for its numbers")
        elif form_of(compared) == "ramp":
            lines.append(
                f"compares {compared}: no gradient where its sides are {compared.scale:g} or more "
                "apart"
            )
        elif is_bounded:
            lines.append(
                f"compares {compared}: hardly a gradient where its sides are many scales apart, "
                "since penalties are bounded in this logic"
            )
        elif relaxation.tnorm.penalty_side == "log_true":
            lines.append(
                f"compares {compared}: where it alone is broken, by far, its gradient is "
                f"1 / scale = {1 / compared.scale:g}"
            )
        else:
            lines.append(f"compares {compared}: a gradient however far its sides are apart")
    return lines


def _what_one_label_decides(plan: Plan, bound: Bound) -> list[str]:
    """Return a warning if a rule about one softmax holds for every class, or for none."""
    if len(plan.slots) != 1:
        return []
    (slot,) = plan.slots
    if not slot.is_exclusive or len(slot.domains) != 1:
        return []
    classes = len(slot.domains[0].labels or ())
    if classes < 2 or classes * groundings_of(plan).largest(bound.layout) > thresholds.MOST_TRIED:
        return []
    predicted = torch.eye(classes, dtype=torch.bool)
    call = Call([predicted], (classes,), predicted.device, bound, {})
    holds = Crisp(plan, call).truth(len(plan.steps) - 1)
    if holds.any() and not holds.all():
        return []
    name = slot.predicate.name
    warning = (
        f"warning: `{name}` is one softmax, so that exactly one of its classes is true, and "
        f"whichever it is, the rule is {'obeyed' if holds.all() else 'broken'}; if several "
        f"classes may be true, or none, pass outputs={{{name!r}: 'independent'}}"
    )
    return [warning]


def _where_gradients_vanish(relaxation: Relaxation, implies: bool) -> str:
    tnorm, is_residuum = relaxation.tnorm, relaxation.kind == "R"
    if not tnorm.has_bounded_gradients:
        return "where its truth functions are flat there is no gradient"
    if tnorm.structure == "idempotent":
        which = "the consequent" if is_residuum else "one atom"
        return f"a gradient only for the worst grounding, and there only for {which}"
    if tnorm.structure == "strict":
        if not is_residuum or not implies:
            return "a violated rule always has a gradient"
        return "no gradient where an implication holds: its consequent is as true as its antecedent"
    if relaxation.is_capped:
        return "no gradient where groundings cost 1 or more together, or an inner conjunction is 0"
    return "no gradient where an inner conjunction is 0 or an inner disjunction is 1"
