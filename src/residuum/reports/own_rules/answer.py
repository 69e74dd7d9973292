"""The answer at the top of the page: where rules are broken, and what to do, in a few sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from residuum.checks.wording import names_in_words, tell_contradiction
from residuum.reports.blocks import count_of
from residuum.reports.own_rules.gathering import OwnRules
from residuum.reports.own_rules.training_log import TrainingLog

NOTABLE: Final = 0.5
"""A relaxation is named if it leaves at least this share of violated groundings without one."""


def answer_in_words(facts: OwnRules) -> str:
    """Return the answer as one paragraph."""
    sentences = [*_contradictions(facts), *_broken(facts), *_gradients(facts), *_advice(facts)]
    if facts.log is not None:
        sentences += _learning(facts.log)
    return " ".join(sentences)


def percent(share: float) -> str:
    """Return a share in percent; 0% and 100% are exact.

    >>> [percent(share) for share in (0, 0.0002, 0.034, 0.42, 0.9999, 1)]
    ['0%', '<0.1%', '3.4%', '42%', '>99.9%', '100%']
    """
    if share <= 0 or share >= 1:
        return f"{share:.0%}"
    if share < 0.001:
        return "<0.1%"
    if share > 0.999:
        return ">99.9%"
    return f"{share:.1%}" if share < 0.1 or share > 0.9 else f"{share:.0%}"


def _contradictions(facts: OwnRules) -> Iterator[str]:
    for one in facts.checked.contradictions:
        if one.at_every_length:
            said = tell_contradiction(one)
            yield f"{said[0].upper()}{said[1:]}: change one of them first."
            return


def _broken(facts: OwnRules) -> Iterator[str]:
    rules = len(facts.statements)
    if not facts.on_sample:
        if facts.checked.is_consistent:
            yield f"In {count_of(rules, 'rule')} no contradiction was found."
        return
    if not facts.broken:
        examples = max(one.examples for one in facts.on_sample)
        which = "the rule" if rules == 1 else f"all {rules:,} rules"
        yield f"All {examples:,} predictions of the sample obey {which}."
        return
    first, *others = facts.broken
    told = f"by {percent(first.broken)} of {count_of(first.examples, 'example')}"
    if rules == 1:
        yield f"“{first.rule}” is broken {told}."
        return
    if not others:
        yield f"Only “{first.rule}” of {rules:,} rules is broken, {told}."
        return
    share = percent(others[0].broken)
    often = "as often" if share == percent(first.broken) else f"by {share}"
    second = f"“{others[0].rule}” {often}"
    yield f"“{first.rule}” is broken most, {told}; {second}."


def _gradients(facts: OwnRules) -> Iterator[str]:
    """Say for the rule that is broken most which relaxations leave it without gradients."""
    without = facts.broken[0].without_gradient if facts.broken else {}
    if not without:
        return
    chosen = facts.advised.relaxation
    if chosen is not None and chosen in without:
        share = without[chosen]
        told = "always has a gradient"
        if share:
            told = f"has no gradient at {percent(share)} of the violated groundings"
        yield f"Where it is broken, {chosen}, which is recommended, {told}."
    lost = {name: share for name, share in without.items() if share >= NOTABLE and name != chosen}
    if lost:
        shares = names_in_words([f"{name} ({percent(share)})" for name, share in lost.items()])
        yield f"Most of its violated groundings have no gradient under {shares}."


def _advice(facts: OwnRules) -> Iterator[str]:
    advised = facts.advised
    if advised.missing or (facts.broken and advised.relaxation in facts.broken[0].without_gradient):
        return  # there is none, or the sentence about gradients names it
    on = "on random predictions, as no sample was given" if advised.is_random else "on the sample"
    if advised.relaxation is None:
        yield f"No relaxation is recommended before the others, measured {on}."
    else:
        yield f"{advised.relaxation} is recommended, measured {on}."


def _learning(log: TrainingLog) -> Iterator[str]:
    ends = {rule: found for rule in log.rules if (found := log.ends(rule, "satisfied"))}
    if ends:
        rule = min(ends, key=lambda name: ends[name][1])
        first, last = ends[rule]
        least = "is obeyed least" if len(ends) > 1 else "is obeyed"
        yield (
            f"At the end of the training log “{rule}” {least}, by {percent(last)} of the "
            f"examples; at the beginning it was {percent(first)}."
        )
    yield from misleading(log)


def misleading(log: TrainingLog) -> Iterator[str]:
    """Yield a sentence for each rule whose penalty fell while fewer examples obey it."""
    for rule in log.rules:
        penalty, obeyed = log.ends(rule, "penalty"), log.ends(rule, "satisfied")
        if penalty and obeyed and penalty[1] < penalty[0] and obeyed[1] < obeyed[0]:
            yield (
                f"The penalty of “{rule}” fell from {penalty[0]:.3g} to {penalty[1]:.3g} while "
                f"fewer examples obey it: {percent(obeyed[0])}, then {percent(obeyed[1])}."
            )
