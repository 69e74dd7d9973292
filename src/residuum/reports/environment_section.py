"""The section of versions and commands: how the report and its runs were made."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from residuum.errors import RecordError
from residuum.reports.blocks import Block, Commands, Entry, Section, Table, Text, count_of
from residuum.results import Record

LIBRARIES: Final = ("residuum", "numpy", "scipy", "python-flint", "matplotlib", "torch")
MOST_NAMED: Final = 3
"""The number of damaged records that the warning names."""

RECORDED: Final = ("study", "device", "torch", "python", "residuum")
COMMANDS: Final = (
    "residuum relaxations r-product",
    'residuum surface "P -> Q" -o surface.svg',
    "residuum tautologies",
    "residuum study digits --table",
    "residuum study chunking --table",
    "residuum report",
)


def environment_section(records: Sequence[Record], damaged: Sequence[RecordError] = ()) -> Section:
    """List the commands behind the report, and the versions of libraries, here and of the runs.

    `damaged` are the errors of records that could not be read. A warning counts them.
    """
    blocks: list[Block] = [
        Text(
            "Tables and pictures name the commands that make them again. The shortest way to all:"
        ),
        Commands(COMMANDS),
        libraries_table(),
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
    warnings = [_tell_damaged(damaged)] if damaged else []
    return Section("environment", "Environment and commands", blocks, warnings)


def libraries_table() -> Table:
    """Return a table of the versions of Python and of libraries."""
    here = {
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        **{name: _version(name) for name in LIBRARIES},
    }
    return Table(
        "libraries",
        "What this page was made with",
        ["library", "version"],
        [[Entry(name), Entry(value)] for name, value in here.items()],
        [{"library": name, "version": value} for name, value in here.items()],
    )


def _tell_damaged(damaged: Sequence[RecordError]) -> str:
    named = [str(error) for error in damaged[:MOST_NAMED]]
    if len(damaged) > MOST_NAMED:
        named.append(f"and {len(damaged) - MOST_NAMED:,} more")
    are = "is" if len(damaged) == 1 else "are"
    return f"{count_of(len(damaged), 'damaged record')} {are} left out: {'; '.join(named)}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
