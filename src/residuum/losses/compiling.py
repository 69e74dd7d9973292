"""`compile`: rules in text, formulas and knowledge become functions of tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, overload

from residuum.errors import GroundingError, suggest
from residuum.grounding import (
    Layout,
    Plan,
    Signature,
    lay_out_parts,
    plan_rule,
    plan_together,
    signature_of_knowledge,
    signature_of_rule,
    with_outputs,
    without_quantifiers,
)
from residuum.grounding.plans import Connect, Quantify
from residuum.logic import And, Forall, Formula, Implies
from residuum.losses.degrees.logits import FORMS, Form
from residuum.losses.degrees.parameters import find_logic
from residuum.losses.knowledge import CompiledKnowledge, bundled_rules
from residuum.losses.reductions import Reduction, check_reduction, check_weight
from residuum.losses.routes import thresholds
from residuum.losses.routes.blocks import bytes_for
from residuum.losses.routes.definition import Detached
from residuum.losses.rules import CompiledRule
from residuum.relaxations import Relaxation
from residuum.relaxations.catalogue import EXACT
from residuum.syntax import Knowledge, as_formula

Inputs = Form | Mapping[str, Form]


@dataclass(frozen=True)
class _Options:
    """How each rule is compiled."""

    relaxation: Relaxation
    inputs: Inputs
    reduction: Reduction
    detach: Detached | None
    check: bool
    block: int | None
    memory_budget: int | None
    process_group: Any
    replay: bool


@overload
def compile(  # noqa: A001
    rule: Knowledge, relaxation: str | Relaxation = ..., **options: Any
) -> CompiledKnowledge: ...
@overload
def compile(  # noqa: A001
    rule: str | Formula, relaxation: str | Relaxation = ..., **options: Any
) -> CompiledRule: ...
def compile(  # type: ignore[misc]  # noqa: A001  # the overloads stand for its options
    rule: str | Formula | Knowledge,
    relaxation: str | Relaxation = "r-product",
    *,
    knowledge: Knowledge | None = None,
    domains: Mapping[str, Any] | None = None,
    predicates: Mapping[str, Iterable[str]] | None = None,
    functions: Mapping[str, Any] | None = None,
    inputs: Inputs = "logits",
    outputs: Mapping[str, str] | None = None,
    weight: float | None = None,
    reduction: Reduction = "none",
    detach: Detached | None = None,
    check: bool = False,
    block: int | None = None,
    memory_budget: int | None = None,
    process_group: Any = None,
    replay: bool = True,
) -> CompiledRule | CompiledKnowledge:
    """Return a rule as a differentiable function: one tensor per predicate in, penalties out.

    `rule` is text, a formula, a whole Knowledge (then all its rules are compiled), or, with
    `knowledge=`, the name of one of its rules. Otherwise `domains` maps names to sizes, labels,
    or 'sequence', and `predicates` each predicate to the names of its domains, where the rule
    does not make that plain.

    `inputs` says what the tensors hold: 'logits', 'log_probs' or 'probs', for all or by
    predicate. The last domain of a predicate is exclusive (a softmax) unless `outputs` calls it
    'independent'; one without arguments is a sigmoid. `detach` keeps gradients from the
    'antecedent' or the 'consequent' of the rule; `check` refuses NaN and what is no probability;
    `block` is the number of groundings that are evaluated at a time, or `memory_budget` the bytes
    they may take. With a `process_group` the batch that `reduction` reduces is that of all its
    processes. On a GPU what is small is recorded as a CUDA graph at the third call, unless `replay`
    is False.

    >>> import torch
    >>> rule = compile("Rain -> Wet", "r-product", inputs="probs")
    >>> float(rule(Rain=torch.tensor(0.5), Wet=torch.tensor(0.5)))
    0.0
    """
    options = _Options(
        find_logic(relaxation),
        inputs,
        reduction,
        detach,
        check,
        block,
        memory_budget,
        process_group,
        replay,
    )
    _check_options(options)
    if isinstance(rule, Knowledge):
        _refuse_for_knowledge(domains=domains, predicates=predicates, weight=weight)
        signature = with_outputs(signature_of_knowledge(rule, functions or {}), outputs or {})
        plans, planned = _plans_of_ground_rules(rule, signature)
        compiled = {
            name: _compiled(one.formula, signature, options, name, one.weight, *plans.get(name, ()))
            for name, one in rule.rules.items()
        }
        if options.relaxation == EXACT:
            return CompiledKnowledge(compiled, {})
        bundles = {}
        for names in bundled_rules(compiled):
            together = And(*(rule.rules[name].formula for name in names))
            plan = planned if names == tuple(plans) else None
            bundles[names] = _compiled(
                together, signature, options, "rules", 1.0, plan, is_bundle=True
            )
        return CompiledKnowledge(compiled, bundles)
    name, default_weight = "rule", 1.0
    if knowledge is None:
        formula = as_formula(rule)
        signature = signature_of_rule(formula, domains or {}, predicates or {}, functions or {})
    else:
        if not isinstance(knowledge, Knowledge):
            raise GroundingError(
                f"knowledge: expected a Knowledge, as rs.load gives, got {type(knowledge).__name__}"
            )
        _refuse_for_knowledge(domains=domains, predicates=predicates)
        signature = signature_of_knowledge(knowledge, functions or {})
        if isinstance(rule, str) and rule.isidentifier() and rule not in knowledge.predicates:
            if rule not in knowledge.rules:
                raise GroundingError(
                    f"the knowledge has no rule `{rule}`.{suggest(rule, knowledge.rules)} "
                    f"It has: {', '.join(knowledge.rules) or 'none'}"
                )
            named = knowledge.rules[rule]
            name, formula, default_weight = rule, named.formula, named.weight
        else:
            formula = as_formula(rule)
    signature = with_outputs(signature, outputs or {})
    return _compiled(
        formula, signature, options, name, default_weight if weight is None else weight
    )


def _plans_of_ground_rules(
    knowledge: Knowledge, signature: Signature
) -> tuple[dict[str, tuple[Plan, Layout]], Plan | None]:
    """Return the plans and layouts of rules without quantifiers, and the plan of all of them."""
    rules = knowledge.rules
    are_ground = without_quantifiers([one.formula for one in rules.values()])
    names = [name for name, is_ground in zip(rules, are_ground, strict=True) if is_ground]
    if len(names) < thresholds.FEWEST_ALIKE:
        return {}, None
    found = plan_together([rules[name].formula for name in names], signature)
    if found is None:
        return {}, None
    whole, parts = found
    laid_out = zip(parts, lay_out_parts(whole, parts), strict=True)
    return dict(zip(names, laid_out, strict=True)), whole


def _refuse_for_knowledge(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise GroundingError(f"{name}: a Knowledge says that itself, for each of its rules")


def _check_options(options: _Options) -> None:
    check_reduction(options.reduction)
    if options.block is not None and options.memory_budget is not None:
        raise GroundingError("give `block` or `memory_budget`, not both")
    budget = options.memory_budget
    if budget is not None and (not _is_number(budget) or not 0 < budget < math.inf):
        raise GroundingError(f"memory_budget: expected bytes, got {budget!r}")
    if options.detach not in (None, "antecedent", "consequent"):
        raise GroundingError(
            f"detach: expected 'antecedent' or 'consequent', got {options.detach!r}"
        )
    is_whole = isinstance(options.block, int) and not isinstance(options.block, bool)
    if options.block is not None and (not is_whole or options.block < 1):
        raise GroundingError(f"block: expected at least 1 grounding, got {options.block}")


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def _compiled(
    formula: Formula,
    signature: Signature,
    options: _Options,
    name: str,
    weight: float,
    plan: Plan | None = None,
    layout: Layout | None = None,
    *,
    is_bundle: bool = False,
) -> CompiledRule:
    check_weight(weight, name)
    plan = plan or plan_rule(formula, signature)
    if options.detach is not None and (options.relaxation == EXACT or not _has_sides(plan)):
        raise GroundingError(
            f"`{name}`: there is no {options.detach} to detach; that takes a relaxation and a rule "
            "whose outermost connective, below `forall` and `&`, is an implication"
        )
    return CompiledRule(
        plan,
        options.relaxation,
        _forms(plan, signature, options.inputs),
        name=name,
        weight=weight,
        reduction=options.reduction,
        detach=options.detach,
        check=options.check,
        block=_block(plan, options),
        process_group=options.process_group,
        replay=options.replay,
        layout=layout,
        is_bundle=is_bundle,
    )


def _has_sides(plan: Plan) -> bool:
    """Return whether an implication stands below nothing but `forall` and `&`."""
    stack = [len(plan.steps) - 1]
    while stack:
        step = plan.steps[stack.pop()]
        if isinstance(step, Quantify) and step.kind is Forall:
            stack.append(step.operand)
        elif isinstance(step, Connect):
            if step.kind is Implies:
                return True
            stack.extend(step.operands if step.kind is And else ())
    return False


def _block(plan: Plan, options: _Options) -> int | None:
    if options.memory_budget is None:
        return options.block
    return max(1, int(options.memory_budget // bytes_for(plan, 1)))


def _forms(plan: Plan, signature: Signature, inputs: Inputs) -> dict[str, Form]:
    """Return what the tensor of each slot holds."""
    if not isinstance(inputs, str | Mapping):
        raise GroundingError(
            f"inputs: expected one of {', '.join(FORMS)}, or a mapping of predicates to them, "
            f"got {inputs!r}"
        )
    given = dict.fromkeys(signature.predicates, inputs) if isinstance(inputs, str) else inputs
    for name, form in given.items():
        if name not in signature.predicates:
            raise GroundingError(
                f"inputs: there is no predicate `{name}`.{suggest(name, signature.predicates)}"
            )
        if form not in FORMS:
            raise GroundingError(
                f"inputs of `{name}`: expected one of {', '.join(FORMS)}, got {form!r}"
            )
    return {slot.name: given.get(slot.predicate.name, "logits") for slot in plan.slots}
