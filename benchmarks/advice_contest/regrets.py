"""How far choices are below the best: points of the judging seeds, from a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import Any

from residuum.advice.recommending import GAIN, PREFERENCE, TIE

Result = Mapping[str, Any]
TIES = (0.0, 1.0, 2.0, TIE, 4.0, 6.0)
"""Other ways to call points equal, for leave-one-task-out."""

NO_RULE = "no rule"
FALLBACK = "s-product"
"""What is taken in place of `exact` where its circuit is too large."""


def points(results: Sequence[Result], task: str, role: str) -> dict[str, float]:
    """Return the mean points of each relaxation, and of no rule, on some seeds."""
    return {
        one["relaxation"] or NO_RULE: mean(one[role])
        for one in results
        if one["task"] == task and role in one
    }


def regret(results: Sequence[Result], task: str, choice: str | None) -> float:
    """Return how many points a choice is below the best one, on the judging seeds."""
    judged = points(results, task, "judging")
    return max(judged.values()) - judged.get(choice or NO_RULE, judged[FALLBACK])


def oracle(results: Sequence[Result], task: str) -> str:
    """Return the choice that is best on the naming seeds."""
    named = points(results, task, "naming")
    return max(named, key=lambda name: named[name])


def mean_regret(
    results: Sequence[Result], tasks: Sequence[str], choose: Callable[[str], str | None]
) -> float:
    """Return the mean regret of a way to choose, over tasks."""
    return mean(regret(results, task, choose(task)) for task in tasks)


def best_constant(results: Sequence[Result], tasks: Sequence[str]) -> str:
    """Return the relaxation that has the smallest mean regret if it is always chosen."""
    names = relaxations(results)
    return min(names, key=lambda name: mean_regret(results, tasks, lambda _: name))


def relaxations(results: Sequence[Result]) -> list[str]:
    """Return the relaxations of a record, in its order."""
    return list(dict.fromkeys(one["relaxation"] for one in results if one["relaxation"]))


def advised_with(rehearsed: Mapping[str, float], tie: float) -> str | None:
    """Return what the advice recommends if points within `tie` are equal."""
    found = {name: one for name, one in rehearsed.items() if name != "None"}
    equals = [name for name, one in found.items() if one >= max(found.values()) - tie]
    best = min(equals, key=PREFERENCE.index)
    return best if found[best] >= rehearsed["None"] + GAIN else None


def left_out(
    results: Sequence[Result], rehearsed: Mapping[str, Mapping[str, float]], task: str
) -> str | None:
    """Return what the advice recommends with the tie that is best for all tasks but this one."""
    others = [one for one in rehearsed if one != task] or [task]
    tie = min(
        TIES,
        key=lambda tie: mean_regret(results, others, lambda t: advised_with(rehearsed[t], tie)),
    )
    return advised_with(rehearsed[task], tie)
