"""The sections of the page about a user's rules, each of which answers a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from residuum.reports.blocks import Answer, Block, Section, Text
from residuum.reports.own_rules.answer import answer_in_words
from residuum.reports.own_rules.gathering import OwnRules
from residuum.reports.own_rules.log_section import curves_section
from residuum.reports.own_rules.made_section import made_section
from residuum.reports.own_rules.rules_section import rules_section
from residuum.reports.own_rules.sample_sections import (
    advice_section,
    broken_section,
    gradients_section,
    obeying_section,
)


def answer_section(facts: OwnRules) -> Section:
    """Answer the question of the page, and say what is missing for more."""
    blocks: list[Block] = [Answer(answer_in_words(facts))]
    if not facts.on_sample:
        blocks.append(
            Text(
                "No predictions were given. With --sample FILE.npz the page says where they break "
                "the rules, whether gradients are left there, and what would obey."
            )
        )
    return Section("answer", "The answer", blocks)


OWN_SECTIONS: Final[tuple[Callable[[OwnRules], Section | None], ...]] = (
    answer_section,
    rules_section,
    broken_section,
    gradients_section,
    obeying_section,
    advice_section,
    curves_section,
    made_section,
)
"""What makes each section, or None where there is nothing to say. To add one, add a line here."""


def own_sections(facts: OwnRules) -> Sequence[Section]:
    """Return the sections of the page."""
    made = (make(facts) for make in OWN_SECTIONS)
    return [section for section in made if section is not None]
