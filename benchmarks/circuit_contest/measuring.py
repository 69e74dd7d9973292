"""Compiles, checks and times circuits, each case in a process of its own with a time limit."""

from __future__ import annotations

import multiprocessing
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from circuit_contest.contenders import RESIDUUM, Penalties, klay, logits, residuum, write_sdd
from circuit_contest.workloads import rules
from residuum.circuits.circuit import Circuit
from residuum.circuits.compiling import compile_circuit
from residuum.circuits.counting import count
from residuum.circuits.evaluation import Evaluator
from residuum.circuits.propositions import Propositions

CLOCK = {
    "cpu": "CPU time of the process (time.process_time), one thread, the fastest of interleaved "
    "rounds",
    "cuda": "CUDA events around forward and backward, the median of interleaved rounds",
}
TOLERANCE = {"rtol": 1e-3, "atol": 1e-4}
"""KLay computes in single precision, and sums of hundreds of logarithms lose some digits."""


def within(limit: float, function: Callable[..., Any], *given: Any) -> Any:
    """Return what a function returns in a process of its own, or a sentence that says why not."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_answer, args=(there, function, given))
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(limit) else f"no answer within {limit:.0f} s"
    except EOFError:
        return "its process died"
    finally:
        process.terminate()
        process.join()


def _answer(line: Connection, function: Callable[..., Any], given: tuple[Any, ...]) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    try:
        line.send(function(*given))
    except Exception as error:  # the run goes on; the table shows the failure
        line.send(said(error))


def said(error: Exception) -> str:
    """Return the first line of an error, as a note of the table."""
    return f"failed: {type(error).__name__}: {error}".splitlines()[0][:200]


def compiled(name: str) -> tuple[Circuit, float]:
    """Return the circuit of a rule, and the seconds that it took. Its models are counted."""
    rule = rules()[name]
    start = time.process_time()
    propositions = Propositions(rule.sizes)
    circuit = compile_circuit(propositions, rule.state(propositions))
    seconds = time.process_time() - start
    check_count(circuit, rule.models)
    return circuit, seconds


def check_count(circuit: Circuit, models: int | None) -> None:
    """Check how many models a circuit has."""
    if models is not None and (found := count(circuit)) != models:
        raise ValueError(f"expected a circuit with {models:,} models, found {found:,}")


def compiled_by_pysdd(name: str, file: Path) -> float:
    """Write the SDD of a rule, and return the seconds that PySDD took."""
    rule = rules()[name]
    start = time.process_time()
    write_sdd(rule, file)
    return time.process_time() - start


def step(penalties: Penalties, given: Tensor) -> Tensor:
    """Compute the mean penalty and its gradients, as a training step does."""
    given.grad = None
    loss = penalties(given).mean()
    loss.backward()
    return loss.detach()


def measure(
    circuit: Circuit,
    file: Path | None,
    contenders: Sequence[str],
    batch: int,
    seconds: float,
    device: str,
) -> dict[str, Any]:
    """Return the milliseconds of each contender, whose values and gradients are compared first."""
    given = logits(circuit.sizes, batch, device)
    made = {RESIDUUM: residuum(circuit, device)}
    expected = step(made[RESIDUUM], given), given.grad
    notes = {}
    for name in (RESIDUUM, *(contenders if file else ())):
        try:
            penalties = made[name] if name == RESIDUUM else klay(file, name, given)
            for _ in range(4):  # recordings and compilers come in between
                found = step(penalties, given), given.grad
            torch.testing.assert_close(found, expected, **TOLERANCE)
            made[name] = penalties
        except AssertionError:
            notes[name] = f"wrong: {float(found[0]):.6g}, not {float(expected[0]):.6g}"
            made.pop(name, None)
        except Exception as error:  # the others go on; the table shows the failure
            notes[name] = said(error)
    times: dict[str, list[float]] = {name: [] for name in made}
    timed, best = (_on_gpu, statistics.median) if device == "cuda" else (_on_cpu, min)
    end = time.perf_counter() + seconds * len(made)
    rounds = 0
    while rounds < 5 or (time.perf_counter() < end and rounds < 1_000):
        rounds += 1
        for name, penalties in made.items():
            times[name].append(timed(partial(step, penalties, given)))
    return {"ms": {name: best(each) for name, each in times.items()},
            "notes": notes, "rounds": rounds}  # fmt: skip


def _on_cpu(function: Callable[[], Any]) -> float:
    start = time.process_time()
    function()
    return 1e3 * (time.process_time() - start)


def _on_gpu(function: Callable[[], Any]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    function()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end))


def bandwidth(device: str) -> float:
    """Return how many bytes a millisecond can be read and written, of arrays beyond all caches."""
    source = torch.ones(1 << 26, device=device)
    target = torch.empty_like(source)
    timed = _on_gpu if device == "cuda" else _on_cpu
    return 2 * source.nbytes / min(timed(lambda: target.copy_(source)) for _ in range(8))


def sizes_of(circuit: Circuit, batch: int, per_ms: float) -> dict[str, Any]:
    """Return the sizes of a circuit, and the milliseconds that its memory traffic takes at least.

    Upward, each row is written and read once. Downward, it is read once more, and its derivative is
    written and read once: five times eight bytes. Logits and their gradients are not counted.
    """
    layers = Evaluator(circuit, torch.device("cpu")).layers
    return {
        "nodes": len(circuit),
        "rows": layers.rows,
        "layers": len(layers.layers),
        "floor_ms": 5 * 8 * layers.rows * batch / per_ms,
    }
