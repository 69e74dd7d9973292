"""The section about a training log: curves of metrics, and where they begin and end."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from residuum.errors import listed
from residuum.reports.blocks import Block, Entry, Picture, Section, Table, Text, count_of
from residuum.reports.own_rules.answer import misleading, percent
from residuum.reports.own_rules.figures import MOST_PANELS, MOST_POINTS, draw_curves
from residuum.reports.own_rules.gathering import OwnRules
from residuum.reports.own_rules.training_log import METRICS, TrainingLog

COLUMNS: Final = {
    "satisfied": "examples that obey",
    "penalty": "penalty",
    "without_gradient": "without a gradient",
    "coverage": "antecedent holds in",
}
"""The metrics in the table, in its order, and their heads."""


def curves_section(facts: OwnRules) -> Section | None:
    """Show the curves of a training log, with a table of their ends."""
    log = facts.log
    if log is None:
        return None
    drawn = _drawn(log)
    few = (
        f", of the {MOST_PANELS} rules that are obeyed least" if len(drawn) < len(log.rules) else ""
    )
    longest = max(map(len, log.curves.values()))
    thinned = (
        f" Curves are drawn with at most {MOST_POINTS} points." if longest > MOST_POINTS else ""
    )
    span = "" if log.axis == "line" else f" by {log.axis}"
    blocks: list[Block] = [
        Text(
            f"{count_of(log.lines, 'line')} of {log.name} with metrics of "
            f"{count_of(len(log.rules), 'rule')}{span}.{thinned} A penalty can fall while a rule "
            "is broken more often, so the share of examples that obey stands beside it."
        ),
        *map(Text, misleading(log)),
        Picture(
            "metrics",
            f"Metrics over the steps of training{few}",
            "For each rule a curve of its penalty, and curves of the shares of examples that obey, "
            "of coverage, of truth, and of violated groundings without a gradient. The table below "
            "has their first and last values.",
            draw_curves(log, drawn),
        ),
        _ends(log),
    ]
    if log.unused:
        blocks.append(Text(f"No metrics of these rules, and left out: {listed(log.unused)}."))
    missing = [name for name in facts.knowledge.rules if name not in log.rules]
    if missing and len(missing) < len(facts.knowledge.rules):
        blocks.append(Text(f"Without metrics in the log: {', '.join(missing[:MOST_PANELS])}."))
    warnings = [f"Left out of {log.name}: {log.damage}"] if log.damage else []
    return Section("curves", "How did it go while the network learnt?", blocks, warnings)


def _drawn(log: TrainingLog) -> list[str]:
    """Return the rules that are drawn, in the order of the log: those that are obeyed least."""

    def obeyed(rule: str) -> float:
        ends = log.ends(rule, "satisfied")
        return math.inf if ends is None else ends[1]

    chosen = set(sorted(log.rules, key=obeyed)[:MOST_PANELS])
    return [rule for rule in log.rules if rule in chosen]


def _ends(log: TrainingLog) -> Table:
    names = [name for name in COLUMNS if any(metric == name for _, metric in log.curves)]
    rows = [[Entry(rule), *(_change(log, rule, name) for name in names)] for rule in log.rules]
    return Table(
        "ends",
        "First → last values",
        ["rule", *(COLUMNS[name] for name in names)],
        rows,
        list(_numbers(log)),
    )


def _change(log: TrainingLog, rule: str, metric: str) -> Entry:
    ends = log.ends(rule, metric)
    if ends is None:
        return Entry("–")
    shown = (lambda value: f"{value:.3g}") if metric == "penalty" else percent
    numbers = [one for one in log.curves[rule, metric].values() if math.isfinite(one)]
    between = f"{shown(min(numbers))} to {shown(max(numbers))}"
    return Entry(f"{shown(ends[0])} → {shown(ends[1])}", title=between)


def _numbers(log: TrainingLog) -> Iterator[dict[str, object]]:
    """Yield every line of the log as numbers, for the files of the report."""
    for rule in log.rules:
        own = {name: log.curves[rule, name] for name in METRICS if (rule, name) in log.curves}
        for step in sorted({step for curve in own.values() for step in curve}):
            values = {name: own.get(name, {}).get(step) for name in METRICS}
            yield {"rule": rule, log.axis: step, **values}
