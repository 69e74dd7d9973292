"""Prints a record of the benchmark of circuits as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from circuit_contest.contenders import PEERS, RESIDUUM

Result = Mapping[str, Any]


def markdown(record: Mapping[str, Any]) -> str:
    """Return the tables and notes of a record. Times of others are multiples of residuum's."""
    machine = ", ".join(f"{key} {value}" for key, value in record["machine"].items())
    results = record["results"]
    return "\n".join(
        [
            f"{machine}. Memory bandwidth {record['gb_per_s']:.1f} GB/s. Clock: {record['clock']}.",
            *_circuits([one for one in results if one["kind"] == "file"]),
            *_rules([one for one in results if one["kind"] == "rule"]),
            "",
            *(f"- {note}" for note in _notes(results)),
        ]
    )


def _circuits(results: Sequence[Result]) -> list[str]:
    peers = _peers(results)
    headings = ["circuit", "batch", "rows", "layers", "residuum, ms", "memory alone, ms"]
    rows = [
        [
            one["name"],
            f"{one['batch']:,}",
            f"{one['rows']:,}",
            f"{one['layers']}",
            _number(one["ms"].get(RESIDUUM)),
            _number(one["floor_ms"]),
            *(_ratio(one, peer) for peer in peers),
        ]
        for one in results
    ]
    return _table([*headings, *(f"{peer}, ×" for peer in peers)], rows)


def _rules(results: Sequence[Result]) -> list[str]:
    peers = _peers(results)
    has_pysdd = any("pysdd_s" in one for one in results)
    headings = ["rule", "batch", "nodes", "compile, s", "residuum, ms", "memory alone, ms"]
    rows = [
        [
            one["name"],
            f"{one['batch']:,}",
            f"{one['nodes']:,}",
            _number(one["compile_s"]),
            _number(one["ms"].get(RESIDUUM)),
            _number(one["floor_ms"]),
            *([_number(one.get("pysdd_s"))] if has_pysdd else []),
            *(_ratio(one, peer) for peer in peers),
        ]
        for one in results
    ]
    of_peers = [*(["PySDD compiles, s"] if has_pysdd else []), *(f"{peer}, ×" for peer in peers)]
    return _table([*headings, *of_peers], rows)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    rule = ["---"] + ["--:"] * (len(headings) - 1)
    return ["", *(f"| {' | '.join(row)} |" for row in (headings, rule, *rows))]


def _peers(results: Sequence[Result]) -> list[str]:
    return [peer for peer in PEERS if any(peer in one["ms"] for one in results)]


def _ratio(one: Result, peer: str) -> str:
    times = one["ms"]
    return f"{times[peer] / times[RESIDUUM]:.1f}" if peer in times else "–"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _notes(results: Sequence[Result]) -> list[str]:
    """Return each note of the contenders once, with the cases that it is about."""
    said: dict[str, list[str]] = {}
    for one in results:
        notes = one["notes"] | ({"PySDD": one["pysdd_said"]} if "pysdd_said" in one else {})
        for contender, note in notes.items():
            said.setdefault(f"{contender}: {note}", []).append(f"{one['name']}, {one['batch']:,}")
    return [f"{note} [{'; '.join(where)}]" for note, where in said.items()]
