"""A rule in words: inputs, axes, groundings, memory, and where gradients vanish."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from residuum.grounding import Plan
from residuum.grounding.plans import Connect, Quantify, Read, Slot, Step
from residuum.logic import (
    FALSE,
    And,
    Application,
    Atom,
    Constant,
    Iff,
    Implies,
    Or,
    Term,
    Variable,
    is_satisfiable,
    is_tautology,
)
from residuum.logic.terms import Label
from residuum.losses.aggregation import cap_of
from residuum.losses.degrees.comparing import form_of
from residuum.losses.degrees.tensors import in_full
from residuum.losses.inputs.arguments import Inputs
from residuum.losses.inputs.calls import Call, case_of
from residuum.losses.inputs.layouts import Bound, groundings_of
from residuum.losses.knowledge import WEIGHTING, CompiledKnowledge
from residuum.losses.questions.crisp_truth import Crisp
from residuum.losses.questions.each import spelt
from residuum.losses.routes import thresholds
from residuum.losses.routes.choosing import Chooser
from residuum.losses.routes.definition import Comparisons, Definition
from residuum.losses.rules import CompiledRule
from residuum.relaxations import Relaxation, truth
from residuum.relaxations.catalogue import EXACT
from residuum.syntax.over import CONJUNCTION, Over


def explained(rule: CompiledRule, given: Inputs | None) -> str:
    """Return a rule in words, with its route and warnings; None asks about shapes alone."""
    warned = [] if given is None else warnings(rule, given)
    return "\n".join([_described(rule), *warned, *_route_of(rule, given)])


def explained_together(knowledge: CompiledKnowledge, given: Inputs | None) -> str:
    """Return each rule of a knowledge in words, and which rules are evaluated together."""
    routes: dict[str, list[str]] = {}
    for names, bundle in knowledge.bundles.items():
        if given is None or given.have_one_batch(bundle.plan):
            read = None if given is None else given.of(bundle)
            *why_not, route = _route_of(bundle, read, bundle.routes_of_several)
            if route.startswith("evaluated"):
                route += f", {len(names)} rules together"
                routes |= {name: [*why_not, route] for name in names}
    lines, weights = [WEIGHTING], knowledge.weights
    for name, rule in knowledge.rules.items():
        read = None if given is None else given.of(rule)
        route_lines = routes.get(name) or _route_of(rule, read)
        warned = [] if read is None else warnings(rule, read)
        lines.append(f"rule {name}, weight {weights[name]:g}")
        lines += [f"  {line}" for line in (*_described(rule).splitlines(), *warned, *route_lines)]
    return "\n".join(lines)


def _described(rule: CompiledRule) -> str:
    """Return a rule in words, without its route."""
    weight = "" if rule.weight == 1 else f", times its weight {rule.weight:g}"
    one, every = "example", "the batch"
    if rule.plan.relation is not None:
        one, every = "choice of members", "all choices of members"
    returned = f"one penalty per {one}"
    if rule.combines_rows:
        returned = f"{rule.over} over {every}"
    elif rule.reduction != "none":
        returned = f"the {rule.reduction} over {every}"
    return f"{_describe(rule.definition, _bound(rule.definition))}\nreturns {returned}{weight}"


@torch.no_grad()
def warnings(rule: CompiledRule, given: Inputs) -> list[str]:
    """Return warnings about one call: what is observed, and what its examples cost."""
    call = rule.receive_for_penalty(*given)
    with in_full(call.device):
        penalties = rule.of_each_example(call)
    relaxation = rule.relaxation
    found = _observed_consequents(rule.plan, relaxation, call.labels)
    if rule.definition.over[0].over == CONJUNCTION:  # otherwise the limit is that of each grounding
        found += _saturated(relaxation, penalties)
    return found


def _route_of(rule: CompiledRule, given: Inputs | None, routes: Chooser | None = None) -> list[str]:
    """Return lines that name the route, and why the routes before it are not taken.

    `routes` are those of the rule, unless the rules of a bundle are evaluated together.
    """
    routes, definition = routes or rule.routes, rule.definition
    if given is not None:
        call = rule.receive_for_penalty(*given)
        assert call.case is not None
        return routes.explain(call.case, call)
    bound = _bound(definition)
    if bound is None:
        return ["the route depends on the lengths of sequences: pass tensors to `explain`"]
    lines = routes.explain(case_of(bound, 64), None)
    if definition.is_exact:
        circuit = definition.circuits.circuit((), torch.device("cpu"))
        lines[-1] += f", with a circuit of {len(circuit.evaluator.circuit):,} nodes"
    return lines


def _bound(definition: Definition) -> Bound | None:
    """Return the layout on a CPU; None for a rule over sequences, whose lengths vary."""
    if definition.plan.sequence_domains:
        return None
    return definition.bind({}, torch.device("cpu"))


def _describe(definition: Definition, bound: Bound | None) -> str:
    """Return the plan in words. The layout `bound` is None for a rule over sequences."""
    plan, relaxation, over = definition.plan, definition.relaxation, definition.over[0].over
    lines = [f"{plan.formula}", f"relaxation {relaxation}"]
    lines += [f"reads {slot}" for slot in plan.outputs]
    lines += [f"reads {slot.name}, numbers" for slot in plan.quantities]
    for step in plan.steps:
        if isinstance(step, Quantify):
            for axis in step.axes:
                size = "as long as the sequence"
                if axis.domain.labels is not None:
                    size = f"{len(axis.domain.labels)} long"
                lines.append(f"axis {axis.variable} over {axis.domain.name}, {size}")
    if bound is not None:
        count = bound.layout.groundings
        each = "example" if plan.relation is None else "choice of members"
        lines.append(
            f"{count:,} groundings per {each}; one number for each of them takes {4 * count:,} "
            "bytes in single precision"
        )
    implies = any(isinstance(s, Connect) and s.kind in (Implies, Iff) for s in plan.steps)
    lines += _how_groundings_are_aggregated(over)
    lines.append(_where_gradients_vanish(relaxation, implies, over))
    if any(count.relation == "exactly" for count in plan.counts):
        lines.append("no gradient where `exactly` is pulled up and down evenly")
    lines += _how_numbers_are_compared(plan, relaxation, definition.comparisons)
    decided = _what_the_form_decides(plan)
    if bound is not None and not decided:
        decided = _what_softmaxes_decide(plan, bound)
    lines += decided or _what_softmaxes_forbid(plan)
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


def _what_softmaxes_decide(plan: Plan, bound: Bound) -> list[str]:
    """Return a warning if a rule about softmaxes holds for every prediction, or for none."""
    names = [slot.predicate.name for slot in plan.slots if slot.is_exclusive]
    entries = [math.prod(len(one.labels or ()) for one in slot.domains) for slot in plan.slots]
    sizes = [_count_predictions(*one) for one in zip(plan.slots, entries, strict=True)]
    count = math.prod(sizes)
    work = count * max(bound.layout.groundings, sum(entries))
    if not names or not count or work > thresholds.MOST_TRIED:
        return []
    states = [_predictions_of(slot) for slot in plan.slots]
    places = torch.unravel_index(torch.arange(count), sizes)
    inputs = [one[at] for one, at in zip(states, places, strict=True)]
    call = Call(inputs, (count,), torch.device("cpu"), bound, {})
    holds = Crisp(plan, call).truth(len(plan.steps) - 1)
    if holds.any() and not holds.all():
        return []
    shown = ", ".join(f"`{name}`" for name in dict.fromkeys(names))
    declared = ", ".join(f"{name!r}: 'independent'" for name in dict.fromkeys(names))
    warning = (
        f"warning: {shown} {'is' if len(names) == 1 else 'are each'} one softmax, so that exactly "
        f"one of its classes is true, and whichever it is, the rule is "
        f"{'obeyed' if holds.all() else 'broken'}; if several classes may be true, or none, pass "
        f"outputs={{{declared}}}"
    )
    return [warning]


def _what_softmaxes_forbid(plan: Plan) -> list[str]:
    """Return a warning if an implication leads from one class of a softmax to another one."""
    for step in plan.steps:
        if isinstance(step, Connect) and step.kind is Implies:
            antecedent, consequent = (plan.steps[number] for number in step.operands)
            for read in _conjuncts(plan, antecedent):
                if plan.slots[read.slot].is_exclusive and _excludes(plan, read, consequent):
                    return [_about_another_class(plan.slots[read.slot], read.terms[-1])]
    return []


def _about_another_class(slot: Slot, label: Term) -> str:
    name = slot.predicate.name
    return (
        f"warning: `{name}` is one softmax, so that exactly one of its classes is true: where "
        f"{label} is predicted, what follows from it in the rule is false. If several classes may "
        f"be true, declare `{name}` independent, or pass outputs={{{name!r}: 'independent'}}"
    )


def _conjuncts(plan: Plan, step: Step) -> list[Read]:
    """Return the atoms that a step asks for: itself, or those of a conjunction."""
    if isinstance(step, Connect) and step.kind is And:
        return [one for number in step.operands for one in _conjuncts(plan, plan.steps[number])]
    return [step] if isinstance(step, Read) else []


def _excludes(plan: Plan, read: Read, step: Step) -> bool:
    """Return whether a step is false wherever an atom of a softmax is true."""
    if isinstance(step, Read):
        is_same = step.slot == read.slot and step.terms[:-1] == read.terms[:-1]
        return is_same and _differ(plan, read, step.terms[-1])
    if isinstance(step, Connect) and step.kind in (And, Or):
        which = any if step.kind is And else all
        return which(_excludes(plan, read, plan.steps[number]) for number in step.operands)
    return False


def _differ(plan: Plan, read: Read, other: Term) -> bool:
    """Return whether a class is another one than that of an atom, at least for some labels."""
    match read.terms[-1], other:
        case Constant(one), Constant(value):
            return one != value
        case Variable(name), Constant(value):
            return any(one != value for one in _labels_of(read, name))
        case Variable(name), Application(function, (Variable(argument),)) if name == argument:
            given: Any = dict(plan.functions).get(function)
            value_of = given.get if isinstance(given, Mapping) else given
            labels = _labels_of(read, name)
            return callable(value_of) and any(value_of(one) != one for one in labels)
    return False


def _labels_of(read: Read, variable: str) -> Iterable[Label]:
    [domain] = [axis.domain for axis in read.axes if axis.variable == variable]
    return domain.labels or ()


def _count_predictions(slot: Slot, entries: int) -> int:
    """Return how many predictions there are for a slot; 0 if they are too many to try."""
    if slot.is_exclusive:
        return entries if len(slot.domains) == 1 and entries > 1 else 0
    return 2**entries if 2 ** min(entries, 64) <= thresholds.MOST_TRIED else 0


def _predictions_of(slot: Slot) -> Tensor:
    """Return all that can be predicted of a slot, one after the other."""
    sizes = [len(domain.labels or ()) for domain in slot.domains]
    if slot.is_exclusive:
        return torch.eye(sizes[0], dtype=torch.bool)
    entries = math.prod(sizes)
    bits = torch.arange(2**entries).unsqueeze(-1) >> torch.arange(entries)
    return (bits % 2 == 1).reshape(-1, *sizes)


def _what_the_form_decides(plan: Plan) -> list[str]:
    """Return a warning if a rule holds, or fails, whatever its atoms say."""
    if len(plan.steps) > thresholds.MOST_STEPS_TRIED:
        return []
    said = spelt(plan, groundings_of(plan).body, {})
    if is_tautology(said).answer:
        return ["warning: the rule holds for every prediction by its form, and teaches nothing"]
    if is_satisfiable(said).answer is False:
        return ["warning: the rule fails for every prediction by its form; it contradicts itself"]
    return []


def _how_groundings_are_aggregated(over: Over) -> list[str]:
    return [] if over == CONJUNCTION else [f"groundings of outermost `forall`s over {over}"]


def _observed_consequents(
    plan: Plan, relaxation: Relaxation, labels: Mapping[str, Tensor] | None
) -> list[str]:
    """Return a warning if labels stand where an R-implication cannot learn from them."""
    half_denied = Implies(Atom("A"), FALSE)
    if not labels or truth(half_denied, {"A": 0.5}, relaxation) > 0:
        return []
    implications = [one for one in plan.steps if isinstance(one, Connect) and one.kind is Implies]
    read = slots_below(plan, [one.operands[1] for one in implications])
    return [
        f"warning: `{name}` is observed and stands in a consequent. Under {relaxation} an "
        "implication with a false consequent is false however small its antecedent is, so that "
        "labels hardly teach the antecedent; take exact, or write the rule with `exists`"
        for name in labels
        if name in read
    ]


def slots_below(plan: Plan, numbers: list[int]) -> set[str]:
    """Return the names of the slots that some steps read, directly or through their operands."""
    found, seen, waiting = set(), set(numbers), list(numbers)
    while waiting:
        below: tuple[int, ...] = ()
        match plan.steps[waiting.pop()]:
            case Read(slot):
                found.add(plan.slots[slot].name)
            case Quantify(operand=operand):
                below = (operand,)
            case Connect(operands=operands):
                below = operands
        waiting += [one for one in below if one not in seen]
        seen.update(below)
    return found


def _saturated(relaxation: Relaxation, penalties: Tensor) -> list[str]:
    """Return a warning if examples cost as much as the logic counts, and have no gradient."""
    cap = cap_of(relaxation)
    count = 0 if cap is None else int((penalties >= cap).sum())
    if not count:
        return []
    advice = "take lukasiewicz-maxsat, which has no such limit"
    if relaxation.name != "lukasiewicz":
        advice = "fewer groundings, or another relaxation, help"
    warning = (
        f"warning: {count:,} of {penalties.numel():,} examples cost {cap:g}, the most that "
        f"{relaxation} counts, and have no gradient; {advice}"
    )
    return [warning]


def _where_gradients_vanish(relaxation: Relaxation, implies: bool, over: Over) -> str:
    tnorm, is_residuum = relaxation.tnorm, relaxation.kind == "R"
    if not tnorm.has_bounded_gradients:
        return "where its truth functions are flat there is no gradient"
    if tnorm.structure == "idempotent":
        which = "the consequent" if is_residuum else "one atom"
        if over != CONJUNCTION:
            return f"in each grounding a gradient only for {which}"
        return f"a gradient only for the worst grounding, and there only for {which}"
    if tnorm.structure == "strict":
        if not is_residuum or not implies:
            return "a violated rule always has a gradient"
        return "no gradient where an implication holds: its consequent is as true as its antecedent"
    if relaxation.is_capped and over == CONJUNCTION:
        return "no gradient where groundings cost 1 or more together, or an inner conjunction is 0"
    return "no gradient where an inner conjunction is 0 or an inner disjunction is 1"
