"""Checks and times one contender on one case, in the process of the contender."""

from __future__ import annotations

import statistics
import time
import warnings
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch import Tensor

import residuum as rs
from loss_contest import ablation
from loss_contest.contenders import COMPILED, CONTENDERS, RESIDUUM
from loss_contest.workloads import Inputs, Penalties, Workload

ALL = {**CONTENDERS, **ablation.CONTENDERS}
TOLERANCE = 1e-4
CLOCK = {
    "cpu": "CPU time of the process (time.process_time), one thread",
    "cuda": "CUDA events around forward and backward",
}


@dataclass(frozen=True)
class Case:
    """One measurement: a contender on a workload under a relaxation."""

    contender: str
    workload: Workload
    relaxation: str
    device: str
    seconds: float


def step(penalties: Penalties, inputs: Inputs) -> Tensor:
    """Compute the mean penalty and its gradients, as a training step does."""
    for given in inputs.values():
        given.grad = None
    loss = penalties(inputs).mean()
    loss.backward()
    return loss.detach()


def measure(case: Case) -> dict[str, Any]:
    """Return the record of a case. It has no `ms` if the contender failed or was skipped."""
    record: dict[str, Any] = {
        "workload": case.workload.name,
        "relaxation": case.relaxation,
        "contender": case.contender,
        "note": ALL[case.contender].note,
    }
    inputs = case.workload.inputs(case.device)
    step(CONTENDERS["plain"].make(case.workload, case.relaxation), inputs)  # warms up torch
    rs.compile("P -> Q")  # warms up the grammar and the imports
    start = time.perf_counter()
    try:
        penalties = ALL[case.contender].make(case.workload, case.relaxation)
        loss = step(penalties, inputs)
    except ImportError as missing:
        return record | {"note": f"skipped: {missing}"}
    _wait(case.device)
    first = time.perf_counter() - start
    if case.contender != RESIDUUM and not record["note"]:
        expected = step(CONTENDERS[RESIDUUM].make(case.workload, case.relaxation), inputs)
        if not torch.isclose(loss, expected, rtol=TOLERANCE, atol=0.0):
            return record | {"note": f"wrong: {float(loss):.6g}, not {float(expected):.6g}"}
    times = _times(penalties, inputs, case)
    quarters = statistics.quantiles(times, n=4)
    record |= {"ms": quarters[1], "quartiles_ms": [quarters[0], quarters[2]]}
    record |= {"repetitions": len(times), "peak_mb": _peak(penalties, inputs, case.device) / 1e6}
    if case.contender in (RESIDUUM, COMPILED):
        record["first_call_ms"] = 1e3 * first - quarters[1]
    return record


def _times(penalties: Penalties, inputs: Inputs, case: Case) -> list[float]:
    """Return the milliseconds of each step, for as many steps as time allows and at least 7."""
    for _ in range(3):
        step(penalties, inputs)
    once = _on_gpu if case.device == "cuda" else _on_cpu
    times: list[float] = []
    end = time.perf_counter() + case.seconds
    while len(times) < 7 or (time.perf_counter() < end and len(times) < 2_000):
        times.append(once(penalties, inputs))
    return times


def _on_cpu(penalties: Penalties, inputs: Inputs) -> float:
    start = time.process_time()
    step(penalties, inputs)
    return 1e3 * (time.process_time() - start)


def _on_gpu(penalties: Penalties, inputs: Inputs) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    step(penalties, inputs)
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end))


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _peak(penalties: Penalties, inputs: Inputs, device: str) -> float:
    """Return the peak number of bytes that a step allocates in addition to those before it."""
    for given in inputs.values():
        given.grad = None
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step(penalties, inputs)
        return torch.cuda.max_memory_allocated() - before
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
        step(penalties, inputs)
    changes = sorted(
        (event.start_ns(), event.nbytes())
        for event in profile.profiler.kineto_results.events()
        if event.name() == "[memory]"
    )
    held = peak = 0
    for _, change in changes:
        held += change
        peak = max(peak, held)
    return peak


def serve(requests: Connection) -> None:
    """Measure cases until the other side closes the connection."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    while True:
        try:
            case = requests.recv()
        except EOFError:
            return
        try:
            requests.send(measure(case))
        except Exception as error:  # the run goes on; the table shows the failure
            said = f"failed: {type(error).__name__}: {error}".splitlines()[0][:200]
            requests.send(
                {
                    "workload": case.workload.name,
                    "relaxation": case.relaxation,
                    "contender": case.contender,
                    "note": said,
                }
            )
