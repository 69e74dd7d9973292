"""What a page of code says of its task: methods, settings, measures, and published figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from residuum.errors import ResiduumError, listed
from residuum.results.records import Divergence, Scalar

if TYPE_CHECKING:
    from residuum.field.running import Run

PREFIX: Final = "field-"
"""Records of a task have its name with this in front as their study."""

RESERVED: Final = frozenset({"method", "part", "seed", "split", "quick"})
"""What the configuration of a run holds beside its settings."""

Outcome: TypeAlias = Mapping[str, float] | Divergence
"""What a run comes to: its measures, or how it diverged."""


@dataclass(frozen=True)
class Measure:
    """What is measured, in words and in percent unless `unit` says otherwise.

    `chance` is what a run that diverged counts with in means.
    """

    words: str
    chance: float = 0.0
    unit: str = "%"
    lower_is_better: bool = False

    def __post_init__(self) -> None:
        if self.lower_is_better and self.chance <= 0:
            raise ResiduumError(
                f"measure {self.words}: expected a `chance` above 0, because lower is better, got "
                f"{self.chance}; say what a run that diverged counts with"
            )

    def best(self, values: Iterable[float]) -> float | None:
        """Return the best of some values, or None if there are none."""
        return (min if self.lower_is_better else max)(values, default=None)

    def behind(self, value: float, other: float) -> float:
        """Return by how much a value is worse than another."""
        return value - other if self.lower_is_better else other - value


@dataclass(frozen=True)
class Published:
    """Figures that others printed: a method, its measures in one part of a task, and the source."""

    method: str
    part: str
    figures: Mapping[str, float]
    source: str


@dataclass(frozen=True)
class Task:
    """A task of the field, as its page in `examples/field` states it.

    `name` is the name of the page, with dashes. `load(quick)` returns the data; with `quick` they
    ship with a library or are generated. `train(data, run)` trains and measures one run.
    `together(data, runs)`, in its place, trains all seeds of one method and part at once, and
    returns or yields their outcomes in order.

    `parts` are the sizes or data sets of the task; `only_in` names the parts of methods that not
    all parts have. `settings` are those of all methods; those of a part, and then those of a
    method, replace them. `quick` replaces all of these. Raise `scheme` when the page changes so
    that its records no longer count.
    """

    name: str
    title: str
    shows: str
    load: Callable[[bool], Any]
    methods: Mapping[str, Mapping[str, Scalar]]
    measures: Mapping[str, Measure]
    train: Callable[[Any, Run], Outcome] | None = None
    together: Callable[[Any, Sequence[Run]], Iterable[Outcome]] | None = None
    parts: Mapping[str, Mapping[str, Scalar]] = field(default_factory=lambda: {"": {}})
    only_in: Mapping[str, Sequence[str]] = field(default_factory=dict)
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    quick: Mapping[str, Scalar] = field(default_factory=dict)
    published: Sequence[Published] = ()
    notes: Sequence[str] = ()
    scheme: int = 1

    def __post_init__(self) -> None:
        if (self.train is None) == (self.together is None):
            found = "neither" if self.train is None else "both"
            raise self.mistake("one of `train` and `together`", found)
        self._check("a method", self.methods, self.only_in)
        for parts in self.only_in.values():
            self._check("a part", self.parts, parts)
        for one in self.published:
            self._check("a part", self.parts, [one.part])
            self._check("a measure", self.measures, one.figures)
        for settings in (self.settings, *self.parts.values(), *self.methods.values(), self.quick):
            for name in RESERVED.intersection(settings):
                raise self.mistake("other names of settings", repr(name))

    def _check(self, what: str, known: Iterable[str], named: Iterable[str]) -> None:
        for name in named:
            if name not in known:
                raise self.mistake(f"{what} of {listed(known)}", repr(name))

    def mistake(self, expected: str, found: str) -> ResiduumError:
        """Return an error about the page of this task."""
        return ResiduumError(
            f"task {self.name}: expected {expected}, got {found}; correct the page"
        )

    @property
    def study(self) -> str:
        """The name of the task in records."""
        return PREFIX + self.name

    def methods_of(self, part: str) -> Sequence[str]:
        """Return the methods that a part has."""
        return [name for name in self.methods if part in self.only_in.get(name, self.parts)]

    def settings_of(self, method: str, part: str, *, is_quick: bool) -> dict[str, Scalar]:
        """Return the settings of a method in a part."""
        settings = {**self.settings, **self.parts[part], **self.methods[method]}
        return settings | dict(self.quick) if is_quick else settings
