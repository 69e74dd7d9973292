"""Training on a Ray cluster: workers train stacks of runs, and records come back to one store.

The data are put into the cluster once. Each node has one copy, which its workers share. A stack
whose worker or node dies is trained again elsewhere. The store keeps one record per run.

Ray ends the process that uses it, without a message, some time after the head of the cluster or
the raylet of this machine is gone. So this module checks both itself, and raises an error in time.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

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
"""The number of workers that a stack may lose before its training fails."""

HEAD_PATIENCE: Final = 45.0
"""Seconds to wait for a silent head, which may be restarting. Ray ends the process after 60."""

RAYLET_PATIENCE: Final = 5.0
"""Seconds to wait for a silent raylet of this machine. Ray ends the process after about 15."""

BETWEEN_CHECKS: Final = 1.0
"""Seconds between two checks of the head and the raylet."""

_MORE_MEMORY: Final = "Use nodes with more memory, or start Ray with fewer CPUs on each"
_ADVICE: Final = {
    "OutOfMemoryError": _MORE_MEMORY,
    "WorkerCrashedError": _MORE_MEMORY,
    "ObjectStoreFullError": "Start Ray with a larger --object-store-memory",
    "OutOfDiskError": "Make room on the disk of the nodes",
}
"""What to do, by exception of Ray. All other exceptions mean that the cluster is gone."""


@contextmanager
def connected(address: str | None, device: DeviceName = "auto") -> Iterator[torch.device]:
    """Connect to the cluster at an address, or start one here; yield the device of its workers.

    The device `auto` is CUDA if the cluster has a GPU. This machine need not have one.
    """
    try:
        import ray
    except ImportError:
        raise ResiduumError(
            "--engine ray: expected Ray, and it is not installed; run: pip install "
            "'residuum[cluster]'"
        ) from None
    options: dict[str, Any] = {} if address else {"include_dashboard": False}
    try:
        ray.init(address or "local", logging_level=logging.ERROR, log_to_driver=False, **options)
    except Exception as error:  # these exceptions of Ray have no common class
        reason = _first_line(error)
        if address is None:
            raise ResiduumError(
                f"--engine ray: Ray cannot start on this machine: {reason}; free memory and disk "
                "space, or choose --engine local"
            ) from None
        raise ResiduumError(
            f"--address: no Ray cluster answers at {address}: {reason}; start one with "
            "`ray start --head`"
        ) from None
    try:
        has_gpus = bool(ray.cluster_resources().get("GPU"))  # type: ignore[no-untyped-call]
        if device == "cuda" and not has_gpus:
            raise ResiduumError(
                "--device cuda: expected a GPU, and this cluster has none; choose cpu"
            )
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
    """Train the runs that the store does not have. Each stack gets `gpus` GPUs, also a fraction."""
    import ray

    missing = [run for run in dict.fromkeys(runs) if id_of(experiment, run) not in store]
    waiting: list[Any] = []
    try:
        lifelines = _lifelines()
        _wait_for(lifelines)
        placed = ray.put(experiment)
        train = ray.remote(
            num_cpus=1, num_gpus=gpus, max_retries=MOST_DEATHS, scheduling_strategy="SPREAD"
        )(_train)
        # Ray passes a reference in a list as it is. A bare one it would resolve for every stack.
        waiting = [
            train.remote([placed], stack)
            for stack in stacks(missing, most_together, lambda _run: None)
        ]
        while waiting:
            ready, waiting = ray.wait(waiting, timeout=BETWEEN_CHECKS)
            _wait_for(lifelines)
            for task in ready:
                for record in ray.get(task):
                    store.add(record)
                    done(record)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, ResiduumError):  # Ray puts a traceback into its message
            raise ResiduumError(str(error.cause)) from None
        raise
    except (ray.exceptions.RayError, ConnectionError) as error:
        raise _in_words(error, store.path) from None
    finally:
        with suppress(Exception):  # a cluster that is gone cancels nothing
            for task in waiting:
                ray.cancel(task, force=True)


class _Lifeline(NamedTuple):
    """A process of Ray that this one depends on, and the seconds that it may be silent."""

    name: str
    host: str
    port: int
    patience: float


def _lifelines() -> list[_Lifeline]:
    import ray

    if ray.util.client.ray.is_connected():  # type: ignore[no-untyped-call]
        return []  # with ray:// Ray raises a ConnectionError and does not end the process
    context = ray.get_runtime_context()
    host, _, port = context.gcs_address.rpartition(":")
    nodes = {node["NodeID"]: node for node in ray.nodes()}  # type: ignore[no-untyped-call]
    mine = nodes[context.get_node_id()]
    address = mine["NodeManagerAddress"], mine["NodeManagerPort"]
    return [
        _Lifeline("the head of the cluster", host.strip("[]"), int(port), HEAD_PATIENCE),
        _Lifeline("the raylet of this machine", *address, RAYLET_PATIENCE),
    ]


def _wait_for(lifelines: Sequence[_Lifeline]) -> None:
    """Wait until all processes answer; raise ConnectionError if one is silent for too long."""
    start = time.monotonic()
    while silent := [one for one in lifelines if not _answers(one)]:
        for one in silent:
            if time.monotonic() - start > one.patience:
                raise ConnectionError(f"{one.name} does not answer at {one.host}:{one.port}")
        time.sleep(BETWEEN_CHECKS / 2)


def _answers(one: _Lifeline) -> bool:
    try:
        socket.create_connection((one.host, one.port), timeout=2).close()
    except OSError:
        return False
    return True


def _in_words(error: Exception, store: Path) -> ResiduumError:
    kind = type(error).__name__
    advice = _ADVICE.get(kind, "Restart the cluster, or choose --engine local")
    return ResiduumError(
        f"the Ray cluster has failed ({kind}: {_first_line(error)}). {advice}; then run the same "
        f"command again. It continues after the finished runs, which are all kept in {store}"
    )


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _train(placed: list[Any], stack: Sequence[Any]) -> list[Record]:
    return make_records(_fetched(placed[0]), stack, finish_at_once)


@lru_cache(maxsize=1)
def _fetched(placed: Any) -> Any:
    """Return an object of the cluster; a worker fetches it once."""
    import ray

    return ray.get(placed)
