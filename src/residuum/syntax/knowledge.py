"""What a rule file declares, as plain, immutable data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeVar, final

from residuum.errors import ResiduumError, listed, shown
from residuum.logic import Constant, Formula
from residuum.logic.terms import Label

_NUMERAL: Final = re.compile("0|-?[1-9][0-9]{0,17}")
K = TypeVar("K")
V = TypeVar("V", covariant=True)


@final
class FrozenMapping(Mapping[K, V]):
    """A mapping that cannot be changed, but can be pickled and hashed."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[K, V] | None = None) -> None:
        self._items = dict(items or {})

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)


@dataclass(frozen=True)
class Domain:
    """The members that variables range over: listed labels, or positions of a sequence.

    An open domain (`labels` is None, no sequence) has members that come with the data: the examples
    of a batch, or individuals that rules relate. `is_related` says that it is the latter, also for
    rules with one variable.
    """

    name: str
    labels: tuple[Label, ...] | range | None = None
    is_sequence: bool = False
    is_related: bool = False

    def __post_init__(self) -> None:
        if self.labels is not None:
            object.__setattr__(self, "labels", _as_range(self.labels))

    def __hash__(self) -> int:
        # Domains are hashed often. Those with the same name and size are seldom different.
        size = None if self.labels is None else len(self.labels)
        return hash((self.name, size, self.is_sequence))

    @cached_property
    def is_open(self) -> bool:
        """Whether the members come with the data."""
        return self.labels is None and not self.is_sequence

    @cached_property
    def is_numeric(self) -> bool:
        """Whether members are integers or positions, so that terms can compute with them."""
        if self.is_sequence or self.labels is None:
            return self.is_sequence
        return isinstance(self.labels, range) or all(isinstance(one, int) for one in self.labels)

    @cached_property
    def is_text(self) -> bool:
        """Whether all members are text, so that `<` compares them alphabetically."""
        return bool(self.labels) and all(isinstance(one, str) for one in self.labels or ())

    @cached_property
    def _places(self) -> dict[Label, int]:
        return {label: place for place, label in enumerate(self.labels or ())}

    def __iter__(self) -> Iterator[Label]:
        if self.labels is None:
            raise ResiduumError(
                f"expected a domain with listed labels, but those of {self} come with the data; "
                "list its labels"
            )
        return iter(self.labels)

    def has(self, value: Label) -> bool:
        """Return whether a constant can be a member: a label, or a position of a sequence."""
        return self.place(value) is not None or (self.is_sequence and isinstance(value, int))

    def place(self, value: Label) -> int | None:
        """Return the index of a label among the listed ones, or None if it is none of them."""
        if not isinstance(self.labels, range):
            return self._places.get(value)
        # A range searches member by member for anything but a plain integer.
        number = int(value) if isinstance(value, int) else None
        return self.labels.index(number) if number is not None and number in self.labels else None

    def twin_of(self, value: Label) -> str:
        """Return a remark if a label looks like this value, but only one of the two is text.

        >>> Domain("digit", (0, 1)).twin_of("1")
        ' "1" is text, and the label 1 is a number.'
        """
        if isinstance(value, str):
            if _NUMERAL.fullmatch(value) and self.has(int(value)):
                return f" {Constant(value)} is text, and the label {value} is a number."
        elif self.has(str(value)):
            return f" {value} is a number, and the label {Constant(str(value))} is text."
        return ""

    def is_part_of(self, other: Domain) -> bool:
        """Return whether all labels are labels of the other domain: 0..9 is part of 0..18."""
        if self.labels is None or other.labels is None:
            return self == other
        if isinstance(self.labels, range) and isinstance(other.labels, range):
            return _is_part_of_range(self.labels, other.labels)
        return len(self.labels) <= len(other.labels) and all(map(other.has, self.labels))

    def __str__(self) -> str:
        if self.labels is None:
            return f"`{self.name}` ({'a sequence' if self.is_sequence else 'open'})"
        return f"`{self.name}` ({listed(self.labels)})"


def _as_range(labels: tuple[Label, ...] | range) -> tuple[Label, ...] | range:
    """Return integers at equal distances as a range, and other labels as given.

    A range takes no memory, and finding a label in it takes no time, nor does comparing ranges.
    """
    if not labels:
        return ()
    if isinstance(labels, range):
        return labels
    integers = [label for label in labels if type(label) is int]
    if len(integers) < len(labels):
        return labels
    first = integers[0]
    step = integers[1] - first if len(integers) > 1 else 1
    evenly = range(first, first + step * len(integers), step or 1)
    return evenly if integers == list(evenly) else labels


