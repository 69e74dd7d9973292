"""Prints a record of the benchmark of requirements as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Result = Mapping[str, Any]

RESIDUUM = "residuum"


def markdown(record: Mapping[str, Any]) -> str:
    """Return a table with a row for each logic and batch, and notes.

    Times and peaks of others are multiples of residuum's.
    """
    machine = ", ".join(f"{key} {value}" for key, value in record["machine"].items())
    packages = ", ".join(f"{key} {value}" for key, value in record["versions"].items())
    results = record["results"]
    return "\n".join(
        [
            f"{', '.join(filter(None, (machine, packages)))}. Clock: {record['clock']}.",
            *_table([one for one in results if one["logic"] != "exact"]),
            *_table([one for one in results if one["logic"] == "exact"]),
            *_notes(results),
        ]
    )


def ratios(record: Mapping[str, Any], contender: str, what: str) -> list[float]:
    """Return how many times as much a contender takes as residuum, `ms` or `peak_mb`, by case."""
    found = []
    for case in _cases(record["results"]).values():
        ours, theirs = case.get(RESIDUUM, {}), case.get(contender, {})
        if what in ours and what in theirs:
            found.append(theirs[what] / ours[what])
    return found


def _table(results: Sequence[Result]) -> list[str]:
    if not results:
        return []
    peers = [
        name for name in dict.fromkeys(one["contender"] for one in results) if name != RESIDUUM
    ]
    heads = [
        "logic", "batch", "residuum, ms", "peak MB",
        *(f"{peer}, {what}" for peer in peers for what in ("time ×", "memory ×")),
    ]  # fmt: skip
    rows = [
        [
            logic,
            f"{batch:,}",
            *(_number(case.get(RESIDUUM, {}).get(what)) for what in ("ms", "peak_mb")),
            *(_ratio(case, peer, what) for peer in peers for what in ("ms", "peak_mb")),
        ]
        for (logic, batch), case in _cases(results).items()
    ]
    rule = ["---"] + ["--:"] * (len(heads) - 1)
    return ["", *(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))]


def _cases(results: Sequence[Result]) -> dict[tuple[str, int], dict[str, Result]]:
    cases: dict[tuple[str, int], dict[str, Result]] = {}
    for one in results:
        cases.setdefault((one["logic"], one["batch"]), {})[one["contender"]] = one
    return cases


def _ratio(case: Mapping[str, Result], peer: str, what: str) -> str:
    ours, theirs = case.get(RESIDUUM, {}).get(what), case.get(peer, {}).get(what)
    return "–" if ours is None or theirs is None else f"{theirs / ours:.1f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _notes(results: Sequence[Result]) -> list[str]:
    """Return each note of the contenders once, with the cases that it is about."""
    said: dict[str, list[str]] = {}
    for one in results:
        if "note" in one:
            where = f"{one['logic']}, {one['batch']:,}"
            said.setdefault(f"{one['contender']}: {one['note']}", []).append(where)
    lines = [f"- {note} [{'; '.join(where)}]" for note, where in said.items()]
    return ["", *lines] if lines else []
