"""The protocol: weights are chosen on DEV, and regret is measured on seeds of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import mean
from typing import Any, Final

import torch

from advice_contest import digits, labels, structures
from advice_contest.task import Task
from advice_contest.training import Splits, points, splits, train
from residuum.errors import CircuitError

TASKS: Final[tuple[Task, ...]] = (*digits.TASKS, *labels.TASKS, *structures.TASKS)

RELAXATIONS: Final = (
    "s-product", "r-product", "s-godel", "r-godel", "lukasiewicz", "lukasiewicz-maxsat", "exact",
)  # fmt: skip
"""The relaxations of the contest."""

WEIGHTS: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""The weights of the rules that are tried on DEV, in every task and under every relaxation."""

TUNING: Final = tuple(range(100, 103))
NAMING: Final = tuple(range(200, 205))
JUDGING: Final = tuple(range(300, 305))
"""Seeds: those that choose a weight, those that name the best, and those that measure regret."""


def results(task: Task) -> Iterator[dict[str, Any]]:
    """Yield the result of each relaxation, first that without rules."""
    data = {seeds: splits(task, seeds) for seeds in (TUNING, NAMING, JUDGING)}
    for relaxation in (None, *RELAXATIONS):
        started = time.process_time()
        found: dict[str, Any] = {"task": task.name, "relaxation": relaxation}
        try:
            if relaxation:
                found |= _tuned(task, data[TUNING], relaxation)
            weight = found.get("weight", 0.0)
            for role, seeds in (("naming", NAMING), ("judging", JUDGING)):
                networks = train(
                    task, data[seeds], seeds, relaxation, torch.full((len(seeds),), weight)
                )
                found[role] = [round(one, 2) for one in points(task, networks, data[seeds].test)]
        except CircuitError:
            found["infeasible"] = True
        yield found | {"seconds": round(time.process_time() - started, 1)}


def _tuned(task: Task, data: Splits, relaxation: str) -> dict[str, Any]:
    """Return the weight that is best on DEV, and what each reached there."""
    copies = len(WEIGHTS)
    many = Splits(*(_repeated(one, copies) for one in data))
    weights = torch.tensor(WEIGHTS).repeat_interleave(len(TUNING))
    networks = train(task, many, TUNING * copies, relaxation, weights)
    scores = points(task, networks, many.dev)
    size = len(TUNING)
    reached = [mean(scores[at : at + size]) for at in range(0, len(scores), size)]
    best = max(range(copies), key=lambda at: reached[at])
    return {"weight": WEIGHTS[best], "dev": [round(one, 2) for one in reached]}


def _repeated(examples: Any, copies: int) -> Any:
    return type(examples)(*(
        {name: tensor.repeat(copies, *(1,) * (tensor.dim() - 1)) for name, tensor in field.items()}
        for field in examples
    ))  # fmt: skip
