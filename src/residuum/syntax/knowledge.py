"""Knowledge as plain, immutable data: what a rule file says once it has been checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeVar, final

from residuum.errors import ResiduumError, listed
from residuum.logic import Constant, Formula
from residuum.logic.terms import Label

_NUMERAL: Final = re.compile("0|-?[1-9][0-9]{0,17}")
K = TypeVar("K")
V = TypeVar("V", covariant=True)


@final
class FrozenMapping(Mapping[K, V]):
    """A mapping that cannot change, and can be pickled."""

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
    """What variables range over: listed labels, positions of a sequence, or open.

    The members of an open domain (`labels` is None) come with the data.
    """

    name: str
    labels: tuple[Label, ...] | range | None = None
    is_sequence: bool = False

    def __post_init__(self) -> None:
        if self.labels is not None:
            object.__setattr__(self, "labels", _as_range(self.labels))

    def __hash__(self) -> int:
        # Domains are hashed often, and domains of one name and size are seldom different.
        size = None if self.labels is None else len(self.labels)
        return hash((self.name, size, self.is_sequence))

    @cached_property
    def is_numeric(self) -> bool:
        """Whether arithmetic on its members makes sense."""
        if self.is_sequence or self.labels is None:
            return self.is_sequence
        return isinstance(self.labels, range) or all(isinstance(one, int) for one in self.labels)

    @cached_property
    def _places(self) -> dict[Label, int]:
        return {label: place for place, label in enumerate(self.labels or ())}

    def __iter__(self) -> Iterator[Label]:
        if self.labels is None:
            raise ResiduumError(f"the members of domain {self} come with the data")
        return iter(self.labels)

    def has(self, value: Label) -> bool:
        """Return whether a constant may name a member: a label, or a position of a sequence."""
        return self.place(value) is not None or (self.is_sequence and isinstance(value, int))

    def place(self, value: Label) -> int | None:
        """Return where among the listed labels one stands, counted from 0; None for no label."""
        if not isinstance(self.labels, range):
            return self._places.get(value)
        # A range would compare each of its members with anything but a plain integer.
        number = int(value) if isinstance(value, int) else None
        return self.labels.index(number) if number is not None and number in self.labels else None

    def twin_of(self, value: Label) -> str:
        """Return a remark if a member is written like this value, but only one of them is text.

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
        """Return whether each of its labels is one of the other's: 0..9 is part of 0..18."""
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
    """Return integers at equal distances as a range, whatever their number, and others as given.

    A range takes no memory, finds a label at once, and is compared at once.
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
    """Return whether each of some integers, at least one, is among others."""
    ends_are_in = part[0] in whole and part[-1] in whole
    return ends_are_in and (part[0] == part[-1] or part.step % whole.step == 0)


@dataclass(frozen=True)
class Function:
    """A function between domains, given by a table or (`table` is None) bound from Python."""

    name: str
    domains: tuple[str, ...]
    result: str
    table: Mapping[tuple[Label, ...], Label] | None = None

    def __call__(self, *arguments: Label) -> Label:
        """Return the value that the table gives."""
        if self.table is None or arguments not in self.table:
            raise ResiduumError(f"function `{self.name}` has no value for {arguments}")
        return self.table[arguments]


@dataclass(frozen=True)
class Predicate:
    """A predicate over domains; the last is exclusive (one softmax) unless independent."""

    name: str
    domains: tuple[str, ...] = ()
    is_independent: bool = False


@dataclass(frozen=True)
class Facts:
    """A named set of labelled examples of one predicate, bound from Python."""

    name: str
    predicate: str


@dataclass(frozen=True)
class Rule:
    """A named closed formula and its weight."""

    name: str
    formula: Formula
    weight: float = 1.0


@dataclass(frozen=True)
class Knowledge:
    """A whole rule file: everything it declares, by name, in the order of the text."""

    domains: Mapping[str, Domain] = field(default_factory=FrozenMapping)
    functions: Mapping[str, Function] = field(default_factory=FrozenMapping)
    predicates: Mapping[str, Predicate] = field(default_factory=FrozenMapping)
    facts: Mapping[str, Facts] = field(default_factory=FrozenMapping)
    rules: Mapping[str, Rule] = field(default_factory=FrozenMapping)
