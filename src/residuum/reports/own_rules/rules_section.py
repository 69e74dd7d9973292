"""The section that shows the rules, what their names mean, and whether they fit together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from residuum.checks.wording import (
    scope_of,
    tell_contradiction,
    tell_entailed,
    tell_unchecked,
)
from residuum.reports.blocks import Block, Entry, Fold, Section, StatedRule, Table, Text, count_of
from residuum.reports.own_rules.gathering import OwnRules
from residuum.reports.own_rules.statements import Statement, members_in_words
from residuum.syntax import Knowledge, Predicate

MOST_SHOWN: Final = 20
"""The most rules that are not folded."""

MOST_STATED: Final = 500
"""The most rules that are written on the page."""

MOST_REMARKS: Final = 20
"""The most remarks about rules that contradict or follow from others."""


def rules_section(facts: OwnRules) -> Section:
    """Show each rule with its domains and groundings, and what `check` finds."""
    stated = [_stated(one) for one in facts.statements[:MOST_STATED]]
    blocks: list[Block] = [*stated[:MOST_SHOWN]]
    if len(stated) > MOST_SHOWN:
        blocks.append(Fold(f"{len(stated) - MOST_SHOWN:,} more rules", stated[MOST_SHOWN:]))
    if len(facts.statements) > MOST_STATED:
        more = len(facts.statements) - MOST_STATED
        blocks.append(Text(f"{count_of(more, 'more rule')} of the file are not shown here."))
    blocks += map(Text, _remarks(facts))
    blocks.append(Fold("Predicates and domains", [_predicates(facts.knowledge)]))
    title = "What does the rule say?" if len(stated) == 1 else "What do the rules say?"
    return Section("rules", title, blocks)


def _stated(one: Statement) -> StatedRule:
    title = one.name if one.weight == 1 else f"{one.name}, weight {one.weight:g}"
    title += f", over {one.over}" if one.over else ""
    if one.groundings is None:
        count = f"Groundings are not counted: {one.why}"
    else:
        where = "" if one.length is None else f" with sequences of {one.length:,} positions"
        count = f"{count_of(one.groundings, 'grounding')} per example{where}"
    over = ", ".join(f"{name} ({size})" for name, size in one.domains.items())
    note = f"{count}; over {over}" if over else count
    return StatedRule(f"rule-{one.name}", title, one.formula, [f"{note}."])


def _remarks(facts: OwnRules) -> Iterator[str]:
    """Yield sentences about contradictions, redundancy, and what was not checked."""
    checked = facts.checked
    said = [tell_contradiction(one) for one in checked.contradictions]
    said += [tell_entailed(one) for one in checked.entailed]
    for one in said[:MOST_REMARKS]:
        yield f"{one[0].upper()}{one[1:]}."
    if len(said) > MOST_REMARKS:
        yield f"And {len(said) - MOST_REMARKS:,} more: `residuum check` lists them."
    scope = scope_of(checked)
    within = f", checked with {scope}" if scope else ""
    if len(checked.unchecked) < len(facts.statements) and not said:
        rules = "The rule does not contradict itself, nor does it hold for every prediction"
        if len(facts.statements) > 1:
            rules = "The rules do not contradict each other, and none follows from others"
        yield f"{rules}{within}."
    elif within:
        yield f"{within[2].upper()}{within[3:]}."
    for told in tell_unchecked(checked):
        yield f"{told[0].upper()}{told[1:]}."


def _predicates(knowledge: Knowledge) -> Table:
    rows = [
        [one.name, ", ".join(one.domains) or "–", _output_of(one)]
        for one in knowledge.predicates.values()
    ]
    rows += [
        [name, ", ".join(one.domains or ()) or "–", f"a number, scale {one.scale:g}"]
        for name, one in knowledge.quantities.items()
    ]
    rows += [[one.name, "–", members_in_words(one)] for one in knowledge.domains.values()]
    heads = ["name", "over", "what it is"]
    return Table(
        "names",
        "The names in the rules",
        heads,
        [[Entry(cell) for cell in row] for row in rows],
        [dict(zip(heads, row, strict=True)) for row in rows],
    )


def _output_of(predicate: Predicate) -> str:
    if predicate.is_hidden:
        return "hidden: no network computes it"
    if not predicate.domains:
        return "one sigmoid"
    if predicate.is_independent:
        return "a sigmoid for each member"
    return f"a softmax over {predicate.domains[-1]}"
