"""Logs of metrics that a user wrote while a network learnt: JSON lines, or CSV as Lightning's.

A line is an object with the numbers that `metrics` or `diagnose` of a rule, knowledge or theory
returned, and with a `step` or an `epoch`. What cannot be read is left out, counted, and said.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from residuum.errors import DataError, listed
from residuum.printable import printable

METRICS: Final = (
    "penalty", "truth", "satisfied", "groundings", "coverage", "without_gradient",
)  # fmt: skip
"""The names of what `metrics` and `diagnose` return."""

STEPS: Final = ("step", "epoch")
"""The names of what a line is about. If all lines have the first, it counts, else the second."""

LARGEST_LOG: Final = 2**25
"""The bytes of the largest log that is read."""

MOST_LINES: Final = 500_000
"""The most lines that are read; there is one for each epoch, or for each hundredth step."""

LARGEST_LINE: Final = 2**20
"""The bytes of the longest line that is read."""

LARGEST_NUMBER: Final = 1e100
"""Numbers beyond it are taken for damage: no penalty of a rule is as large."""

_METRIC: Final = re.compile(rf"^(?:(.*)[/_])?({'|'.join(METRICS)})$", re.DOTALL)

Curve = Mapping[float, float]
"""The values of a metric by step. NaN stands where the log has NaN."""


@dataclass(frozen=True)
class TrainingLog:
    """The metrics of rules over the steps of a training.

    `curves` has a curve by the names of a rule and a metric. `axis` says what steps are: `step`,
    `epoch`, or `line` if not all lines have the same of both. `damage` counts what cannot be used,
    and is empty if there is none. `unused` are the names that are no metrics of the rules.
    """

    name: str
    axis: str
    lines: int
    curves: Mapping[tuple[str, str], Curve]
    damage: str
    unused: Sequence[str]

    @property
    def rules(self) -> list[str]:
        """The names of the rules that the log has metrics of."""
        return list(dict.fromkeys(rule for rule, _ in self.curves))

    def ends(self, rule: str, metric: str) -> tuple[float, float] | None:
        """Return the first and the last number of a curve; None if it has none."""
        curve = self.curves.get((rule, metric), {})
        numbers = [value for value in curve.values() if math.isfinite(value)]
        return (numbers[0], numbers[-1]) if numbers else None


def read_log(path: Path, rules: Sequence[str]) -> TrainingLog:
    """Return the metrics of these rules in a log. A name that ends in `.csv` says that it is CSV.

    DataError says that there is no such file, that it is too large, or that it has no metrics.
    """
    content = _content(path)
    counts: Counter[str] = Counter()
    as_rows = _csv_rows if path.suffix.lower() == ".csv" else _json_rows
    rows, keys = _relevant(as_rows(content, counts), counts)
    owners, unused = _owners(keys, rules)
    kept = [row for row in rows if any(key in owners for key in row)]
    curves, axis = _curves(kept, owners, counts)
    if not curves:
        raise DataError(
            f"{printable(path)}: expected metrics of rules, such as `{_example(rules)}`, one JSON "
            f"object for each line, found {_found(keys, counts)}; write the dictionary that "
            "`metrics` returns as one line after each epoch"
        )
    return TrainingLog(path.name, axis, len(kept), curves, _damage(counts), unused)


def _content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_LOG + 1)
    except OSError as error:
        raise DataError(
            f"{printable(path)}: expected a log of metrics, found none that can be read "
            f"({error.strerror}); name another file"
        ) from None
    if len(content) > LARGEST_LOG:
        raise DataError(
            f"{printable(path)}: expected at most {LARGEST_LOG:,} bytes, found more; log less "
            "often, or give a part of the file"
        )
    return content.decode("utf-8-sig", "replace")


def _relevant(
    rows: Iterable[dict[str, Any]], counts: Counter[str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the steps and metrics of the rows that have a metric, and all names in the log."""
    kept: list[dict[str, Any]] = []
    keys: dict[str, bool] = {}
    for row in rows:
        for key in row:
            if key not in keys:
                keys[key] = _METRIC.match(key) is not None
        if len(kept) == MOST_LINES:
            counts[f"line after the first {MOST_LINES:,}"] += 1
        elif any(keys[key] for key in row):
            kept.append({key: row[key] for key in row if keys[key] or key in STEPS})
    return kept, list(keys)


