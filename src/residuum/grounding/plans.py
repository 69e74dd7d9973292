"""A plan: a rule as a list of steps over named axes, independent of any relaxation.

Each variable of a quantifier is an axis. A step's value is an array whose leading dimensions are
the batch and whose trailing ones are the axes, of length 1 where it does not depend on one; so
steps combine by broadcasting. Nested variables take different dimensions, others share them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from residuum.logic import Formula, Term
from residuum.syntax import Domain, Predicate


class Axis(NamedTuple):
    """A variable as a dimension; an open variable is the batch itself and has none."""

    variable: str
    domain: Domain
    dimension: int | None


class Guarded(NamedTuple):
    """A guard and the axes it is stated over."""

    guard: Formula
    axes: tuple[Axis, ...]


class Position(NamedTuple):
    """A term that must stay inside the sequence of a domain, and the axes it is stated over."""

    term: Term
    axes: tuple[Axis, ...]
    sequence: str


@dataclass(frozen=True)
class Slot:
    """One tensor the caller passes: a predicate, or one of its uses on open members.

    `members` are those terms over `open_domains`; the tensor has a dimension for each of
    `domains`, the others.
    """

    name: str
    predicate: Predicate
    domains: tuple[Domain, ...]
    members: tuple[Term, ...] = ()
    open_domains: tuple[str, ...] = ()

    @property
    def sizes(self) -> tuple[int | None, ...]:
        """The sizes of its dimensions; None for a sequence."""
        return tuple(None if d.labels is None else len(d.labels) for d in self.domains)

    @property
    def is_exclusive(self) -> bool:
        """Whether the last dimension is one categorical variable."""
        return len(self.domains) > 0 and not self.predicate.is_independent

    def __str__(self) -> str:
        sizes = ", ".join(f"{d.name} {'' if d.labels is None else len(d.labels)}".strip()
                          for d in self.domains)  # fmt: skip
        kind = "exclusive" if self.is_exclusive else "independent" if self.domains else "sigmoid"
        return f"{self.name}({sizes}), {kind}" if self.domains else f"{self.name}, {kind}"


@dataclass(frozen=True)
class Known:
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True)
class Read:
    """An atom: entries of a slot, one term for each of its dimensions."""

    slot: int
    terms: tuple[Term, ...]
    axes: tuple[Axis, ...]
    guards: tuple[Guarded, ...]


@dataclass(frozen=True)
class Connect:
    """A connective over earlier steps."""

    kind: type[Formula]
    operands: tuple[int, ...]


@dataclass(frozen=True)
class Quantify:
    """A quantifier over an earlier step.

    `positions` are the terms that must stay inside the sequence: where one leaves it, the
    grounding is dropped.
    """

    kind: type[Formula]
    axes: tuple[Axis, ...]
    guard: Guarded | None
    positions: tuple[Position, ...]
    operand: int


Step = Known | Read | Connect | Quantify


@dataclass(frozen=True)
class Plan:
    """The steps of a rule, operands before what they are operands of; the last is the rule.

    `fixed` are positions under no quantifier, which could drop them: each sequence must have them.
    """

    formula: Formula
    slots: tuple[Slot, ...]
    steps: tuple[Step, ...]
    rank: int
    functions: tuple[tuple[str, object], ...]
    fixed: tuple[Position, ...] = ()

    @property
    def sequence_domains(self) -> tuple[str, ...]:
        """The sequence domains whose length comes with the data."""
        found = {d.name: None for slot in self.slots for d in slot.domains if d.is_sequence}
        return tuple(found)
