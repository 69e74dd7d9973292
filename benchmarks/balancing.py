"""Compares weights of rules that are fixed with weights balanced by gradient norms.

`python benchmarks/balancing.py` trains the quick studies on a CPU and prints a record;
`--table RECORD` prints a record as tables. TEST plays no part: scores are those on DEV.

A balanced weight is `share` times the norm of the labels' gradient divided by the norm of the
rules' gradient. Both norms are moving averages over steps, taken over the networks that learn from
labels; the weight stays between 0.001 and 10.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import torch
from torch import Tensor

from residuum.study.chunking.data.corpus import load_corpus
from residuum.study.chunking.settings import preset as chunking_preset
from residuum.study.chunking.task import ChunkingTask
from residuum.study.digits.data.batches import ImageTensors
from residuum.study.digits.data.images import load_images
from residuum.study.digits.data.sets import make_sets
from residuum.study.digits.settings import preset as digits_preset
from residuum.study.digits.task import JointTask
from residuum.training.loop import Task, Training

SEEDS: Final = (801, 802, 803, 804, 805)
FIXED: Final = (0.001, 0.01, 0.1, 1.0)
SHARES: Final = (0.1, 1.0)
RELAXATIONS: Final = ("r-product", "s-product", "lukasiewicz-maxsat")
KEPT: Final = 0.9
"""The share of a moving average of norms that is kept in a step."""
LEAST, MOST = 0.001, 10.0


class Balanced:
    """A task whose rules, of weight 1, get weights from the norms of their gradients."""

    def __init__(self, task: Any, network: str, shares: Sequence[float]) -> None:
        self._task = task
        self._parameters = list(task.networks[network].parameters())
        self._shares = torch.tensor(shares)
        self._norms: Tensor | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    def losses(self, step: Tensor) -> Mapping[str, Tensor]:
        """Return the parts of the loss, with another total."""
        found = self._task.losses(step)
        labels = found["labels"]
        rules = found["total"] - labels
        norms = torch.stack([self._norm(labels), self._norm(rules)])
        if self._norms is None:
            self._norms = norms
        self._norms = KEPT * self._norms + (1 - KEPT) * norms
        of_labels, of_rules = self._norms
        smallest = torch.finfo(of_rules.dtype).tiny
        weight = (self._shares * of_labels / of_rules.clamp(min=smallest)).clamp(LEAST, MOST)
        return {**found, "total": labels + weight * rules}

    def _norm(self, losses: Tensor) -> Tensor:
        gradients = torch.autograd.grad(
            losses.sum(), self._parameters, retain_graph=True, allow_unused=True
        )
        squares = [one.flatten(1).square().sum(1) for one in gradients if one is not None]
        return torch.stack(squares).sum(0).sqrt()


def digits(relaxation: str, weights: Sequence[float], seeds: Sequence[int]) -> tuple[Any, Task]:
    """Return the settings and the task of the quick digits study."""
    chosen = digits_preset("embedded", "joint", relaxation, digit_size=200, pair_size=4_000, seed=0)
    runs = [replace(chosen, seed=seed, weight=weight) for weight in weights for seed in seeds]
    images = load_images("embedded")
    sets = [make_sets(images, 200, 4_000, "paper")] * len(runs)
    tensors = ImageTensors(images, torch.float32, torch.device("cpu"))
    return runs, JointTask(runs, sets, tensors)


def chunking(relaxation: str, weights: Sequence[float], seeds: Sequence[int]) -> tuple[Any, Task]:
    """Return the settings and the task of the quick chunking study."""
    corpus = load_corpus("sample")
    chosen = chunking_preset("sample", relaxation, fraction=1.0, constraints=True, seed=0)
    runs = [replace(chosen, seed=seed, weight=weight) for weight in weights for seed in seeds]
    return runs, ChunkingTask(runs, corpus, None, torch.device("cpu"))


STUDIES: Final = {"digits": (digits, "Digit"), "chunking": (chunking, "Tag")}


def measure(study: str, relaxation: str, seeds: Sequence[int], epochs: int | None) -> list[Any]:
    """Return the best DEV score of each run, by how its rules are weighted."""
    prepare, network = STUDIES[study]
    found = []
    for kind, values in (("fixed", FIXED), ("balanced", SHARES)):
        weights = values if kind == "fixed" else [1.0] * len(values)
        runs, task = prepare(relaxation, weights, seeds)
        if kind == "balanced":
            shares = [share for share in values for _ in seeds]
            task = Balanced(task, network, shares)
        first = runs[0]
        training = Training(
            task,
            first.optimiser,
            epochs=epochs or first.epochs,
            judge_every=first.judge_every,
        )
        training.run()
        scores = iter(training.best.scores.tolist())
        for value in values:
            row = [
                round(score, 3) if score > 0 else None for score in (next(scores) for _ in seeds)
            ]
            found.append({"study": study, "relaxation": relaxation, "kind": kind, "value": value,
                          "scores": row})  # fmt: skip
            print(study, relaxation, kind, value, row, file=sys.stderr)
    return found


def table(record: Mapping[str, Any]) -> str:
    """Return a record as Markdown: mean scores, and 0 for runs without a usable state."""
    headings = [
        *(f"weight {value:g}" for value in FIXED),
        *(f"share {value:g}" for value in SHARES),
    ]
    lines = [f"| study | relaxation | {' | '.join(headings)} |", "| --- | --- |" + " --: |" * 6]
    rows: dict[tuple[str, str], list[str]] = {}
    for one in record["results"]:
        mean = fmean(score or 0.0 for score in one["scores"])
        lost = sum(score is None for score in one["scores"])
        said = f"{mean:.1f}" + (f" ({lost} of {len(one['scores'])} lost)" if lost else "")
        rows.setdefault((one["study"], one["relaxation"]), []).append(said)
    lines += [f"| {study} | `{name}` | {' | '.join(row)} |" for (study, name), row in rows.items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, help="print this record as a table")
    parser.add_argument("--epochs", type=int, help="fewer epochs than the studies have")
    parser.add_argument("--studies", nargs="+", choices=list(STUDIES), default=list(STUDIES))
    asked = parser.parse_args()
    if asked.table is not None:
        print(table(json.loads(asked.table.read_text())))
        return
    torch.set_num_threads(1)
    results = [
        one
        for study in asked.studies
        for relaxation in RELAXATIONS
        for one in measure(study, relaxation, SEEDS, asked.epochs)
    ]
    print(json.dumps({"seeds": SEEDS, "results": results}, indent=1))


if __name__ == "__main__":
    main()
