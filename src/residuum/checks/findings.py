"""What `check` finds in a knowledge, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from residuum.syntax.knowledge import FrozenMapping


@dataclass(frozen=True)
class Contradiction:
    """Rules that no prediction obeys together. One rule alone cannot hold at all.

    For rules about sequences, `lengths` are those for which this is so, and `at_every_length` says
    that these are all lengths that were checked. Every rule is needed, at one of the lengths at
    least, unless the solver gave up before that was known (`is_minimal`).
    """

    rules: tuple[str, ...]
    lengths: tuple[int, ...] = ()
    at_every_length: bool = True
    is_minimal: bool = True


@dataclass(frozen=True)
class Entailed:
    """A rule that every prediction obeys that obeys the rules `by`.

    Without others, the rule holds for every prediction. All of `by` are needed, unless the solver
    gave up before that was known (`is_minimal`).
    """

    rule: str
    by: tuple[str, ...]
    is_minimal: bool = True


@dataclass(frozen=True)
class RuleCheck:
    """The contradictions and the entailed rules of a knowledge, and what was not checked and why.

    `lengths` are the lengths of sequences that were checked, and `open_domains` the domains that
    had one member each.

    >>> import residuum as rs
    >>> knowledge = rs.loads("predicate A  predicate B  rule one: A -> B  rule two: A & B -> B")
    >>> found = rs.check(knowledge)
    >>> found.contradictions
    ()
    >>> [one.rule for one in found.entailed]
    ['two']
    """

    contradictions: tuple[Contradiction, ...] = ()
    entailed: tuple[Entailed, ...] = ()
    unchecked: Mapping[str, str] = field(default_factory=FrozenMapping)
    lengths: tuple[int, ...] = ()
    open_domains: tuple[str, ...] = ()

    @property
    def is_consistent(self) -> bool:
        """Whether no contradiction was found, but for some lengths of sequences only."""
        return not any(one.at_every_length for one in self.contradictions)
