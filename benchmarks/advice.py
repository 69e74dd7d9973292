"""Judges `residuum advise` by training: `make bench-advice`.

Small tasks are learnt under every relaxation, and the advice is asked about each of them.
`--json FILE` writes a record, `--advice FILE` asks the advice anew for a record and trains nothing,
and `--table FILE` prints a record as Markdown.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rich.progress import track

from advice_contest.advising import advised
from advice_contest.contest import TASKS, results
from advice_contest.tables import markdown
from advice_contest.task import Task


def main() -> None:
    """Parse the command line, and train, ask or print."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--only", default="", help="only tasks whose name contains this")
    asked.add_argument("--json", type=Path, help="also write the record")
    asked.add_argument("--advice", type=Path, help="ask the advice anew for this record")
    asked.add_argument("--table", type=Path, help="only print this record as Markdown")
    given = asked.parse_args()
    if given.table:
        print(markdown(_read(given.table)))
        return
    torch.set_num_threads(1)
    chosen = [task for task in TASKS if given.only in task.name]
    record = _read(given.advice) if given.advice else {"results": _trained(chosen)}
    record["advice"] = [_asked(task) for task in track(chosen, "asking")]
    for path in (given.json, given.advice):
        if path:
            _write(path, record)
    print(markdown(record))


def _trained(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    return [one for task in track(tasks, "training") for one in results(task)]


def _asked(task: Task) -> dict[str, Any]:
    started = time.process_time()
    found = advised(task)
    return {"task": task.name, **found, "seconds": round(time.process_time() - started, 1)}


def _read(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


def _write(path: Path, record: dict[str, Any]) -> None:
    """Write a record with one line for each result."""
    parts = [
        f' "{name}": [\n  ' + ",\n  ".join(json.dumps(one) for one in rows) + "\n ]"
        for name, rows in record.items()
    ]
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
