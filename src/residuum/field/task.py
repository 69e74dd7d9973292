"""What a page of code says of its task: methods, settings, measures, and published figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from residuum.errors import ResiduumError
from residuum.results.records import Divergence, Scalar

if TYPE_CHECKING:
    from residuum.field.running import Run

PREFIX: Final = "field-"
"""Records of a task have its name with this in front as their study."""


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

    `load(quick)` returns the data; with `quick` they ship with a library or are generated.
    `train(data, run)` trains and measures one run, or with `together` all seeds of one method and
    part: it then takes a list of runs, and returns a list of measures. `parts` are the sizes or
    data sets of the task. `settings` are those of all methods; those of a method, and of a part,
    replace them. `quick` replaces all of these.
    """

    name: str
    title: str
    shows: str
    load: Callable[[bool], Any]
    train: Callable[[Any, Run], Mapping[str, float]] | None
    methods: Mapping[str, Mapping[str, Scalar]]
    measures: Mapping[str, Measure]
    parts: Mapping[str, Mapping[str, Scalar]] = field(default_factory=lambda: {"": {}})
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    quick: Mapping[str, Scalar] = field(default_factory=dict)
    published: Sequence[Published] = ()
    notes: Sequence[str] = ()
    together: Callable[[Any, Sequence[Run]], Sequence[Mapping[str, float] | Divergence]] | None = (
        None
    )
    scheme: int = 1

    def __post_init__(self) -> None:
        if (self.train is None) == (self.together is None):
            raise ResiduumError(
                f"task {self.name}: expected `train` or `together`, got "
                f"{'neither' if self.train is None else 'both'}; give one of them"
            )

    @property
    def study(self) -> str:
        """The name of the task in records."""
        return PREFIX + self.name
