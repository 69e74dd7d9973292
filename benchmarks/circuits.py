"""Times circuits on tensors, beside PySDD and KLay if they are installed: `make bench-circuits`.

Forward and backward passes start from logits. Values and gradients are compared before they are
timed. The contenders of a case take turns in one process, so that other load of the machine affects
them alike; every case has a time limit. `--json FILE` writes a record; `--table FILE` prints
Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.progress import track

from circuit_contest.contenders import (
    KLAY,
    KLAY_COMPILED,
    KLAY_GRAPH,
    KLAY_REAL,
    KLAY_REAL_GRAPH,
    RESIDUUM,
    is_there,
)
from circuit_contest.measuring import (
    CLOCK,
    bandwidth,
    check_count,
    compiled,
    compiled_by_pysdd,
    measure,
    sizes_of,
    within,
)
from circuit_contest.tables import markdown
from circuit_contest.workloads import FILES, Rule, folder, rules
from losses import machine
from residuum.circuits import load_circuit
from residuum.circuits.circuit import Circuit

BATCHES = (64, 4_096)
WAYS = {"cpu": (KLAY, KLAY_REAL), "cuda": (KLAY, KLAY_REAL, KLAY_GRAPH, KLAY_REAL_GRAPH)}
"""The ways of KLay that are timed beside residuum in one process."""


def run(
    only: str, batches: Sequence[int], seconds: float, limit: float, device: str
) -> Iterator[Any]:
    """Yield the record so far after each circuit."""
    per_ms = bandwidth(device)
    record: dict[str, Any] = {
        "machine": machine(device), "clock": CLOCK[device], "gb_per_s": per_ms / 1e6, "results": [],
    }  # fmt: skip
    where = folder()
    files = [where / f"{name}.sdd" for name in FILES if only in name] if where else []
    chosen = [rule for rule in rules().values() if only in rule.name]
    with tempfile.TemporaryDirectory() as made:
        for one in track([*files, *chosen], "measuring"):
            if isinstance(one, Rule):
                circuit, sdd, about = _of_rule(one, Path(made) / "rule.sdd", limit)
            else:
                circuit, sdd, about = load_circuit(one), one, {"kind": "file", "name": one.stem}
                check_count(circuit, FILES[one.stem])
            for batch in batches:
                sizes = sizes_of(circuit, batch, per_ms)
                sdd = sdd if is_there("klay") else None
                timed = _timed(circuit, sdd, batch, seconds, limit, device)
                record["results"].append(about | {"batch": batch} | sizes | timed)
                yield record
    if is_there("klay"):
        for one in track(files, "measuring compiled modules"):
            _add_compiled(record["results"], one, seconds, limit, device)
            yield record


def _of_rule(rule: Rule, file: Path, limit: float) -> tuple[Circuit, Path | None, dict[str, Any]]:
    """Return the circuit of a rule, the file of its SDD if PySDD made one, and how long both took.

    The circuit must be there and right; all else ends the benchmark.
    """
    answer = within(limit, compiled, rule.name)
    if isinstance(answer, str):
        raise SystemExit(f"{rule.name}: {answer}")
    circuit, took = answer
    about: dict[str, Any] = {"kind": "rule", "name": rule.name, "compile_s": took}
    if not (is_there("pysdd") and (rule.count or rule.clauses)):
        return circuit, None, about
    answer = within(limit, compiled_by_pysdd, rule.name, file)
    if isinstance(answer, str):
        return circuit, None, about | {"pysdd_said": answer}
    return circuit, file, about | {"pysdd_s": answer}


def _timed(circuit: Circuit, sdd: Path | None, batch: int, seconds: float, limit: float, device: str
           ) -> dict[str, Any]:  # fmt: skip
    """Return the times of residuum and, if there is an SDD, of KLay."""
    found = within(limit, measure, circuit, sdd, WAYS[device], batch, seconds, device)
    return {"ms": {}, "notes": {RESIDUUM: found}} if isinstance(found, str) else found


def _add_compiled(
    results: list[Any], file: Path, seconds: float, limit: float, device: str
) -> None:
    """Add the times of KLay under `torch.compile`, which may take minutes to compile.

    If a small batch takes too long to compile, a larger one is not tried.
    """
    circuit = load_circuit(file)
    for one in (one for one in results if one["name"] == file.stem):
        given = circuit, file, (KLAY_COMPILED,), one["batch"], seconds, device
        found = within(limit, measure, *given)
        if isinstance(found, str):
            one["notes"][KLAY_COMPILED] = found
            return
        one["notes"] |= found["notes"]
        times = found["ms"]
        if KLAY_COMPILED in times:  # timed beside residuum again, since the load has changed
            one["ms"][KLAY_COMPILED] = times[KLAY_COMPILED] / times[RESIDUUM] * one["ms"][RESIDUUM]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--quick", action="store_true", help="tiny batches, to check that it works")
    asked.add_argument("--seconds", type=float, default=2.0, help="seconds of timing for each way")
    asked.add_argument("--limit", type=float, default=120.0, help="most seconds for each case")
    asked.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    asked.add_argument("--only", default="", help="circuits and rules whose name contains this")
    asked.add_argument("--json", type=Path, help="where to write the record")
    asked.add_argument("--table", type=Path, help="only print this record as Markdown")
    given = asked.parse_args()
    if given.table:
        print(markdown(json.loads(given.table.read_text(encoding="utf-8"))))
        return
    for package in ("pysdd", "klay"):
        if not is_there(package):
            print(f"{package} is not installed: its columns are left out", file=sys.stderr)
    if not folder():
        print("RESIDUUM_DATA names no folder with benchmarks/requirements: circuits in files and "
              "the clauses of ROAD-R are left out", file=sys.stderr)  # fmt: skip
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no processes that outlive theirs
    batches, seconds = ((2, 3), 0.01) if given.quick else (BATCHES, given.seconds)
    record: dict[str, Any] = {}
    for record in run(given.only, batches, seconds, given.limit, given.device):
        if given.json:  # so that an interrupted run keeps its results
            given.json.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(markdown(record) if record else "nothing has that name")


if __name__ == "__main__":
    main()
