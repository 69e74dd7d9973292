"""Prints a record of the benchmark as Markdown, and counts the lines of pages."""

from __future__ import annotations

import ast
import io
import statistics
import tokenize
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RESIDUUM, LTN = "with_residuum", "with_ltn"
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def lines_of(page: Path) -> int:
    """Return how many lines of code a page has.

    Imports, docstrings, comments and blank lines do not count; the text of rules does.
    """
    text = page.read_text(encoding="utf-8")
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_docstring or isinstance(node, ast.Import | ast.ImportFrom):
            found.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(found)


def markdown(record: Mapping[str, Any]) -> str:
    """Return the table of a record, and what it takes to read it."""
    machine = ", ".join(f"{key} {value}" for key, value in record["machine"].items())
    seeds = len(record["seeds"])
    headings = ["problem", "measure", "residuum", "LTN", "failed runs", "lines", "LTN's time, ×"]
    rows = [row for one in record["problems"] for row in _rows(one)]
    return "\n".join(
        [
            f"{machine}. CPU time of the process, one thread; libraries take turns. {seeds} seeds.",
            "",
            f"| {' | '.join(headings)} |",
            "| --- | --- | --: | --: | --: | --: | --: |",
            *(f"| {' | '.join(row)} |" for row in rows),
        ]
    )


def _rows(problem: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each measure of a problem; what is about all of it stands in the first."""
    failed, lines = (
        f"{problem[what][RESIDUUM]} / {problem[what][LTN]}" for what in ("failed", "lines")
    )
    about = [f"{failed} ({problem['fails']})", lines, f"{slower(problem):.1f}"]
    rows = []
    for number, measure in enumerate(_measures(problem)):
        title = "" if number else problem["title"]
        means = [_spread(values(problem, library, measure)) for library in (RESIDUUM, LTN)]
        rows.append([title, measure, *means, *(["", "", ""] if number else about)])
    return rows


def _measures(problem: Mapping[str, Any]) -> Sequence[str]:
    return next(list(run["measures"]) for run in problem["runs"] if "measures" in run)


def values(problem: Mapping[str, Any], library: str, measure: str) -> list[float]:
    """Return a measure of all runs of a library that did not raise an error."""
    return [
        run["measures"][measure]
        for run in problem["runs"]
        if run["library"] == library and "measures" in run
    ]


def slower(problem: Mapping[str, Any]) -> float:
    """Return how many times as long LTN takes: the median over the seeds."""
    times: dict[int, dict[str, float]] = {}
    for run in problem["runs"]:
        if "seconds" in run:
            times.setdefault(run["seed"], {})[run["library"]] = run["seconds"]
    ratios = [one[LTN] / one[RESIDUUM] for one in times.values() if len(one) == 2]
    return statistics.median(ratios) if ratios else float("nan")


def _spread(found: Sequence[float]) -> str:
    """Return the mean of some values, and from where to where they go."""
    if not found:
        return "–"
    form = "{:.2f}" if max(found) > 1 else "{:.1%}"
    low, high = form.format(min(found)), form.format(max(found))
    return f"{form.format(statistics.mean(found))} ({low.rstrip('%')} to {high})"
