"""`compile`: rules in text, formulas and knowledge become functions of tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import torch

from residuum import losses
from residuum.errors import GroundingError, suggest
from residuum.grounding import (
    Layout,
    Plan,
    Signature,
    plan_rule,
    refuse_misspelt,
    signature_of_knowledge,
    signature_of_rule,
    with_outputs,
)
from residuum.grounding.plans import Connect, Quantify
from residuum.logic import And, Forall, Formula, Implies
from residuum.losses import routes
from residuum.losses.degrees.comparing import form_of
from residuum.losses.degrees.logits import FORMS, Form
from residuum.losses.degrees.parameters import find_logic
from residuum.losses.reductions import Reduction, check_reduction
from residuum.losses.routes.definition import Comparisons, Detached
from residuum.losses.rules import CompiledRule
from residuum.losses.schedules import Schedule, check_scheduled_weight
from residuum.relaxations import DEFAULT, Relaxation
from residuum.relaxations.catalogue import EXACT
from residuum.syntax import Knowledge, Quantity, as_formula
from residuum.syntax.over import CONJUNCTION, Over, read_over

if TYPE_CHECKING:
    from residuum.losses.knowledge import CompiledKnowledge

Inputs = Form | Mapping[str, Form]


class SharedOptions(TypedDict, total=False):
    """The options of `compile` for one rule and for a whole knowledge."""

    functions: Mapping[str, Any] | None
    inputs: Inputs
    outputs: Mapping[str, str] | None
    reduction: Reduction
    detach: Detached | None
    check: bool
    block: int | None
    memory_budget: int | None
    process_group: Any
    replay: bool
    comparisons: Comparisons


class KnowledgeOptions(SharedOptions, total=False):
    """The options of `compile` for a whole knowledge."""

    weights: Mapping[str, float | Schedule[float]] | None
    over: str | Mapping[str, str] | None


class RuleOptions(SharedOptions, total=False):
    """The options of `compile` for one rule."""

    knowledge: Knowledge | None
    domains: Mapping[str, Any] | None
    predicates: Mapping[str, Iterable[str]] | None
    quantities: Mapping[str, float | Quantity] | None
    weight: float | Schedule[float] | None
    over: str | None


@dataclass(frozen=True)
class Options:
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
    comparisons: Comparisons


@overload
def compile(  # noqa: A001
    rule: Knowledge, relaxation: str | Relaxation = ..., **options: Unpack[KnowledgeOptions]
) -> CompiledKnowledge: ...
@overload
def compile(  # noqa: A001
    rule: str | Formula, relaxation: str | Relaxation = ..., **options: Unpack[RuleOptions]
) -> CompiledRule: ...
def compile(  # noqa: A001
    rule: str | Formula | Knowledge,
    relaxation: str | Relaxation = DEFAULT,
    *,
    knowledge: Knowledge | None = None,
    domains: Mapping[str, Any] | None = None,
    predicates: Mapping[str, Iterable[str]] | None = None,
    quantities: Mapping[str, float | Quantity] | None = None,
    functions: Mapping[str, Any] | None = None,
    inputs: Inputs = "logits",
    outputs: Mapping[str, str] | None = None,
    weight: float | Schedule[float] | None = None,
    weights: Mapping[str, float | Schedule[float]] | None = None,
    over: str | Mapping[str, str] | None = None,
    reduction: Reduction = "mean",
    detach: Detached | None = None,
    check: bool = False,
    block: int | None = None,
    memory_budget: int | None = None,
    process_group: Any = None,
    replay: bool = True,
    comparisons: Comparisons = "crisp",
) -> CompiledRule | CompiledKnowledge:
    """Return a rule as a differentiable function: one tensor per predicate in, a penalty out.

    `rule` is text, a formula, or a Knowledge, all of whose rules are compiled. With `knowledge=` it
    is a formula over the names of that knowledge, or the name of one of its rules. Otherwise
    `domains` maps names to sizes, labels or 'sequence'; `predicates` maps a predicate to the names
    of its domains, which is needed only where the rule leaves them open; `functions` maps names to
    mappings or Python functions. `quantities` maps a name that is compared, as in `Age >= 18`, to
    its scale, or to a Quantity: its tensor holds numbers, and a difference of a few scales counts
    as clear.

    Without a `relaxation` it is 's-product', which lost least in the trials of `make bench-advice`.
    `rs.relaxation_names()` lists the others; 'exact' is −log of the probability of the rule.

    `inputs` says what the tensors hold: 'logits', 'log_probs' or 'probs', for all predicates or by
    predicate. The last domain of a predicate is exclusive (one softmax) unless `outputs` calls it
    'independent' (one sigmoid each). A predicate without arguments is one sigmoid. One that is
    called 'hidden' has no tensor: all its values weigh 1, and `exact` sums them out.

    `reduction` is over the examples of the batch: their 'mean', as in PyTorch, their 'sum', the
    'conjunction' of the logic, or 'none' for one penalty per example. With a `process_group` the
    batch is that of all its processes. `weight` multiplies the penalty of a rule; the rules of a
    Knowledge have weights of their own, which count in `CompiledKnowledge.total`, and which
    `weights` replaces by name. A weight may be a schedule, a function of `.epoch`, which you set.

    `over` says how the penalties of the groundings of an outermost `forall` come together: by the
    "conjunction" of the logic (the default), as their "mean", "log-mean-exp(t)", or "worst(10%)",
    or by "p-mean(p)" on degrees, which `exists` takes too. A Knowledge may have a mapping of rules
    to these; one text is for all of its rules that say nothing of it themselves.

    `detach` keeps gradients from the 'antecedent' or the 'consequent'. `check` refuses NaN and
    numbers that cannot be probabilities. `block` is how many groundings are evaluated at a time;
    `memory_budget` says it in bytes. On a GPU small rules are recorded as CUDA graphs at their
    third call, unless `replay` is False. Under `exact`, `comparisons` of quantities are 'crisp', or
    as probable as their 'degrees'.

    >>> import torch
    >>> rule = compile("Rain -> Wet", "r-product", inputs="probs")
    >>> rain, wet = torch.tensor([1.0, 0.5]), torch.tensor([0.5, 0.5])
    >>> rule(Rain=rain, Wet=wet)
    tensor(0.3466)
    >>> each = compile("Rain -> Wet", "r-product", inputs="probs", reduction="none")
    >>> each(Rain=rain, Wet=wet)
    tensor([0.6931, 0.0000])
    """
    if callable(relaxation):
        raise GroundingError(
            "relaxation: expected one relaxation, got a schedule, which only rs.Theory takes; "
            "compile the rule under each relaxation, or use rs.Theory"
        )
    options = Options(
        find_logic(relaxation),
        inputs,
        reduction,
        detach,
        check,
        block,
        memory_budget,
        process_group,
        replay,
        comparisons,
    )
    _check_options(options)
    if isinstance(rule, Knowledge):
        _refuse_for_knowledge(
            knowledge=knowledge,
            domains=domains,
            predicates=predicates,
            quantities=quantities,
            weight=weight,
        )
        signature = with_outputs(signature_of_knowledge(rule, functions or {}), outputs or {})
        return losses.compile_knowledge.compiled_knowledge(
            rule, signature, options, weights or {}, over
        )
    if weights is not None:
        raise GroundingError("weights: expected none for one rule, which has `weight`; pass that")
    name, default_weight, default_over = "rule", 1.0, None
    if knowledge is None:
        formula = as_formula(rule)
        signature = signature_of_rule(
            formula, domains or {}, predicates or {}, functions or {}, quantities or {}
        )
    else:
        if not isinstance(knowledge, Knowledge):
            raise GroundingError(
                "knowledge: expected a Knowledge, as rs.load returns, got "
                f"{type(knowledge).__name__}"
            )
        _refuse_for_knowledge(domains=domains, predicates=predicates, quantities=quantities)
        signature = signature_of_knowledge(knowledge, functions or {})
        if isinstance(rule, str) and rule.isidentifier() and rule not in knowledge.predicates:
            if rule not in knowledge.rules:
                raise GroundingError(
                    f"the knowledge has no rule `{rule}`.{suggest(rule, knowledge.rules)} "
                    f"It has: {', '.join(knowledge.rules) or 'none'}"
                )
            named = knowledge.rules[rule]
            name, formula, default_weight = rule, named.formula, named.weight
            default_over = named.over
        else:
            formula = as_formula(rule)
    signature = with_outputs(signature, outputs or {})
    written = default_over if over is None else over
    chosen = CONJUNCTION if written is None else read_over(written)
    own_weight = default_weight if weight is None else weight
    return with_circuit(
        compiled_rule(formula, signature, options, name, own_weight, overs=(chosen,))
    )


def with_circuit(rule: CompiledRule) -> CompiledRule:
    """Return a rule, and refuse it under `exact` if its circuit is too large."""
    if rule.relaxation == EXACT and not rule.plan.sequence_domains:
        rule.definition.circuits.circuit((), torch.device("cpu"))
    return rule


def _refuse_for_knowledge(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise GroundingError(
                f"{name}: expected none beside a Knowledge, which has its own; leave it out"
            )


def _check_options(options: Options) -> None:
    check_reduction(options.reduction)
    if options.block is not None and options.memory_budget is not None:
        raise GroundingError("expected `block` or `memory_budget`, got both; leave one out")
    budget = options.memory_budget
    if budget is not None and (not _is_number(budget) or not 0 < budget < math.inf):
        raise GroundingError(f"memory_budget: expected a number of bytes, got {budget!r}")
    if options.detach not in (None, "antecedent", "consequent"):
        raise GroundingError(
            f"detach: expected 'antecedent' or 'consequent', got {options.detach!r}"
        )
    if options.comparisons not in ("crisp", "degrees"):
        raise GroundingError(
            f"comparisons: expected 'crisp' or 'degrees', got {options.comparisons!r}"
        )
    is_whole = isinstance(options.block, int) and not isinstance(options.block, bool)
    if options.block is not None and (not is_whole or options.block < 1):
        raise GroundingError(f"block: expected at least 1 grounding, got {options.block}")


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def compiled_rule(
    formula: Formula,
    signature: Signature,
    options: Options,
    name: str,
    weight: float | Schedule[float],
    plan: Plan | None = None,
    layout: Layout | None = None,
    *,
    is_bundle: bool = False,
    overs: Sequence[Over] = (CONJUNCTION,),
) -> CompiledRule:
    """Return a formula as a compiled rule. A known plan or layout saves its computation."""
    check_scheduled_weight(weight, name)
    plan = plan or plan_rule(formula, signature)
    if plan.relation is not None and options.relaxation == EXACT:
        raise GroundingError(
            f"under `exact`, `{name}` relates members of open domains, and its groundings share "
            "outputs, so that the probability of each says little of all; give the domains labels, "
            "or choose another relaxation"
        )
    if options.detach is not None and (options.relaxation == EXACT or not _has_sides(plan)):
        raise GroundingError(
            f"detach: expected a rule whose outermost connective, below `forall` and `&`, is an "
            f"implication, under another relaxation than `exact`; `{name}` has no "
            f"{options.detach} to detach"
        )
    if options.relaxation == EXACT and set(overs) != {CONJUNCTION}:
        raise GroundingError(
            f'over: expected "conjunction" under `exact`, whose penalty is that of all groundings '
            f'together, got "{overs[0]}" for `{name}`; take another relaxation, or pass '
            'over="conjunction" (for rules of a knowledge, over={name: "conjunction"})'
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
        comparisons=options.comparisons,
        layout=layout,
        is_bundle=is_bundle,
        overs=overs,
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


def _block(plan: Plan, options: Options) -> int | None:
    if options.memory_budget is None:
        return options.block
    return max(1, int(options.memory_budget // routes.blocks.bytes_for(plan, 1)))


def _forms(plan: Plan, signature: Signature, inputs: Inputs) -> dict[str, Form]:
    """Return what the tensor of each slot holds."""
    if not isinstance(inputs, str | Mapping):
        raise GroundingError(
            f"inputs: expected one of {', '.join(FORMS)}, or a mapping of predicates to them, "
            f"got {inputs!r}"
        )
    given = dict.fromkeys(signature.predicates, inputs) if isinstance(inputs, str) else inputs
    refuse_misspelt("inputs", given, signature.predicates)
    for name, form in given.items():
        if form not in FORMS:
            raise GroundingError(
                f"inputs of `{name}`: expected one of {', '.join(FORMS)}, got {form!r}"
            )
    forms: dict[str, Form] = {}
    for slot in plan.slots:
        if slot.compared is not None:
            forms[slot.name] = form_of(slot.compared)
        else:
            hidden = slot.predicate.is_hidden
            forms[slot.name] = "logits" if hidden else given.get(slot.predicate.name, "logits")
    return forms
