"""With what the figures were made, and how to make them again."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from residuum.reports.sections import Block, Commands, Entry, Section, Table, Text
from residuum.results import Record

LIBRARIES: Final = ("residuum", "numpy", "scipy", "python-flint", "matplotlib", "torch")
RECORDED: Final = ("study", "device", "torch", "python", "residuum")
COMMANDS: Final = (
    "residuum relaxations r-product",
    'residuum surface "P -> Q" -o surface.svg',
    "residuum tautologies",
    "residuum study digits --table",
    "residuum study chunking --table",
    "residuum report",
)


def environment_section(records: Sequence[Record]) -> Section:
    """Name the versions, of this page and of the runs, and the commands behind each figure."""
    here = {
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        **{name: _version(name) for name in LIBRARIES},
    }
    blocks: list[Block] = [
        Text(
            "Tables and pictures name the commands that make them again. The shortest way to all:"
        ),
        Commands(COMMANDS),
        Table(
            "libraries",
            "What this page was made with",
            ["library", "version"],
            [[Entry(name), Entry(value)] for name, value in here.items()],
            [{"library": name, "version": value} for name, value in here.items()],
        ),
    ]
    kinds = Counter(
        (one.study, *(str(one.environment.get(name, "–")) for name in RECORDED[1:]))
        for one in records
    )
    if kinds:
        blocks.append(
            Table(
                "libraries-of-runs",
                "What the runs were made with",
                [*RECORDED, "runs"],
                [[Entry(word) for word in (*kind, f"{kinds[kind]:,}")] for kind in sorted(kinds)],
                [
                    {**dict(zip(RECORDED, kind, strict=True)), "runs": kinds[kind]}
                    for kind in sorted(kinds)
                ],
            )
        )
    return Section("environment", "Environment and commands", blocks)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
