"""Runs of a task: planned from its methods, parts and seeds, trained, and kept as records.

Validation and test are kept apart: settings are chosen with runs whose `split` is "valid", and a
run on "test" is measured once.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from residuum.errors import ResiduumError, suggest
from residuum.field.task import Outcome, Task
from residuum.results.records import Divergence, Record, Scalar, run_id

if TYPE_CHECKING:
    import torch

    from residuum.results.store import Store

Split = Literal["valid", "test"]

SEEDS: Final[Mapping[Split, tuple[int, ...]]] = {
    "test": tuple(range(1, 11)),
    "valid": tuple(range(101, 104)),
}
"""Seeds that choose settings take no part in results."""

QUICK_SEEDS: Final = (1,)

BETWEEN_NEWS: Final = 2.0
"""Seconds between two lines about the progress of a run."""


class DivergedError(ResiduumError):
    """A run whose loss is no longer finite. It is recorded, and counts at chance level."""

    def __init__(self, epoch: int, *not_finite: str) -> None:
        super().__init__(f"diverged in epoch {epoch}: {', '.join(not_finite)} not finite")
        self.divergence = Divergence(max(epoch, 1), not_finite)


@dataclass(frozen=True)
class Run:
    """One run of a task: what it learns with, on which split it is measured, and its seed."""

    task: Task
    method: str
    part: str
    seed: int
    split: Split
    is_quick: bool
    settings: Mapping[str, Scalar]
    device: torch.device
    tell: Callable[[str], None] = field(default=lambda _: None, compare=False)

    def __getitem__(self, name: str) -> Any:
        return self.settings[name]

    @property
    def configuration(self) -> dict[str, Scalar]:
        """All that the run depends on, as records keep it."""
        own: dict[str, Scalar] = {
            "method": self.method,
            "part": self.part,
            "seed": self.seed,
            "split": self.split,
            "quick": self.is_quick,
        }
        return {**self.settings, **own}

    @property
    def id(self) -> str:
        """The id of the record of this run."""
        return run_id(self.task.study, self.configuration, self.task.scheme)

    def epochs(self, number: int | None = None) -> Iterator[int]:
        """Yield the epochs from 1 to `number` (the setting `epochs`), and tell of progress."""
        total = int(self["epochs"]) if number is None else number
        started = told = time.monotonic()
        for epoch in range(1, total + 1):
            yield epoch
            now = time.monotonic()
            if now - told >= BETWEEN_NEWS:
                told = now
                left = (now - started) / epoch * (total - epoch)
                self.tell(f"{self}: epoch {epoch} of {total}, {left:.0f} s left")

    def check(self, epoch: int, **losses: torch.Tensor | float) -> None:
        """Raise DivergedError if a loss is not finite."""
        broken = [name for name, one in losses.items() if not math.isfinite(float(one))]
        if broken:
            raise DivergedError(epoch, *broken)

    def __str__(self) -> str:
        parts = [self.task.name, *([self.part] if self.part else []), self.method]
        return f"{', '.join(parts)}, seed {self.seed}"


def plan(
    task: Task,
    device: torch.device,
    *,
    methods: Sequence[str] = (),
    parts: Sequence[str] = (),
    seeds: Sequence[int] = (),
    split: Split = "test",
    is_quick: bool = False,
    replaced: Mapping[str, Scalar] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Run]:
    """Return the runs of a task: each part, method and seed, all of them or those that are named.

    `replaced` settings count instead of those of the page.
    """
    _check(task, "method", methods, task.methods)
    _check(task, "part", parts, task.parts)
    if split not in get_args(Split):
        raise ResiduumError(f"split: expected 'valid' or 'test', got {split!r}")
    chosen = seeds or (QUICK_SEEDS if is_quick else SEEDS[split])
    return [
        Run(
            task,
            method,
            part,
            seed,
            split,
            is_quick,
            settings_of(task, method, part, is_quick=is_quick) | dict(replaced or {}),
            device,
            tell,
        )
        for part in parts or task.parts
        for method in methods or task.methods
        for seed in chosen
    ]


def settings_of(task: Task, method: str, part: str, *, is_quick: bool) -> dict[str, Scalar]:
    """Return the settings of a method in a part of a task."""
    settings = {**task.settings, **task.parts[part], **task.methods[method]}
    return settings | dict(task.quick) if is_quick else settings


def run_all(runs: Sequence[Run], store: Store) -> list[Record]:
    """Train the runs that the store does not have, and return the records of all.

    Each record is kept as soon as its run has ended. Runs of a task with `together` are trained in
    stacks: all missing seeds of one method and part.
    """
    data: dict[bool, Any] = {}
    for _, alike in itertools.groupby(runs, lambda run: (run.part, run.method)):
        missing = [run for run in alike if run.id not in store]
        if missing and missing[0].is_quick not in data:
            data[missing[0].is_quick] = missing[0].task.load(missing[0].is_quick)
        is_stacked = bool(missing) and missing[0].task.together is not None
        for stack in [missing] if is_stacked else [[run] for run in missing]:
            for record in _train(stack, data[stack[0].is_quick]):
                store.add(record)
                stack[0].tell(_told(record))
    return [store.get(run.id) for run in runs]


def _train(stack: Sequence[Run], data: Any) -> list[Record]:
    """Train runs that belong together, and return their records."""
    from residuum.training.devices import environment

    task, started = stack[0].task, time.monotonic()
    measured: Sequence[Outcome]
    if task.together is not None:
        measured = task.together(data, stack)
    else:
        assert task.train is not None
        try:
            measured = [task.train(data, stack[0])]
        except DivergedError as error:
            measured = [error.divergence]
    seconds = (time.monotonic() - started) / len(stack)
    told = environment(stack[0].device, len(stack))
    records = []
    for run, found in zip(stack, measured, strict=True):
        diverged = found if isinstance(found, Divergence) else None
        measures = {} if isinstance(found, Divergence) else _checked(task, found)
        records.append(
            Record(
                task.study,
                task.scheme,
                run.configuration,
                measures=measures,
                seconds=seconds,
                environment=told,
                diverged=diverged,
            )
        )
    return records


def _checked(task: Task, measures: Mapping[str, float]) -> dict[str, float]:
    if set(measures) != set(task.measures):
        raise ResiduumError(
            f"task {task.name}: expected the measures {', '.join(task.measures)}, got "
            f"{', '.join(measures) or 'none'}; correct the page"
        )
    return {name: float(value) for name, value in measures.items()}


def _told(record: Record) -> str:
    known = record.configuration
    run = ", ".join(str(known[key]) for key in ("part", "method") if known[key])
    found = record.diverged or ", ".join(f"{n} {v:.1f}" for n, v in record.measures.items())
    return f"done: {run}, seed {known['seed']}: {found} ({record.seconds:.0f} s)"


def _check(task: Task, what: str, given: Sequence[str], known: Mapping[str, object]) -> None:
    for name in given:
        if name not in known:
            raise ResiduumError(
                f"task {task.name}: expected a {what} of {', '.join(filter(None, known))}, got "
                f"{name!r}.{suggest(name, known)}"
            )
