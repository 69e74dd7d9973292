"""The sections about predictions: where they break rules, gradients, what obeys, and advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from residuum.checks.wording import names_in_words
from residuum.reports.blocks import (
    Block,
    Entry,
    Fold,
    Items,
    Picture,
    Section,
    Table,
    Text,
    count_of,
)
from residuum.reports.own_rules.advised import draw_advised
from residuum.reports.own_rules.answer import NOTABLE, percent
from residuum.reports.own_rules.gathering import OwnRules
from residuum.reports.own_rules.obeying import Decoded
from residuum.reports.own_rules.sample_facts import RuleOnSample

MOST_LISTED: Final = 6
"""The most rules whose worst violations are not folded."""

LONGEST_GROUNDING: Final = 160
"""The most characters of a grounding in a table."""

_COVERAGE: Final = (
    "If the antecedent holds in 0% of the groundings, a rule is obeyed because nothing that it "
    "speaks of is predicted."
)
_DEGREES: Final = "Lowest degrees under {} first: 0 is false, 1 true. Examples count from 0."
_ALONE: Final = (
    "A grounding is looked at by itself, with its own penalty. Gödel logics follow the worst "
    "grounding of an example alone, which is not counted here."
)

_INTRO: Final = Text(
    "Of the examples that break the most rules, the most probable prediction that obeys all rules. "
    "It is found exactly, by decode. Only outputs that change are listed, each with the "
    "probability that the network gives it."
)


def broken_section(facts: OwnRules) -> Section | None:
    """Show how often each rule is broken, and the worst violations by name."""
    if not facts.on_sample:
        return None
    blocks: list[Block] = [
        Text(
            "A grounding is violated if it is false for the predicted classes: the likeliest class "
            "of a softmax, and true for a sigmoid above ½. An example breaks a rule if one of its "
            "groundings is violated."
        ),
        _shares(facts),
    ]
    broken = facts.broken
    if broken:
        blocks.append(_worst("worst", broken[:MOST_LISTED]))
    if len(broken) > MOST_LISTED:
        more = _worst("worst-others", broken[MOST_LISTED:])
        title = f"Violations of {count_of(len(broken) - MOST_LISTED, 'more rule')}"
        blocks.append(Fold(title, [more]))
    return Section("broken", "Where are they broken?", blocks)


def _shares(facts: OwnRules) -> Table:
    broken = facts.broken
    ordered = [*broken, *(one for one in facts.on_sample if one not in broken)]
    rows = [
        [Entry(one.rule), Entry(percent(one.broken), bar=one.broken),
         Entry(percent(one.broken_groundings), bar=one.broken_groundings),
         Entry(percent(one.coverage)), Entry(f"{one.examples:,}")]
        for one in ordered
    ]  # fmt: skip
    numbers = [
        {"rule": one.rule, "examples": one.examples, "broken": one.broken,
         "broken_groundings": one.broken_groundings, "coverage": one.coverage}
        for one in ordered
    ]  # fmt: skip
    heads = ["rule", "examples that break it", "groundings violated", "antecedent holds in"]
    title = "How often rules are broken"
    return Table("shares", title, [*heads, "examples"], rows, numbers, notes=[_COVERAGE])


def _worst(name: str, broken: Sequence[RuleOnSample]) -> Table:
    """Return the worst violations of some rules."""
    found = [(one.rule, violated) for one in broken for violated in one.worst]
    rows = [
        [Entry(rule), Entry(f"{one.example:,}"), Entry(_cut(one.grounding), title=one.grounding),
         Entry(f"{one.degree:.2g}")]
        for rule, one in found
    ]  # fmt: skip
    numbers = [
        {"rule": rule, "example": one.example, "grounding": one.grounding, "degree": one.degree}
        for rule, one in found
    ]
    return Table(
        name,
        "The worst violations of each rule",
        ["rule", "example", "violated grounding", "degree"],
        rows,
        numbers,
        notes=[_DEGREES.format(broken[0].degrees_under)],
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_GROUNDING else f"{text[: LONGEST_GROUNDING - 1]}…"


def gradients_section(facts: OwnRules) -> Section | None:
    """Show for each relaxation how many violated groundings have no gradient."""
    broken = [one for one in facts.broken if one.without_gradient]
    if not broken:
        return None
    names = [one.name for one in facts.asked.relaxations]
    rows = [
        [Entry(one.rule), *(_share(one.without_gradient[name]) for name in names)] for one in broken
    ]
    thinned = any(one.diagnosed < one.examples for one in broken)
    notes = [_ALONE]
    if thinned:
        notes.append("Of large samples every n-th example was looked at.")
    return Section(
        "gradients",
        "Is there a gradient where they are broken?",
        [
            Text(
                "From a violated grounding whose penalty has no gradient a network cannot learn "
                "to obey. The table has the share of such groundings among the violated ones; half "
                "and more are bold."
            ),
            Table(
                "without-gradient",
                "Violated groundings without a gradient",
                ["rule", *names],
                rows,
                [{"rule": one.rule, **one.without_gradient} for one in broken],
                notes=notes,
            ),
        ],
    )


def _share(share: float) -> Entry:
    return Entry(percent(share), stands_out=share >= NOTABLE)


def obeying_section(facts: OwnRules) -> Section | None:
    """Show for some examples what changes in the best prediction that obeys all rules."""
    if not facts.broken:
        return None
    title = "Which predictions would obey?"
    if not facts.decoded:
        return Section("obeying", title, [Text(f"None are shown: {facts.why_not_decoded}.")])
    return Section("obeying", title, [_INTRO, _decoded(facts.decoded)])


def _decoded(decoded: Sequence[Decoded]) -> Table:
    found = [(one, change) for one in decoded for change in one.changes]
    rows = []
    for one, change in found:
        breaks = names_in_words(one.broken) if change is one.changes[0] else ""
        free = f"{change.free} ({percent(change.free_probability)})"
        obeying = f"{change.obeying} ({percent(change.obeying_probability)})"
        rows.append([f"{one.example:,}", breaks, change.output, free, obeying])
    numbers = [{"example": one.example, **asdict(change)} for one, change in found]
    more = [
        f"Example {one.example:,} has {count_of(one.changed - len(one.changes), 'more change')}."
        for one in decoded
        if one.changed > len(one.changes)
    ]
    return Table(
        "decoded",
        "What changes if predictions obey all rules",
        ["example", "breaks", "output", "predicted", "obeys"],
        [[Entry(cell) for cell in row] for row in rows],
        numbers,
        notes=more,
    )


def advice_section(facts: OwnRules) -> Section:
    """Show the recommended relaxation with its reasons."""
    advised = facts.advised
    title = "Which relaxation, and why?"
    if advised.missing:
        return Section("advice", title, [Text(f"There is no advice: {advised.missing}.")])
    blocks: list[Block] = []
    if advised.is_random:
        blocks.append(
            Text(
                "Measured on random predictions, uniform and confident ones, which stand in for "
                "those of your network. Predictions of your own, by --sample, are better."
            )
        )
    chosen = advised.relaxation or "no relaxation before the others"
    blocks.append(Text(f"Recommended: {chosen}."))
    blocks.append(Items([f"{reason}." for reason in advised.reasons]))
    figure = draw_advised(advised)
    if figure is not None:
        blocks.append(
            Picture(
                "fate",
                "What becomes of violated groundings when predictions follow the rule's gradient",
                "Bars for each relaxation, rule and sample: the shares of violated groundings that "
                "are mended, evaded, or still violated. The reasons above have the means.",
                figure,
                command=facts.asked.advise_command,
            )
        )
    return Section("advice", title, blocks)
