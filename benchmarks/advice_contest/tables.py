"""Prints a record of the advice contest as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from advice_contest.contest import TASKS
from advice_contest.regrets import (
    NO_RULE,
    best_constant,
    left_out,
    mean_regret,
    oracle,
    points,
    regret,
    relaxations,
)

HELD_OUT = {task.name for task in TASKS if task.is_held_out}


def markdown(record: Mapping[str, Any]) -> str:
    """Return the tables of a record: points by task, and mean regrets."""
    results, advice = (
        record["results"],
        {one["task"]: one["relaxation"] for one in record["advice"]},
    )
    tasks = [one for one in dict.fromkeys(row["task"] for row in results) if one in advice]
    groups = {
        "development": [one for one in tasks if one not in HELD_OUT],
        "held out": [one for one in tasks if one in HELD_OUT],
    }
    rehearsed = {
        one["task"]: one["rehearsed"]
        for one in record["advice"]
        if one["task"] in groups["development"]
    }
    return "\n".join(
        [*_points(results, groups, advice), "", *_regrets(results, groups, advice, rehearsed)]
    )


def _points(
    results: Sequence[Mapping[str, Any]],
    groups: Mapping[str, Sequence[str]],
    advice: Mapping[str, str | None],
) -> list[str]:
    names = [NO_RULE, *relaxations(results)]
    heads = ["task", *names, "oracle", "advice", "its regret"]
    rows = []
    for group, tasks in groups.items():
        for task in tasks:
            found = points(results, task, "judging")
            scores = [f"{found[name]:.1f}" if name in found else "–" for name in names]
            said = advice[task] or NO_RULE
            label = f"{task} (held out)" if group == "held out" else task
            rows.append([label, *scores, oracle(results, task), said,
                         f"{regret(results, task, said):.1f}"])  # fmt: skip
    return table(heads, rows)


def _regrets(
    results: Sequence[Mapping[str, Any]],
    groups: Mapping[str, Sequence[str]],
    advice: Mapping[str, str | None],
    rehearsed: Mapping[str, Mapping[str, float]],
) -> list[str]:
    def of_others(task: str) -> str | None:
        return left_out(results, rehearsed, task) if task in rehearsed else advice[task]

    choices = {
        "the advice": advice.get,
        "the advice, its tie chosen on the other tasks": of_others,
        "oracle": lambda task: oracle(results, task),
        "the relaxation that is best on the other tasks": lambda task: _of_others(
            results, groups["development"], task
        ),
        **{f"always {one}": (lambda _, one=one: one) for one in [NO_RULE, *relaxations(results)]},
    }
    shown = {name: tasks for name, tasks in groups.items() if tasks}
    if len(shown) > 1:
        shown["all"] = [task for tasks in groups.values() for task in tasks]
    rows = []
    for name, choose in choices.items():
        cells = []
        for tasks in shown.values():
            worst = max(regret(results, task, choose(task)) for task in tasks)
            cells += [f"{mean_regret(results, tasks, choose):.2f}", f"{worst:.1f}"]
        rows.append([name, *cells])
    heads = [head for name in shown for head in (f"mean regret, {name}", "largest")]
    return table(["choice", *heads], rows)


def _of_others(
    results: Sequence[Mapping[str, Any]], development: Sequence[str], task: str
) -> str | None:
    """Return the relaxation that is best to choose always on the other development tasks."""
    others = [one for one in development if one != task]
    return best_constant(results, others) if others else oracle(results, task)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table whose first column is text."""
    rule = ["---"] + ["--:"] * (len(heads) - 1)
    return [f"| {' | '.join(row)} |" for row in (heads, rule, *rows)]
