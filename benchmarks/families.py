"""Which t-norm of all learns best? `make bench-families` prints and draws the record.

`--train FILE --workers N` trains what FILE lacks, N jobs at once with one thread each, and appends
a line for each relaxation and size as soon as it is done. In the same way `--confirm FILE` measures
the leaders with fresh seeds, and `--epsilon FILE` tunes a few with another ε of Adam. `--results
FILE` puts the lines of such a file into the record, and `--predict` measures what can be known
beforehand. Otherwise the record is printed as Markdown, and with `--pictures FOLDER` drawn.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

import torch
from rich.progress import track

from family_contest.contest import (
    SCALED,
    SIZES,
    confirmation,
    confirmations,
    contenders,
    jobs,
    result,
    scaled,
)
from family_contest.pictures import draw
from family_contest.predictors import predictors
from family_contest.tables import markdown

RECORD: Final = Path(__file__).parent / "records" / "families.json"


def main() -> None:
    """Parse the command line, and train, measure, or print."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--train", type=Path, metavar="FILE", help="train, and append to this file")
    asked.add_argument("--confirm", type=Path, metavar="FILE", help="train with fresh seeds")
    asked.add_argument("--epsilon", type=Path, metavar="FILE", help="train with another ε of Adam")
    asked.add_argument("--workers", type=int, default=1, help="jobs at once")
    asked.add_argument("--only", default="", help="only relaxations whose name contains this")
    asked.add_argument("--results", type=Path, metavar="FILE", help="put this file into the record")
    asked.add_argument("--predict", action="store_true", help="measure the predictors anew")
    asked.add_argument("--pictures", type=Path, metavar="FOLDER", help="also draw the record")
    given = asked.parse_args()
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    for path, measure, cells in (
        (given.train, result, jobs),
        (given.confirm, confirmation, lambda: confirmations(record["results"])),
        (given.epsilon, scaled, lambda: list(product(SCALED, SIZES))),
    ):
        if path:
            _train(path, given.workers, measure, [job for job in cells() if given.only in job[0]])
            return
    if given.results:
        lines = sorted(_lines(given.results), key=lambda one: (one["relaxation"], one["size"]))
        for part in {_part_of(line) for line in lines}:
            record[part] = [line for line in lines if _part_of(line) == part]
    if given.predict:
        record["predictors"] = [
            {"relaxation": one.name, **predictors(one.name)}
            for one in track(contenders(), "measuring")
        ]
    if given.results or given.predict:
        _write(record)
    if not record["results"]:
        print("no results yet: train with --train FILE, then --results FILE")
        return
    print(markdown(record))
    if given.pictures:
        draw(record, given.pictures)


def _train(
    path: Path, workers: int, measure: Callable[[Any], dict[str, Any]], cells: Sequence[Any]
) -> None:
    done = {(one["relaxation"], one["size"]) for one in _lines(path)}
    wanted = [job for job in cells if (job[0], job[1].name) not in done]
    with (
        multiprocessing.get_context("spawn").Pool(workers, torch.set_num_threads, (1,)) as pool,
        path.open("a", encoding="utf-8") as file,
    ):
        for found in track(pool.imap_unordered(measure, wanted), "training", total=len(wanted)):
            print(json.dumps(found), file=file, flush=True)


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _part_of(line: dict[str, Any]) -> str:
    """Return the part of the record that a line belongs to."""
    return "epsilon" if "epsilon" in line else "confirmation" if "seeds" in line else "results"


def _write(record: dict[str, list[dict[str, Any]]]) -> None:
    """Write the record, with one line for each result and each relaxation."""
    parts = [
        f' "{part}": [\n  ' + ",\n  ".join(map(json.dumps, rows)) + "\n ]"
        for part, rows in record.items()
    ]
    RECORD.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
