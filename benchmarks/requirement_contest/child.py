"""Measures one contender on one case, step by step as the process that started it asks.

The arguments are the module of the contender, its name, the file of clauses, the logic and the
batch. The first line of the output has the loss and the versions; after that each line of the input
is `step` or `peak`, and each line of the output what was measured, all as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

sys.path.append(str(Path(__file__).parents[1]))

from requirement_contest.clauses import logits, read_clauses

PACKAGES = ("torch", "residuum", "LTNtorch", "pishield", "PySDD", "klaycircuits")


def step(loss: Callable[[Tensor], Tensor], given: Tensor) -> float:
    """Compute a loss and its gradients, as a training step does, and return the loss."""
    given.grad = None
    value = loss(given)
    value.backward()
    return float(value.detach())


def milliseconds(loss: Callable[[Tensor], Tensor], given: Tensor) -> float:
    """Return the CPU time of one step."""
    start = time.process_time()
    step(loss, given)
    return 1e3 * (time.process_time() - start)


def peak(loss: Callable[[Tensor], Tensor], given: Tensor) -> float:
    """Return the megabytes that a step holds at most, beyond those that are held before it."""
    given.grad = None
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
        step(loss, given)
    changes = sorted(
        (event.start_ns(), event.nbytes())
        for event in profile.profiler.kineto_results.events()
        if event.name() == "[memory]"
    )
    held = most = 0
    for _, change in changes:
        held += change
        most = max(most, held)
    return most / 1e6


def versions() -> dict[str, str]:
    """Return the versions of the packages that are installed here."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    module, contender, file, logic, batch = sys.argv[1:]
    try:
        make = importlib.import_module(f"requirement_contest.{module}").make
        loss = make(contender, Path(file), logic)
        given = logits(read_clauses(Path(file)), int(batch))
        said: dict[str, Any] = {"loss": step(loss, given), "versions": versions()}
    except Exception as error:  # the table shows the failure
        said = {"note": f"failed: {type(error).__name__}: {error}".splitlines()[0][:200]}
    print(json.dumps(said), flush=True)
    for line in sys.stdin:
        asked = {"step": milliseconds, "peak": peak}[line.strip()]
        print(json.dumps(asked(loss, given)), flush=True)


if __name__ == "__main__":
    main()
