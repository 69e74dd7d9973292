"""Prints a record as a table on the terminal, or as Markdown for the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from loss_contest.contenders import COMPILED, CONTENDERS, RESIDUUM

REFERENCES = ("best", "plain")
HEADINGS = (
    "workload", "relaxation", "reference, ms",
    *(f"{name}, ×" for name in CONTENDERS),
    "residuum, ms", "first call, ms", "compile, s",
    "peak MB: best", "plain", "residuum",
)  # fmt: skip


def rows(record: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each workload and relaxation.

    Times are multiples of the faster hand-written reference.
    """
    cases: dict[tuple[str, str], dict[str, Any]] = {}
    for one in record["results"]:
        cases.setdefault((one["workload"], one["relaxation"]), {})[one["contender"]] = one
    return [[*case, *_cells(found)] for case, found in cases.items()]


def _cells(found: Mapping[str, Any]) -> list[str]:
    def of(contender: str, key: str) -> float | None:
        value: float | None = found.get(contender, {}).get(key)
        return value

    timed = [ms for name in REFERENCES if (ms := of(name, "ms")) is not None]
    reference = min(timed, default=None)
    ratios = [
        "–" if reference is None or (ms := of(name, "ms")) is None else f"{ms / reference:.2f}"
        for name in CONTENDERS
    ]
    compiling = of(COMPILED, "first_call_ms")
    return [
        _number(reference),
        *ratios,
        _number(of(RESIDUUM, "ms")),
        _number(of(RESIDUUM, "first_call_ms")),
        _number(None if compiling is None else compiling / 1e3),
        *(_number(of(name, "peak_mb")) for name in ("best", "plain", RESIDUUM)),
    ]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def comparison(record: Mapping[str, Any]) -> list[str]:
    """Return the lines of a table: for each relaxation, times as multiples of residuum's time."""
    times: dict[tuple[str, str], dict[str, float]] = {}
    for one in record["results"]:
        if one.get("ms") is not None:
            times.setdefault((one["workload"], one["relaxation"]), {})[one["contender"]] = one["ms"]
    others = [name for name in CONTENDERS if name != RESIDUUM]
    others = [name for name in others if any(name in found for found in times.values())]
    lines = [
        f"| time as a multiple of residuum's | {' | '.join(others)} |",
        f"| --- | {' | '.join(['--:'] * len(others))} |",
    ]
    for relaxation in dict.fromkeys(relaxation for _, relaxation in times):
        cells = []
        for name in others:
            ratios = [
                found[name] / found[RESIDUUM]
                for (_, mine), found in times.items()
                if mine == relaxation and name in found and RESIDUUM in found
            ]
            cells.append(f"{min(ratios):.2g} to {max(ratios):.2g}" if ratios else "–")
        lines.append(f"| `{relaxation}` | {' | '.join(cells)} |")
    return lines


def notes(record: Mapping[str, Any]) -> list[str]:
    """Return each note of the contenders once, with the cases it is about if not all."""
    everywhere = {(one["workload"], one["relaxation"]) for one in record["results"]}
    said: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for one in record["results"]:
        if one["note"]:
            where = said.setdefault((one["contender"], one["note"]), set())
            where.add((one["workload"], one["relaxation"]))
    return [
        f"{contender}: {note}" + ("" if where == everywhere else f" [{_places(where, everywhere)}]")
        for (contender, note), where in said.items()
    ]


def _places(where: set[tuple[str, str]], everywhere: set[tuple[str, str]]) -> str:
    """Return cases in words. A workload under all relaxations is named without them."""
    spelt = []
    for workload in sorted({workload for workload, _ in where}):
        mine = sorted(relaxation for name, relaxation in where if name == workload)
        is_all = len(mine) == sum(name == workload for name, _ in everywhere)
        spelt.append(workload if is_all else f"{workload} under {', '.join(mine)}")
    return "; ".join(spelt)


def markdown(record: Mapping[str, Any]) -> str:
    """Return the table and its notes in Markdown."""
    machine = ", ".join(f"{key} {value}" for key, value in record["machine"].items())
    lines = [
        f"{machine}. Clock: {record['clock']}.",
        "",
        *comparison(record),
        "",
        f"| {' | '.join(HEADINGS)} |",
        f"| {' | '.join(['---'] * 2 + ['--:'] * (len(HEADINGS) - 2))} |",
        *(f"| {' | '.join(row)} |" for row in rows(record)),
        "",
        *(f"- {note}" for note in notes(record)),
    ]
    return "\n".join(lines)


def show(record: Mapping[str, Any]) -> None:
    """Print the table on the terminal, as wide as it needs."""
    table = Table(*HEADINGS, title="forward + backward, × the faster hand-written reference")
    for row in rows(record):
        table.add_row(*row)
    console = Console(width=220)
    console.print(table)
    for note in notes(record):
        console.print(note, markup=False)
