"""Certified bounds for rational logics such as R-Product: a race of ways to cover the cube.

Nobody knows beforehand in which coordinates the boxes are fewest, so that several are tried: each
has a short time to show how fast its bounds narrow. From then on the one that looks as if it were
done soonest has as much time again as it had so far, and so on: first forecasts are too good rather
than too bad, and what was not tried for long is not passed over for that. Where even the best looks
slow, boxes cut along guards join the race. The bounds of all of them hold.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import final

from residuum.analysis.boxes import ORDERS, Evaluator
from residuum.analysis.charts import atlases
from residuum.analysis.covers import Cover
from residuum.analysis.giving_up import NotThisWay
from residuum.analysis.pieces import OutOfTime, Tree
from residuum.logic import Atom, Formula
from residuum.relaxations import Relaxation

CURVED_AXES = (2, 3)
"""With so many atoms boxes may be cut along guards."""

PATIENCE = 15.0
"""Boxes are cut along guards if halving them looks as if it took more seconds than this.

Slabs are fewer in the end, but each takes longer, and until there are many they are behind: twice
that time must be left for them.
"""

TRIAL = 1 / 240
"""The share of the time in which each way to cover the cube is tried: 1/4 second at most."""

UPRIGHT_TRIALS = 12
"""How many such shares are spent on slabs with each axis upright: they are behind at first."""

TOLD, BEGUN = 4, 1e-2
"""After so many such shares, if bounds are no wider than this, it can be told how fast they narrow.

Till then, half of the ways are tried on.
"""

EARLY, HOPELESS = 1 / 10, 10
"""Bounds are given up after this share of the time if they would take so many times all of it."""


def enclose(
    formula: Formula,
    atoms: Sequence[Atom],
    relaxation: Relaxation,
    *,
    width: float,
    seconds: float,
    useful: float = 1.0,
) -> Fraction | tuple[float, float]:
    """Return bounds of the mean degree, narrowed until they are `width` apart or time is up.

    Where the degree turns out to be one polynomial almost everywhere, return its integral. Where
    it soon looks as if the bounds would never be `useful`, give up.
    """
    axes = len(atoms)
    if axes > max(ORDERS):
        raise NotThisWay(f"bounding the cube of more than {max(ORDERS)} atoms takes too long")
    began = time.perf_counter()
    deadline = began + seconds
    trial = min(0.25, seconds * TRIAL)
    race = _Race(width, deadline)
    for cover in _tried(formula, atoms, relaxation, width, trial, deadline):
        race.enter(cover)
        if race.is_over():
            break
    # At the beginning time is spent on building cases, and speeds say little.
    shares, best = 1, sorted(race.running, key=Cover.width)
    while best and (shares < TOLD or (len(best) > 1 and best[0].width() > BEGUN)):
        shares, best = 2 * shares, best[: math.ceil(len(best) / 2)]
        for cover in best:
            race.run(cover, shares * trial)
        best.sort(key=Cover.width)
    followed: list[Cover] = []
    while not race.is_over():
        leader = race.leader()
        if time.perf_counter() > began + EARLY * seconds:
            soonest = min(cover.forecast(useful) for cover in race.running)
            if soonest > math.log(HOPELESS * seconds):
                raise NotThisWay(f"its certified bounds would stay wider than {useful:g}")
        is_slow = leader.spent > 2 * TOLD * trial and leader.forecast(width) > math.log(PATIENCE)
        pays = axes in CURVED_AXES and deadline - time.perf_counter() > 2 * PATIENCE
        if is_slow and pays and leader not in followed:
            slabs = leader.along_guards(UPRIGHT_TRIALS * trial, deadline)
            followed += [leader, *slabs]
            for cover in slabs:
                race.enter(cover)
        else:
            race.run(leader, 2 * leader.spent)
    return race.result()


@final
class _Race:
    """Covers that may still be narrowed, and the bounds of all that ever ran."""

    def __init__(self, width: float, deadline: float) -> None:
        self._width = width
        self._deadline = deadline
        self._exact: Fraction | None = None
        self._low, self._high = 0.0, 1.0
        self.running: list[Cover] = []

    def enter(self, cover: Cover) -> None:
        """Take part with what a cover has found so far."""
        self.running.append(cover)
        self._note(cover)

    def run(self, cover: Cover, spend: float) -> None:
        """Narrow a cover until it has spent so much time in all, unless the race is over."""
        if self.is_over():
            return
        gave_up = False
        try:
            cover.narrow(spend, self._deadline)
        except NotThisWay:  # what it has found so far holds all the same
            gave_up = True
        if gave_up or cover.is_full():
            self.running = [other for other in self.running if other is not cover]
        self._note(cover)

    def leader(self) -> Cover:
        """Return the cover that looks as if it had the least time to go."""
        return min(self.running, key=lambda cover: cover.to_go(self._width))

    def is_over(self) -> bool:
        """Say whether the bounds are narrow enough, or time or covers have run out."""
        is_narrow = self._exact is not None or self._high - self._low <= self._width
        return is_narrow or not self.running or time.perf_counter() > self._deadline

    def result(self) -> Fraction | tuple[float, float]:
        """Return the value, if it is known, or else its bounds."""
        return (self._low, self._high) if self._exact is None else self._exact

    def _note(self, cover: Cover) -> None:
        low, high = cover.bounds()
        self._low, self._high = max(self._low, low), min(self._high, high)
        self._exact = cover.exact() if self._exact is None else self._exact


def _tried(
    formula: Formula,
    atoms: Sequence[Atom],
    relaxation: Relaxation,
    width: float,
    trial: float,
    deadline: float,
) -> Iterator[Cover]:
    """Yield the ways to cover the cube, each after a short time; NotThisWay if there is none."""
    axes, found = len(atoms), False
    for atlas in atlases(axes):
        try:
            trees = [Tree(formula, atoms, relaxation, one, deadline=deadline) for one in atlas]
            cover = Cover([Evaluator(tree, axes) for tree in trees], width)
            cover.narrow(trial, deadline)
        except OutOfTime:
            return
        except NotThisWay:
            if not found:
                raise
            continue
        found = True
        yield cover
