"""Certified bounds for rational logics such as R-Product: a race of ways to cover the cube.

Nobody knows beforehand in which coordinates the boxes are fewest, so that several are tried: each
has a short time to show how fast its bounds narrow, and the best goes on. Where even that looks
slow, boxes cut along guards join the race; where the best narrows no longer, another takes its
place. The bounds of all of them hold.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction

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

FASTEST = 3.0
"""No bounds narrow faster than this power of the time for long.

What narrows faster, as slabs do at first, has only begun, and is not preferred for that.
"""

TRIAL = 1 / 240
"""The share of the time in which each way to cover the cube is tried: 1/4 second at most."""

UPRIGHT_TRIALS = 12
"""How many such shares are spent on slabs with each axis upright: they are behind at first."""

FAR = 2.0
"""A cover makes way for others if it looks as if it took so many times all the time it has."""

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
    first = trial = min(0.25, seconds * TRIAL)
    covers: list[Cover] = []
    for cover in _tried(formula, atoms, relaxation, width, trial, deadline):
        covers.append(cover)
        value = cover.exact()
        if value is not None:
            return value
        if cover.is_done():
            break
    left, follows_guards = list(covers), False
    resting: list[Cover] = []  # the last to be left behind come first
    known = [(0.0, 1.0)]
    while not any(cover.is_done() for cover in covers) and time.perf_counter() < deadline:
        # At the beginning time is spent on building cases, and speeds say little.
        by_speed = len(left) <= 2 or follows_guards
        left.sort(key=lambda c: c.forecast(width, FASTEST) if by_speed else c.width())
        half = math.ceil(len(left) / 2)
        left, resting = left[:half], [*left[half:], *resting]
        if not left:
            left, resting = resting[:1], resting[1:]
        if not left:
            break
        if time.perf_counter() > began + EARLY * seconds:
            soonest = min(cover.forecast(useful) for cover in left)
            if soonest > math.log(HOPELESS * seconds):
                raise NotThisWay(f"its certified bounds would stay wider than {useful:g}")
        slow = min(cover.forecast(width) for cover in left) > math.log(PATIENCE)
        pays = axes in CURVED_AXES and deadline - time.perf_counter() > 2 * PATIENCE
        trial = 2 * trial
        if slow and pays and len(left) <= 2 and not follows_guards:
            follows_guards = True
            along = left[0].along_guards(UPRIGHT_TRIALS * first, deadline)
            resting = [*left[1:], *resting]
            covers, left = [*covers, along], [left[0], along]
            trial = max(trial, UPRIGHT_TRIALS * first)
        running = left
        if len(left) == 1:
            running = [_in_time(left[0], resting, width, deadline - time.perf_counter())]
        for cover in running:
            spend = trial if cover in left else min(trial, 2 * cover.spent)
            try:
                cover.narrow(spend, deadline)
            except NotThisWay:  # what it has found so far holds all the same
                left, resting = _without(left, cover), _without(resting, cover)
            value = cover.exact()
            if value is not None:
                return value
            if cover.is_done():
                break
            if cover.is_full():
                known.append(cover.bounds())
                covers = _without(covers, cover)
                left, resting = _without(left, cover), _without(resting, cover)
    known += [cover.bounds() for cover in covers]
    return max(low for low, _ in known), min(high for _, high in known)


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


def _in_time(leader: Cover, others: Sequence[Cover], width: float, seconds: float) -> Cover:
    """Return the leader, or another if that looks as if it were in time, and the leader far off.

    So it is where the leader's bounds narrow no longer.
    """

    def is_late(cover: Cover, times: float) -> bool:
        return cover.forecast(width) > math.log(times * (cover.spent + max(seconds, 0.0)))

    if not is_late(leader, FAR):
        return leader
    hopeful = [cover for cover in others if not is_late(cover, 1.0)]
    return min(hopeful, key=lambda c: c.forecast(width), default=leader)


def _without(covers: Sequence[Cover], one: Cover) -> list[Cover]:
    return [cover for cover in covers if cover is not one]