def _json_rows(content: str, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    for line in content.split("\n"):
        if not line.strip():
            continue
        try:
            found = json.loads(line) if len(line) <= LARGEST_LINE else None
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            yield found
        else:
            counts["line that is no JSON object"] += 1


def _csv_rows(content: str, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield the cells of each row that are not empty. Lightning leaves out what it did not log."""
    lines = [one for one in content.replace("\0", "\ufffd").splitlines() if one.strip()]
    short = [one for one in lines if len(one) <= LARGEST_LINE]
    counts["line that is too long"] += len(lines) - len(short)
    try:
        for row in csv.DictReader(short):
            if None in row or None in row.values():
                counts["line with another number of cells than the first line"] += 1
            else:
                yield {name: cell for name, cell in row.items() if cell.strip()}
    except csv.Error:
        counts["end of a file that is no CSV"] += 1


def _owners(
    keys: Iterable[str], rules: Sequence[str]
) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Return the rule and the metric of each key that has them, and all other keys."""
    found: dict[str, tuple[str, str]] = {}
    unused = []
    for key in keys:
        owner = _owner(key, rules)
        if owner is not None and owner not in found.values():
            found[key] = owner
        elif key not in STEPS:
            unused.append(key)
    return found, unused


def _owner(key: str, rules: Sequence[str]) -> tuple[str, str] | None:
    """Return the rule and the metric that a key names, such as `val/birds/penalty`.

    A metric alone, or one of `rules`, as in `eval_rules_penalty`, belongs to the only rule.
    """
    matched = _METRIC.match(key)
    if matched is None:
        return None
    before, metric = matched[1] or "", matched[2]
    for rule in sorted(rules, key=len, reverse=True):
        if before == rule or before.endswith((f"/{rule}", f"_{rule}")):
            return rule, metric
    is_only = len(rules) == 1 and re.search(r"(^|[/_])(rules)?$", before)
    return (rules[0], metric) if is_only else None


def _curves(
    rows: Sequence[Mapping[str, Any]],
    owners: Mapping[str, tuple[str, str]],
    counts: Counter[str],
) -> tuple[dict[tuple[str, str], Curve], str]:
    """Return the curves in the order of their steps, and the name of the axis."""
    steps = {name: [_number(row.get(name)) for row in rows] for name in STEPS}
    whole = [name for name, found in steps.items() if all(map(_is_finite, found))]
    axis = whole[0] if whole else "line"
    places = steps[axis] if whole else [float(number) for number in range(1, len(rows) + 1)]
    curves: dict[tuple[str, str], dict[float, float]] = {}
    for place, row in zip(places, rows, strict=True):
        assert place is not None
        for key in filter(owners.__contains__, row):
            value = _value(owners[key][1], row[key])
            if value is None:
                counts["cell without a number that the metric can have"] += 1
                continue
            counts["NaN or infinite number"] += not math.isfinite(value)
            curve = curves.setdefault(owners[key], {})
            counts["value that a later line with the same step replaces"] += place in curve
            curve[place] = value
    found = {owner: curves[owner] for owner in owners.values() if owner in curves}
    return {owner: dict(sorted(curve.items())) for owner, curve in found.items()}, axis


def _value(metric: str, given: Any) -> float | None:
    value = _number(given)
    if value is None or not math.isfinite(value):
        return None if value is None else math.nan
    largest = LARGEST_NUMBER if metric == "penalty" else 1.0 + 1e-6
    return value if -1e-6 <= value <= largest else None


def _number(given: Any) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        return float(given)
    except (ValueError, OverflowError):
        return None


def _is_finite(number: float | None) -> bool:
    return number is not None and math.isfinite(number)


def _damage(counts: Counter[str]) -> str:
    return "; ".join(f"{count:,} × {what}" for what, count in counts.items() if count)


def _example(rules: Sequence[str]) -> str:
    return f"{rules[0]}/satisfied" if rules else "satisfied"


def _found(keys: Iterable[str], counts: Counter[str]) -> str:
    names = list(keys)
    if names:
        return f"the names {listed(map(printable, names))}"
    return _damage(counts) or "an empty file"
