"""Runs of a task: planned from its methods, parts and seeds, trained, and kept as records.

Validation and test are kept apart: settings are chosen with runs whose `split` is "valid", and a
run on "test" is measured once.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from residuum.errors import ResiduumError, listed, suggest
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
        if name not in self.settings:
            raise self.task.mistake(f"a setting {name!r} of {self.method}", listed(self.settings))
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
    replaced: Mapping[str, str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Run]:
    """Return the runs of a task: each part, method and seed, all of them or those that are named.

    `replaced` are settings as text, which count instead of those of the page.
    """
    _check(task, "method", methods, task.methods)
    _check(task, "part", parts, task.parts)
    chosen = seeds or (QUICK_SEEDS if is_quick else SEEDS[split])
    runs = [
        Run(task, method, part, seed, split, is_quick, settings, device, tell)
        for part in dict.fromkeys(parts or task.parts)
        for method in task.methods_of(part)
        if method in (methods or task.methods)
        for settings in [task.settings_of(method, part, is_quick=is_quick)]
        for seed in dict.fromkeys(chosen)
    ]
    if not runs:
        raise ResiduumError(
            f"task {task.name}: expected methods that these parts have, got {listed(methods)} in "
            f"{listed(parts)}; name another method or part"
        )
    return [_with_settings(run, replaced) for run in runs] if replaced else runs


def _with_settings(run: Run, replaced: Mapping[str, str]) -> Run:
    """Return a run with settings in the place of those of the page; their types stay."""
    settings = dict(run.settings)
    for name, text in replaced.items():
        if name not in settings:
            raise ResiduumError(
                f"--set: expected a setting of {run.method}, one of {listed(settings)}, got "
                f"{name!r}.{suggest(name, settings)}"
            )
        settings[name] = _read(name, text, settings[name])
    return replace(run, settings=settings)


def _read(name: str, text: str, instead_of: Scalar) -> Scalar:
    if isinstance(instead_of, bool):
        choices = {"true": True, "false": False}
        if text in choices:
            return choices[text]
    else:
        with contextlib.suppress(ValueError):
            return type(instead_of)(text) if isinstance(instead_of, int | float) else text
    raise ResiduumError(
        f"--set {name}: expected a value such as {instead_of}, got {text!r}; correct it"
    )


def run_all(runs: Sequence[Run], store: Store) -> list[Record]:
    """Train the runs of a task that the store does not have, and return the records of all.

    Each record is kept as soon as its run has ended. Runs of a task with `together` are trained in
    stacks: all missing seeds of one method and part.
    """
    load = functools.cache(lambda is_quick: runs[0].task.load(is_quick))
    for _, alike in itertools.groupby(runs, lambda run: (run.part, run.method)):
        missing = [run for run in alike if run.id not in store]
        is_stacked = bool(missing) and missing[0].task.together is not None
        for stack in [missing] if is_stacked else [[run] for run in missing]:
            for record in _train(stack, load(stack[0].is_quick)):
                store.add(record)
                stack[0].tell(_told(record))
    return [store.get(run.id) for run in runs]


def _train(stack: Sequence[Run], data: Any) -> list[Record]:
    """Train runs that belong together, and return their records."""
    from residuum.training.devices import environment

    started = time.monotonic()
    outcomes = _outcomes(stack, data)
    seconds = (time.monotonic() - started) / len(stack)
    told = environment(stack[0].device, len(stack))
    return [_record(*one, seconds, told) for one in zip(stack, outcomes, strict=True)]


def _outcomes(stack: Sequence[Run], data: Any) -> Sequence[Outcome]:
    task = stack[0].task
    if task.together is None:
        assert task.train is not None
        try:
            return [task.train(data, *stack)]
        except DivergedError as error:
            return [error.divergence]
    found = list(task.together(data, stack))
    if len(found) != len(stack):
        raise task.mistake(f"{len(stack)} outcomes of `together`", str(len(found)))
    return found


def _record(run: Run, found: Outcome, seconds: float, told: Mapping[str, Scalar]) -> Record:
    task = run.task
    diverged = found if isinstance(found, Divergence) else None
    measures = {} if isinstance(found, Divergence) else {k: float(v) for k, v in found.items()}
    if diverged is None and set(measures) != set(task.measures):
        raise task.mistake(f"the measures {listed(task.measures)}", listed(measures) or "none")
    return Record(
        task.study,
        task.scheme,
        run.configuration,
        measures=measures,
        seconds=seconds,
        environment=told,
        diverged=diverged,
    )


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
