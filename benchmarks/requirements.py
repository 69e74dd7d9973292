"""Times a real set of requirements beside other packages: `make bench-requirements`.

The 243 clauses of ROAD-R over 41 labels are a loss: forward and backward passes from logits, under
three relaxations and exactly. Each contender has a process of its own, those of other packages in
an environment of their own (`benchmarks/peers/make_environment.sh`). Losses are compared with their
definition, or with each other, before they are timed. Rounds go from contender to contender, so
that other load of the machine affects them alike. `--json FILE` writes a record; `--table FILE`
prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.progress import track

from losses import machine
from requirement_contest.clauses import find_clauses, write_small
from requirement_contest.measuring import measure, pythons
from requirement_contest.tables import markdown

LOGICS = ("product", "lukasiewicz", "godel", "exact")
BATCHES = (64, 1_024, 16_384)
CLOCK = "CPU time of the process (time.process_time), one thread, the fastest of interleaved rounds"


def run(
    file: Path, batches: Sequence[int], logics: Sequence[str], peers: Path | None, rounds: int,
    limit: float,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the record so far after each case."""
    record: dict[str, Any] = {
        "machine": machine("cpu"), "clock": CLOCK, "versions": {}, "results": [],
    }  # fmt: skip
    for logic, batch in track([(a, b) for a in logics for b in batches], "measuring"):
        for result in measure(file, logic, batch, pythons(peers), rounds, limit):
            versions = result.pop("versions", {})
            record["versions"] |= {
                name: one for name, one in versions.items() if name not in ("torch", "residuum")
            }
            record["results"].append(result)
        yield record


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--quick", action="store_true", help="a few clauses, to check that it works")
    asked.add_argument("--rounds", type=int, default=30, help="rounds of timing for each case")
    asked.add_argument("--limit", type=float, default=120.0, help="most seconds for an answer")
    asked.add_argument("--logics", nargs="+", choices=LOGICS, default=LOGICS)
    asked.add_argument("--batches", nargs="+", type=int, default=BATCHES)
    asked.add_argument("--peers", type=Path, help="Python of the environment of other packages")
    asked.add_argument("--json", type=Path, help="where to write the record")
    asked.add_argument("--table", type=Path, help="only print this record as Markdown")
    given = asked.parse_args()
    if given.table:
        print(markdown(json.loads(given.table.read_text(encoding="utf-8"))))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = find_clauses()
        if given.quick:
            file = Path(folder) / "clauses.txt"
            write_small(file)
        if file is None:
            raise SystemExit(
                "expected benchmarks/requirements/road_r_clauses.txt in the folder that "
                "RESIDUUM_DATA names, found none; put it there, or try --quick"
            )
        batches, rounds = ((2,), 2) if given.quick else (given.batches, given.rounds)
        for record in run(file, batches, given.logics, given.peers, rounds, given.limit):
            if given.json:  # so that an interrupted run keeps its results
                text = json.dumps(record, indent=1, ensure_ascii=False)
                given.json.write_text(text + "\n", encoding="utf-8")
        print(markdown(record))


if __name__ == "__main__":
    main()
