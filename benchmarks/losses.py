"""Times rules as losses, against hand-written references and other packages: `make bench-losses`.

Every contender has its own process. All contenders are timed on a case one right after the other,
so that other load of the machine affects them alike. A contender whose value differs from that of
residuum is reported, not timed. `--ablation` times residuum without each device of its routes.
`--json FILE` writes a record; `--table FILE` prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.progress import track

from loss_contest import ablation
from loss_contest.contenders import CONTENDERS, RESIDUUM
from loss_contest.measuring import CLOCK, Case, serve
from loss_contest.tables import markdown, show
from loss_contest.workloads import FULL, QUICK, RELAXATIONS, Workload

LIMIT = 120.0
"""The most seconds that a contender may take for one case."""


class Worker:
    """The process of one contender. It is restarted if a case takes too long."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, other = context.Pipe()
        self._process = context.Process(target=serve, args=(other,))
        self._process.start()
        other.close()

    def ask(self, case: Case) -> dict[str, Any]:
        self._line.send(case)
        said = f"no answer within {LIMIT:.0f} s"
        try:
            if self._line.poll(LIMIT):
                answer: dict[str, Any] = self._line.recv()
                return answer
        except EOFError:
            said = "its process died"
        self.stop()
        self._start()
        return {
            "workload": case.workload.name,
            "relaxation": case.relaxation,
            "contender": case.contender,
            "note": said,
        }

    def stop(self) -> None:
        self._line.close()
        self._process.terminate()
        self._process.join()


def run(
    workloads: Iterable[Workload],
    relaxations: Sequence[str],
    contenders: Sequence[str],
    device: str,
    seconds: float,
) -> Iterator[dict[str, Any]]:
    """Yield the record so far after each case."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # keeps the memory profiler silent
    workers = {name: Worker() for name in contenders}
    cases = [
        Case(name, workload, relaxation, device, seconds)
        for workload in workloads
        for relaxation in relaxations
        for name in contenders
    ]
    record: dict[str, Any] = {"machine": machine(device), "clock": CLOCK[device], "results": []}
    try:
        for case in track(cases, "measuring"):
            record["results"].append(workers[case.contender].ask(case))
            yield record
    finally:
        for worker in workers.values():
            worker.stop()


def machine(device: str) -> dict[str, str]:
    """Return the hardware and the versions that the figures were measured on."""
    model = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        named = [line for line in cpus.read_text().splitlines() if line.startswith("model name")]
        model = named[0].partition(":")[2].strip() if named else model
    found = {"CPU": model, "threads": "1"}
    if device == "cuda":
        found["GPU"] = torch.cuda.get_device_name()
    return found | {"torch": torch.__version__, "Python": platform.python_version()}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--quick", action="store_true", help="tiny sizes, to check that it works")
    asked.add_argument("--seconds", type=float, default=2.0, help="seconds of timing for each case")
    asked.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    asked.add_argument("--only", default="", help="workloads whose name contains this")
    asked.add_argument("--relaxations", nargs="+", choices=RELAXATIONS, default=RELAXATIONS)
    asked.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=tuple(CONTENDERS))
    asked.add_argument("--ablation", action="store_true", help="what each device of a route gains")
    asked.add_argument("--json", type=Path, help="where to write the record")
    asked.add_argument("--table", type=Path, help="only print this record as Markdown")
    given = asked.parse_args()
    record: dict[str, Any] = {"results": []}
    if given.table:
        record = json.loads(given.table.read_text())
        print(ablation.markdown(record) if given.ablation else markdown(record))
        return
    chosen = [one for one in (QUICK if given.quick else FULL) if given.only in one.name]
    seconds = 0.01 if given.quick else given.seconds
    names = (RESIDUUM, *ablation.CONTENDERS) if given.ablation else given.contenders
    for record in run(chosen, given.relaxations, names, given.device, seconds):
        if given.json:  # so that an interrupted run keeps its results
            given.json.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    if given.ablation:
        print(ablation.markdown(record))
    else:
        show(record)


if __name__ == "__main__":
    main()
