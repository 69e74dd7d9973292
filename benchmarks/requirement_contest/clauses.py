"""The clauses of the benchmark, the logits, and what the losses are by their definitions.

Nothing here uses the package, so that the peers' environment can import it.
"""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import torch
from torch import Tensor

Clause = tuple[tuple[int, bool], ...]
"""The labels of a clause, counted from 0, each with whether it stands there affirmed."""


def find_clauses() -> Path | None:
    """Return the file with ROAD-R's clauses in the folder that RESIDUUM_DATA names, or None."""
    named = os.environ.get("RESIDUUM_DATA")
    found = Path(named) / "benchmarks" / "requirements" / "road_r_clauses.txt" if named else None
    return found if found and found.is_file() else None


def write_small(file: Path) -> None:
    """Write a few random clauses, to try the benchmark without data."""
    draw = random.Random(0)
    lines = [
        " or ".join(f"{draw.choice(('', 'not '))}y_{label}" for label in draw.sample(range(8), 3))
        for _ in range(12)
    ]
    file.write_text("\n".join(lines), encoding="utf-8")


def read_clauses(file: Path) -> list[Clause]:
    """Return the clauses of a file with lines such as `y_0 or not y_28`."""
    found = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        literals = [re.fullmatch(r"(not )?y_(\d+)", part) for part in line.split(" or ")]
        if not all(literals):
            raise SystemExit(f"{file}, line {number}: expected `y_0 or not y_28`, found {line!r}")
        found.append(tuple((int(one[2]), one[1] is None) for one in literals if one))
    return found


def width(clauses: list[Clause]) -> int:
    """Return the number of labels."""
    return 1 + max(label for clause in clauses for label, _ in clause)


def logits(clauses: list[Clause], batch: int) -> Tensor:
    """Return random logits of a batch, the same in every process."""
    source = torch.Generator().manual_seed(0)
    drawn = torch.randn(batch, width(clauses), generator=source)
    return (2 * drawn).requires_grad_()


def defined(clauses: list[Clause], given: Tensor, logic: str) -> Tensor:
    """Return the degree of each clause in each example, clause by clause, in double precision."""
    true = given.detach().double().sigmoid()
    degrees = []
    for clause in clauses:
        literals = torch.stack(
            [true[:, label] if affirmed else 1 - true[:, label] for label, affirmed in clause]
        )
        if logic == "godel":
            degrees.append(literals.amax(0))
        elif logic == "lukasiewicz":
            degrees.append(literals.sum(0).clamp(max=1))
        else:
            degrees.append(1 - (1 - literals).prod(0))
    return torch.stack(degrees, 1)
