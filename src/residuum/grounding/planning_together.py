"""Many rules without quantifiers, planned and laid out at once, because they share atoms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from residuum.errors import GroundingError
from residuum.grounding.layouts import Layout, lay_out
from residuum.grounding.planning import plan_rule
from residuum.grounding.plans import Connect, Plan, Read, Step
from residuum.grounding.signatures import Signature
from residuum.logic import And, Formula
from residuum.logic.formulas import Quantifier
from residuum.logic.nodes import Node, distinct_nodes


def without_quantifiers(formulas: Sequence[Formula]) -> list[bool]:
    """Return for each formula whether it has no quantifiers."""
    found: dict[Node, bool] = {}
    for node in distinct_nodes(And(*formulas)):
        below = all(found[child] for child in node.children)
        found[node] = below and not isinstance(node, Quantifier)
    return [found[formula] for formula in formulas]


def plan_together(
    formulas: Sequence[Formula], signature: Signature
) -> tuple[Plan, list[Plan]] | None:
    """Return the plan of the conjunction of several formulas without quantifiers, and of each.

    Returns None if one of them must be planned by itself, by `plan_rule`, which also says what is
    wrong with it.
    """
    try:
        whole = plan_rule(And(*formulas), signature)
    except GroundingError:
        return None
    root = whole.steps[-1]
    if (
        whole.sequence_domains
        or whole.quantities
        or not isinstance(root, Connect)
        or len(formulas) < 2
    ):
        return None
    pairs = zip(formulas, root.operands, strict=True)
    return whole, [_part(whole, formula, number) for formula, number in pairs]


def lay_out_parts(whole: Plan, parts: Sequence[Plan]) -> list[Layout]:
    """Return the layouts of the plans that `plan_together` made."""
    laid_out = lay_out(whole, {})
    known = {
        (whole.slots[step.slot].name, step.terms): laid_out.accesses[number]
        for number, step in enumerate(whole.steps)
        if isinstance(step, Read)
    }
    return [
        Layout(
            {
                number: known[plan.slots[step.slot].name, step.terms]
                for number, step in enumerate(plan.steps)
                if isinstance(step, Read)
            },
            {},
            laid_out.shortest,
        )
        for plan in parts
    ]


def _part(whole: Plan, formula: Formula, root: int) -> Plan:
    """Return the plan of a formula whose steps are part of another plan, up to the step `root`."""
    steps: list[Step] = []
    numbers: dict[int, int] = {}
    slots: dict[int, int] = {}
    stack = [root]
    while stack:
        number = stack[-1]
        step = whole.steps[number]
        if isinstance(step, Connect):
            waiting = [operand for operand in step.operands if operand not in numbers]
            if waiting:
                stack += reversed(waiting)
                continue
            step = replace(step, operands=tuple([numbers[operand] for operand in step.operands]))
        elif isinstance(step, Read) and slots.setdefault(step.slot, len(slots)) != step.slot:
            step = replace(step, slot=slots[step.slot])
        stack.pop()
        if number not in numbers:
            numbers[number] = len(steps)
            steps.append(step)
    return Plan(
        formula, tuple([whole.slots[slot] for slot in slots]), tuple(steps), 0, whole.functions
    )
