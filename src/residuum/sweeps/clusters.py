"""Runs on a Ray cluster: stacks go to workers, records come back to the one store.

What the runs are trained on is put into the cluster once: each node has one copy, which its
workers share. A stack whose worker or node dies is trained again elsewhere; its records are kept
by their ids, so that none is there twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

import torch

from residuum.errors import ResiduumError
from residuum.results import Record, Store
from residuum.study.running import (
    MOST_TOGETHER,
    Experiment,
    finish_at_once,
    id_of,
    make_records,
    stacks,
)
from residuum.training.devices import DeviceName

MOST_DEATHS: Final = 10
"""How many workers a stack may lose; one that kills whoever trains it comes to an end."""


@contextmanager
def connected(address: str | None, device: DeviceName = "auto") -> Iterator[torch.device]:
    """Join the cluster at an address, or start one here; yield what its workers train on.

    `auto` is CUDA where the cluster has any GPU; this machine need have none.
    """
    try:
        import ray
    except ImportError:
        raise ResiduumError(
            "the engine ray is not installed; run: pip install 'residuum[cluster]'"
        ) from None
    options: dict[str, Any] = {} if address else {"include_dashboard": False}
    try:
        ray.init(address or "local", logging_level=logging.ERROR, log_to_driver=False, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ResiduumError(
            f"--address: no Ray cluster answers at {address}: {error}; start one with "
            "`ray start --head`"
        ) from None
    try:
        has_gpus = bool(ray.cluster_resources().get("GPU"))  # type: ignore[no-untyped-call]
        if device == "cuda" and not has_gpus:
            raise ResiduumError("--device cuda: this cluster has no GPU; choose cpu")
        yield torch.device("cuda" if has_gpus and device != "cpu" else "cpu")
    finally:
        ray.shutdown()


def run_all_on_cluster(
    experiment: Experiment[Any],
    runs: Sequence[Any],
    store: Store,
    *,
    gpus: float,
    done: Callable[[Record], None],
    most_together: int = MOST_TOGETHER,
) -> None:
    """Train the runs that the store does not have, each stack with so many GPUs or part of one."""
    import ray

    missing = [run for run in dict.fromkeys(runs) if id_of(experiment, run) not in store]
    placed = ray.put(experiment)
    train = ray.remote(
        num_cpus=1, num_gpus=gpus, max_retries=MOST_DEATHS, scheduling_strategy="SPREAD"
    )(_train)
    # In a list a reference is handed on as it is; by itself it would be read for every stack.
    waiting = [
        train.remote([placed], stack) for stack in stacks(missing, most_together, lambda _run: None)
    ]
    try:
        while waiting:
            ready, waiting = ray.wait(waiting)
            for record in ray.get(ready[0]):
                store.add(record)
                done(record)
    except ray.exceptions.RaySystemError as error:
        raise ResiduumError(f"the cluster is gone: {error}; the same command goes on") from None
    finally:
        for task in waiting:
            ray.cancel(task, force=True)


def _train(placed: list[Any], stack: Sequence[Any]) -> list[Record]:
    return make_records(_fetched(placed[0]), stack, finish_at_once)


@lru_cache(maxsize=1)
def _fetched(placed: Any) -> Any:
    """Return what was put into the cluster; a worker reads it once."""
    import ray

    return ray.get(placed)
