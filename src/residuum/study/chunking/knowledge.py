"""The chunk tags, and the rules that sequences of tags obey."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Final, Literal

from residuum.study.common_settings import check_choice
from residuum.syntax import Knowledge, loads
from residuum.syntax.knowledge import FrozenMapping

RulesName = Literal["paper", "all"]

PAPER_RULES: Final = ("begin_then_inside", "inside_then_inside")


@cache
def chunking_knowledge(rules: RulesName = "all") -> Knowledge:
    """Return the tags with the rules of the paper, or with all rules of the tagging scheme.

    >>> list(chunking_knowledge("paper").rules)
    ['begin_then_inside', 'inside_then_inside']
    """
    check_choice("rules", rules, RulesName)
    text = resources.files("residuum.data").joinpath("chunking.rsd").read_text("utf-8")
    knowledge = loads(text)
    if rules == "all":
        return knowledge
    chosen = {name: knowledge.rules[name] for name in PAPER_RULES}
    return replace(knowledge, rules=FrozenMapping(chosen))


@cache
def tag_names() -> tuple[str, ...]:
    """Return the 23 tags in the order of a tagger's outputs."""
    return tuple(map(str, chunking_knowledge().domains["tag"]))