def _is_part_of_range(part: range, whole: range) -> bool:
    """Return whether all integers of a range that is not empty are in another range."""
    ends_are_in = part[0] in whole and part[-1] in whole
    return ends_are_in and (part[0] == part[-1] or part.step % whole.step == 0)


@dataclass(frozen=True)
class Function:
    """A function between domains, given by a table, or from Python if `table` is None."""

    name: str
    domains: tuple[str, ...]
    result: str
    table: Mapping[tuple[Label, ...], Label] | None = None

    def __call__(self, *arguments: Label) -> Label:
        """Return the value in the table for these arguments."""
        if self.table is None or arguments not in self.table:
            raise ResiduumError(f"function `{self.name}` has no value for {arguments}")
        return self.table[arguments]


@dataclass(frozen=True)
class Predicate:
    """A predicate over domains.

    The members of the last domain exclude each other (one softmax), unless they are independent. A
    hidden predicate is no output of a network: it has every value, and exact questions sum it out.
    """

    name: str
    domains: tuple[str, ...] = ()
    is_independent: bool = False
    is_hidden: bool = False


SMOOTHINGS: Final = ("logistic", "ramp")
"""How the degree of a comparison follows from the difference of its sides, in units of its scale.

`losses/degrees/comparing.py` says what each of them computes.
"""

SMALLEST_SCALE: Final = 1e-30
LARGEST_SCALE: Final = 1e30


@final
@dataclass(frozen=True)
class Quantity:
    """A real-valued function of members of domains, and how its comparisons become degrees.

    `scale` is in the units of the quantity: a difference of a few scales counts as clear. A scale
    of 0 makes comparisons crisp, for numbers that are exactly known. `domains` are those of its
    arguments; None stands for those that a rule makes plain.

    >>> import torch
    >>> import residuum as rs
    >>> rule = rs.compile("Age >= 18 -> Adult", quantities={"Age": rs.Quantity(scale=2.0)})
    >>> rule.satisfied(Age=torch.tensor([17.0, 40.0]), Adult=torch.tensor([-1.0, -1.0])).tolist()
    [True, False]
    """

    scale: float
    smoothing: str = "logistic"
    domains: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.scale, bool) or not isinstance(self.scale, int | float):
            raise ResiduumError(
                f"a quantity: expected its scale as a number, got {shown(self.scale)}; give it in "
                "the units of the quantity"
            )
        object.__setattr__(self, "scale", check_scale(float(self.scale)))
        if self.smoothing not in SMOOTHINGS:
            raise ResiduumError(
                f"a quantity: expected a smoothing among {', '.join(SMOOTHINGS)}, got "
                f"{shown(self.smoothing)}"
            )
        if isinstance(self.domains, str) or not isinstance(self.domains, Iterable | None):
            raise ResiduumError(
                f"a quantity: expected a tuple of domain names, got {shown(self.domains)}"
            )
        if self.domains is not None:
            object.__setattr__(self, "domains", tuple(self.domains))


def check_scale(scale: float) -> float:
    """Return a scale; ResiduumError if it is neither 0 nor a positive number of ordinary size."""
    if scale != 0 and not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise ResiduumError(
            f"a quantity: expected a scale from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}, or 0 for "
            f"crisp comparisons, got {scale:g}; measure in other units"
        )
    return scale


@dataclass(frozen=True)
class Facts:
    """A named set of labelled examples of one predicate, given from Python."""

    name: str
    predicate: str


@dataclass(frozen=True)
class Rule:
    """A named closed formula, its weight, and how its groundings are aggregated, if it says so."""

    name: str
    formula: Formula
    weight: float = 1.0
    over: str | None = None


@dataclass(frozen=True)
class Knowledge:
    """All declarations of a rule file by name, in the order of the text.

    >>> import residuum as rs
    >>> knowledge = rs.loads("domain pet = cat, dog  predicate Has(pet)  rule a: ~Has(cat)")
    >>> knowledge.domains["pet"].labels
    ('cat', 'dog')
    >>> print(knowledge.rules["a"].formula)
    ~Has("cat")
    """

    domains: Mapping[str, Domain] = field(default_factory=FrozenMapping)
    functions: Mapping[str, Function] = field(default_factory=FrozenMapping)
    predicates: Mapping[str, Predicate] = field(default_factory=FrozenMapping)
    facts: Mapping[str, Facts] = field(default_factory=FrozenMapping)
    rules: Mapping[str, Rule] = field(default_factory=FrozenMapping)
    quantities: Mapping[str, Quantity] = field(default_factory=FrozenMapping)
