"""Measures contenders in turns, each in a process of its own, and compares their losses first."""

from __future__ import annotations

import json
import math
import os
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from requirement_contest.clauses import defined, logits, read_clauses

CHILD = Path(__file__).with_name("child.py")
TOLERANCE = 2e-3
"""LTNtorch and KLay compute in single precision, and add up hundreds of terms."""


@dataclass(frozen=True)
class Contender:
    """A package, or a way of one: its name, its module, and what its loss is by definition.

    `meaning` is the mean degree of clauses ("degrees"), the sum of their penalties ("penalties"),
    or −log of the probability that all hold ("probability"); empty if it is no loss of clauses.
    """

    name: str
    module: str
    meaning: str
    logics: Sequence[str] = ("product", "lukasiewicz", "godel")


CONTENDERS = (
    Contender("residuum", "of_residuum", "penalties"),
    Contender("plain", "of_residuum", "degrees"),
    Contender("LTNtorch", "of_peers", "degrees"),
    Contender("PiShield's layer", "of_peers", "", ("exact",)),
    Contender("residuum", "of_residuum", "probability", ("exact",)),
    Contender("KLay", "of_peers", "probability", ("exact",)),
    Contender("KLay, real", "of_peers", "probability", ("exact",)),
)


@dataclass
class Worker:
    """The process of one contender on one case."""

    contender: Contender
    line: subprocess.Popen[str]
    limit: float
    said: dict[str, Any] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)

    def answer(self) -> Any:
        """Return the next line of the process, or say that it was too late or is dead."""
        assert self.line.stdout is not None
        while True:
            if not select.select([self.line.stdout], [], [], self.limit)[0]:
                raise TimeoutError(f"no answer within {self.limit:.0f} s")
            said = self.line.stdout.readline()
            if not said:
                raise TimeoutError("its process died")
            if said.startswith(("{", *"0123456789")):  # some packages print
                return json.loads(said)

    def ask(self, what: str) -> Any:
        """Return what the process measures."""
        assert self.line.stdin is not None
        self.line.stdin.write(what + "\n")
        self.line.stdin.flush()
        return self.answer()


def measure(
    file: Path, logic: str, batch: int, pythons: Mapping[str, str], rounds: int, limit: float
) -> list[dict[str, Any]]:
    """Return a result of each contender that has this logic; its `ms` are the fastest round.

    `pythons` are the interpreters of the modules; a module without one is left out.
    """
    with ExitStack() as open_ones:
        workers = [
            Worker(one, open_ones.enter_context(_start(one, file, logic, batch, pythons)), limit)
            for one in CONTENDERS
            if logic in one.logics and one.module in pythons
        ]
        for worker in workers:
            worker.said = _asked(worker, None)
            open_ones.callback(worker.line.kill)
        _compare(workers, file, logic, batch)
        for _ in range(rounds):
            for worker in workers:
                if "note" not in worker.said:
                    found = _asked(worker, "step")
                    if isinstance(found, dict):
                        worker.said = found
                    else:
                        worker.times.append(found)
        return [_result(worker, logic, batch) for worker in workers]


def _start(
    one: Contender, file: Path, logic: str, batch: int, pythons: Mapping[str, str]
) -> subprocess.Popen[str]:
    given = [one.module, one.name, str(file), logic, str(batch)]
    quiet = {"KINETO_LOG_LEVEL": "6", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [pythons[one.module], str(CHILD), *given],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, **quiet},
    )  # fmt: skip


def _asked(worker: Worker, what: str | None) -> Any:
    try:
        return worker.answer() if what is None else worker.ask(what)
    except (TimeoutError, BrokenPipeError) as error:
        return {"note": f"{error}" or "its process died"}


def _result(worker: Worker, logic: str, batch: int) -> dict[str, Any]:
    result = {"contender": worker.contender.name, "logic": logic, "batch": batch, **worker.said}
    if worker.times and "note" not in worker.said:
        peak = _asked(worker, "peak")
        result |= {"ms": min(worker.times), "rounds": len(worker.times)}
        result |= peak if isinstance(peak, dict) else {"peak_mb": peak}
    return result


def _compare(workers: Sequence[Worker], file: Path, logic: str, batch: int) -> None:
    """Mark contenders whose loss is not what it should be by definition."""
    clauses = read_clauses(file)
    exact = [one.said["loss"] for one in workers
             if one.contender.meaning == "probability" and "loss" in one.said]  # fmt: skip
    expected = {"probability": exact[0] if exact else math.nan}
    if logic != "exact":
        degrees = defined(clauses, logits(clauses, batch), logic)
        penalties = -degrees.log() if logic == "product" else 1 - degrees
        expected |= {
            "degrees": float(1 - degrees.mean()),
            "penalties": float(penalties.sum(1).mean()),
        }
    for worker in workers:
        said, meaning = worker.said, worker.contender.meaning
        if "loss" in said and meaning:
            right = expected[meaning]
            if not math.isclose(said["loss"], right, rel_tol=TOLERANCE):
                worker.said = {"note": f"wrong: {said['loss']:.6g}, not {right:.6g}"}


def pythons(peers: Path | None) -> dict[str, str]:
    """Return the interpreter of each module; without an environment of peers only our own."""
    found = {"of_residuum": sys.executable}
    return found | ({"of_peers": str(peers)} if peers else {})
