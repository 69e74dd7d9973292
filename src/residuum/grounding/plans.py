"""A plan: a rule as a list of steps over named axes, independent of any relaxation.

Each variable of a quantifier is an axis. A step's value is an array whose leading dimensions are
the batch and whose trailing ones are the axes, of length 1 where it does not depend on one; so
steps combine by broadcasting. Nested variables take different dimensions, others share them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from residuum.logic import Comparison, Count, Formula, Term
from residuum.syntax import Domain, Predicate


class Axis(NamedTuple):
    """A variable and its dimension. A variable that makes the batch has none."""

    variable: str
    domain: Domain
    dimension: int | None


class Guarded(NamedTuple):
    """A guard and the axes of its variables."""

    guard: Formula
    axes: tuple[Axis, ...]


class Position(NamedTuple):
    """A term that must be a position of a sequence, and the axes of its variables."""

    term: Term
    axes: tuple[Axis, ...]
    sequence: str


@dataclass(frozen=True)
class Compared:
    """A comparison of quantities, which becomes a tensor over its axes.

    `uses` are the terms that are quantities. Each is read from a slot of `Plan.quantities`.
    """

    comparison: Comparison
    uses: tuple[tuple[Term, Read], ...]
    axes: tuple[Axis, ...]
    scale: float
    smoothing: str

    def __str__(self) -> str:
        how = "crisp" if self.scale == 0 else f"{self.smoothing} with scale {self.scale:g}"
        return f"{self.comparison}, {how}"


@dataclass(frozen=True)
class Slot:
    """A tensor that the caller passes: a predicate, or a predicate of certain open members.

    `members` are the arguments over `open_domains`. For each of the other arguments the tensor has
    a dimension: these are `domains`. If members depend on axes, the domains of these come first.
    The slot of a comparison, `compared`, is computed from quantities, and the caller passes these.
    `sizes` are those of the dimensions, None for a sequence. `is_exclusive` says that members of
    the last dimension exclude each other, as classes of a softmax.
    """

    name: str
    predicate: Predicate
    domains: tuple[Domain, ...]
    members: tuple[Term, ...] = ()
    open_domains: tuple[str, ...] = ()
    compared: Compared | None = None
    sizes: tuple[int | None, ...] = field(init=False, repr=False, compare=False)
    is_exclusive: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sizes = tuple(None if d.labels is None else len(d.labels) for d in self.domains)
        object.__setattr__(self, "sizes", sizes)
        is_softmax = bool(self.domains) and not self.predicate.is_independent
        object.__setattr__(self, "is_exclusive", is_softmax and not self.domains[-1].is_open)

    def __str__(self) -> str:
        if self.compared is not None:
            return str(self.compared)
        sizes = ", ".join(f"{d.name} {'' if d.labels is None else len(d.labels)}".strip()
                          for d in self.domains)  # fmt: skip
        kind = "exclusive" if self.is_exclusive else "independent" if self.domains else "sigmoid"
        if self.predicate.is_hidden:
            kind += ", hidden"
        return f"{self.name}({sizes}), {kind}" if self.domains else f"{self.name}, {kind}"


@dataclass(frozen=True)
class Known:
    """The step of the constant `true` or `false`."""

    value: bool


@dataclass(frozen=True)
class Read:
    """The step of an atom: it reads a slot at one term for each dimension."""

    slot: int
    terms: tuple[Term, ...]
    axes: tuple[Axis, ...]
    guards: tuple[Guarded, ...]


@dataclass(frozen=True)
class Connect:
    """The step of a connective between earlier steps. `CountOf` is one, with its `count`."""

    kind: type[Formula]
    operands: tuple[int, ...]
    count: Count | None = None


@dataclass(frozen=True)
class Quantify:
    """The step of a quantifier over an earlier step.

    `positions` are terms that must stay inside their sequence. Where one does not, the grounding
    does not count. A `CountQuantifier` has a `count`. `members` is a guard about members of open
    domains, which are known in a call.
    """

    kind: type[Formula]
    axes: tuple[Axis, ...]
    guard: Guarded | None
    positions: tuple[Position, ...]
    operand: int
    count: Count | None = None
    members: Guarded | None = None


Step = Known | Read | Connect | Quantify


class Rows(NamedTuple):
    """The rows of a rule that relates members of open domains, and the guard that selects them.

    Each choice of members for the `variables` is one example of the batch. `observed` are the
    predicates that guards read: of these the pairs are known in a call. `is_batch` says that the
    rule is about one member of a domain, whose members other rules relate.
    """

    variables: tuple[Axis, ...]
    guard: Formula | None
    observed: tuple[Predicate, ...] = ()
    is_batch: bool = False


@dataclass(frozen=True)
class Plan:
    """The steps of a rule. Operands come first; the last step is the whole rule.

    `rank` is the number of dimensions that variables use. `fixed` are positions that stand under no
    quantifier, so that every sequence must be long enough for them. `quantities` are the tensors
    of numbers that the caller passes. `relation` is None unless the rule relates members of open
    domains.
    """

    formula: Formula
    slots: tuple[Slot, ...]
    steps: tuple[Step, ...]
    rank: int
    functions: tuple[tuple[str, object], ...]
    fixed: tuple[Position, ...] = ()
    quantities: tuple[Slot, ...] = ()
    relation: Rows | None = None

    @cached_property
    def given(self) -> tuple[Slot, ...]:
        """The slots of the tensors that the caller passes."""
        return (*self.outputs, *self.quantities) if self.quantities else self.slots

    @property
    def read(self) -> tuple[str, ...]:
        """The names under which the caller passes tensors and labels: of slots, or of predicates.

        A rule that relates members of open domains reads each predicate from one tensor.
        """
        if self.relation is None:
            return tuple(slot.name for slot in self.given)
        names = [slot.predicate.name for slot in self.given]
        return tuple(dict.fromkeys([*names, *(one.name for one in self.relation.observed)]))

    @property
    def outputs(self) -> tuple[Slot, ...]:
        """The slots that are outputs of networks: all but comparisons."""
        return tuple(slot for slot in self.slots if slot.compared is None)

    @property
    def counts(self) -> tuple[Count, ...]:
        """The counts of all steps that count groundings or formulas."""
        found = (step.count for step in self.steps if isinstance(step, Connect | Quantify))
        return tuple(count for count in found if count is not None)

    @cached_property
    def sequence_domains(self) -> tuple[str, ...]:
        """The names of the domains whose lengths come with the data: sequences, and open ones."""
        found = {d.name: None for slot in self.given for d in slot.domains if d.labels is None}
        return tuple(found)
