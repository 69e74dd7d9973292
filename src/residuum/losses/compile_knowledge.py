"""All rules of a knowledge are compiled: each by itself, and those together that can be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from residuum.errors import GroundingError, suggest
from residuum.grounding import (
    Layout,
    Plan,
    Signature,
    conjunction,
    lay_out_parts,
    plan_together,
    without_quantifiers,
)
from residuum.logic import And, Formula
from residuum.losses.bundles import Names, bundled_rules
from residuum.losses.compile import Options, compiled_rule, with_circuit
from residuum.losses.knowledge import CompiledKnowledge
from residuum.losses.routes import thresholds
from residuum.losses.rules import CompiledRule
from residuum.losses.schedules import Schedule, check_scheduled_weight
from residuum.relaxations.catalogue import EXACT
from residuum.syntax import Knowledge
from residuum.syntax.over import CONJUNCTION, Over, read_over


def compiled_knowledge(
    knowledge: Knowledge,
    signature: Signature,
    options: Options,
    replaced: Mapping[str, float | Schedule[float]],
    over: str | Mapping[str, str] | None,
) -> CompiledKnowledge:
    """Return all rules of a knowledge. `replaced` has the weights that replace their own."""
    rules = knowledge.rules
    overs = _overs_of(knowledge, over)
    _check_rule_names("weights", replaced, rules)
    weights = {name: replaced.get(name, rule.weight) for name, rule in rules.items()}
    for name, weight in weights.items():
        check_scheduled_weight(weight, name)
    plans, planned = _plans_of_ground_rules(knowledge, signature)
    compiled = {
        name: with_circuit(
            compiled_rule(
                rule.formula,
                signature,
                options,
                name,
                1.0,
                *plans.get(name, ()),
                overs=(overs[name],),
            )
        )
        for name, rule in rules.items()
    }
    bundles = {}
    for names in bundled_rules(compiled) if options.relaxation != EXACT else ():
        together = And(*(rules[name].formula for name in names))
        plan = planned if names == tuple(plans) else None
        own = tuple(overs[name] for name in names)
        bundles[names] = compiled_rule(
            together, signature, options, "rules", 1.0, plan, is_bundle=True, overs=own
        )
    formulas = {name: rule.formula for name, rule in rules.items()}
    alone = replace(options, process_group=None)  # the rules know their group, a copy cannot
    joined = partial(_together, formulas, signature, alone)
    return CompiledKnowledge(compiled, bundles, weights, joined)


def _overs_of(knowledge: Knowledge, over: str | Mapping[str, str] | None) -> dict[str, Over]:
    """Return the aggregator of each rule: that of a mapping, its own, or that for all rules."""
    replaced = over if isinstance(over, Mapping) else {}
    _check_rule_names("over", replaced, knowledge.rules)
    default = CONJUNCTION if over is None or isinstance(over, Mapping) else read_over(over)
    found = {}
    for name, rule in knowledge.rules.items():
        written = replaced.get(name, rule.over)
        found[name] = default if written is None else read_over(written)
    return found


def _check_rule_names(option: str, names: Iterable[str], rules: Mapping[str, object]) -> None:
    for name in names:
        if name not in rules:
            raise GroundingError(
                f"{option}: the knowledge has no rule `{name}`.{suggest(name, rules)} "
                f"It has: {', '.join(rules) or 'none'}"
            )


def _together(
    formulas: Mapping[str, Formula], signature: Signature, options: Options, names: Names
) -> CompiledRule:
    """Return some rules as one rule under `exact`, for questions about all of them together."""
    together = conjunction([formulas[name] for name in names], signature)
    exact = replace(options, relaxation=EXACT, detach=None)
    return compiled_rule(together, signature, exact, "rules", 1.0)


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
