"""The advice about a task, asked as a user asks it: from predictions of a network without rules."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import residuum as rs
from advice_contest.contest import RELAXATIONS, TUNING
from advice_contest.task import Task
from advice_contest.training import splits, train
from residuum.advice import Consultation, Sample, read_sample
from residuum.relaxations import relaxation


def advised(task: Task) -> dict[str, Any]:
    """Return what the advice says about a task, and the points of its rehearsal."""
    chosen = [relaxation(name) for name in RELAXATIONS if name != "exact"]
    asked = Consultation(rs.loads(task.rules), [sample_of(task)], chosen, seconds=math.inf)
    for _ in asked.steps():
        pass
    advice = asked.advice()
    return {
        "relaxation": advice.relaxation,
        "forms": sorted(advice.forms),
        "traps": sorted({one.kind for one in advice.traps}),
        "rehearsed": {str(one.relaxation): round(one.points, 1) for one in asked.rehearsed},
        "rewritten": {str(one.relaxation): round(one.points, 1) for one in asked.rewritten},
    }


def sample_of(task: Task) -> Sample:
    """Return predictions on the training examples of one seed, by networks without rules.

    They go through a file, as those of a user do.
    """
    seeds = TUNING[:1]
    data = splits(task, seeds)
    with torch.no_grad():
        outputs = train(task, data, seeds, None, torch.zeros(1))(data.train)
    arrays = {name: one[0] for name, one in outputs.items()}
    arrays |= {f"observed:{name}": data.train.truth[name][0] for name in task.observed}
    for name, known in data.train.known.items():
        if name in task.outputs and bool(known.any()):
            arrays[f"label:{name}"] = _labels(data.train.truth[name][0], known[0])
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "predictions.npz"
        np.savez(path, **{name: one.numpy() for name, one in arrays.items()})
        return read_sample(path, rs.loads(task.rules), "logits")


def _labels(truth: Tensor, known: Tensor) -> Tensor:
    return torch.where(known, truth, math.nan if truth.is_floating_point() else -100)
