"""Solves LTN's tutorial problems with residuum and with LTN: `make bench-ltn`.

Both libraries get the same data, networks, optimisers, epochs and seeds; what a user writes with
each stands in `ltn_contest/with_residuum` and `ltn_contest/with_ltn`. LTNtorch has an environment
of its own, whose Python is named by `--ltn`; each library has one process, and they take turns.
`--json FILE` writes a record; `--table FILE` prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.progress import track

from losses import machine
from ltn_contest.data import DRAWN, has_mnist
from ltn_contest.problems import PROBLEMS
from ltn_contest.tables import LTN, RESIDUUM, lines_of, markdown

ROOT = Path(__file__).parents[1]
CONTEST = Path(__file__).parent / "ltn_contest"
SEEDS = range(5)


class Child:
    """A process that trains with one library."""

    def __init__(self, python: str, pages: str) -> None:
        self._process = subprocess.Popen(
            [python, str(CONTEST / "child.py"), pages],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        self.versions: dict[str, str] = self._answer()

    def ask(self, *request: object) -> dict[str, Any]:
        """Return what the process says to a request."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a process of the benchmark ended; what it said stands above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """Let the process end."""
        self._process.communicate()


def run(
    children: dict[str, Child], names: Sequence[str], seeds: Sequence[int], epochs: int | None
) -> Iterator[dict[str, Any]]:
    """Yield the record so far after each problem."""
    about = machine("cpu")
    del about["torch"]  # each library says which one it has
    for child in children.values():
        about |= child.versions
    record: dict[str, Any] = {"machine": about, "seeds": list(seeds), "problems": []}
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "data.pt")
        for name in track(names, "measuring"):
            runs = []
            for seed in seeds:
                torch.save(DRAWN[name](seed), data)
                if seed == seeds[0]:
                    for child in children.values():  # what is done once in a process is not timed
                        child.ask(name, 2, seed, data)
                for library, child in children.items():
                    answer = child.ask(name, epochs, seed, data)
                    runs.append({"library": library, "seed": seed, **answer})
            record["problems"].append(_summary(name, runs))
            yield record


def _summary(name: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the runs of a problem, how many failed, and how many lines the pages have."""
    problem = PROBLEMS[name]
    return {
        "name": name,
        "title": problem.title,
        "fails": problem.fails,
        "lines": {pages: lines_of(CONTEST / pages / f"{name}.py") for pages in (RESIDUUM, LTN)},
        "failed": {
            pages: sum(problem.has_failed(run) for run in runs if run["library"] == pages)
            for pages in (RESIDUUM, LTN)
        },
        "runs": runs,
    }


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--ltn", default=str(ROOT / "build/ltn/bin/python"),
                       help="the Python of the environment that has LTNtorch")  # fmt: skip
    asked.add_argument("--quick", action="store_true", help="one seed and few epochs")
    asked.add_argument("--only", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    asked.add_argument("--json", type=Path, help="where to write the record")
    asked.add_argument("--table", type=Path, help="only print this record as Markdown")
    given = asked.parse_args()
    if given.table:
        print(markdown(json.loads(given.table.read_text(encoding="utf-8"))))
        return
    if not Path(given.ltn).exists():
        raise SystemExit(f"no Python with LTNtorch at {given.ltn}; `make bench-ltn` makes one")
    names = [name for name in given.only if name != "addition" or has_mnist()]
    if names != given.only:
        print("RESIDUUM_DATA names no folder with mnist: the addition is left out", file=sys.stderr)
    children = {RESIDUUM: Child(sys.executable, RESIDUUM), LTN: Child(given.ltn, LTN)}
    seeds, epochs = (SEEDS[:1], 3) if given.quick else (SEEDS, None)
    record: dict[str, Any] = {}
    for record in run(children, names, seeds, epochs):
        if given.json:  # so that an interrupted run keeps its results
            given.json.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for child in children.values():
        child.end()
    print(markdown(record))


if __name__ == "__main__":
    main()
