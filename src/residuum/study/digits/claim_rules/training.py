"""Rules for claims of weights, of the exact conjunction, and of how long training takes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any, Final

from residuum.results import Record, welch_t_test
from residuum.study.digits.claim_rules.choosing import best_alike, dev_score, measured_runs
from residuum.study.digits.claim_rules.deciding import (
    About,
    Decision,
    Difference,
    by_one_test,
    compared_by_seed,
    decided,
    words,
)
from residuum.study.digits.findings import Findings, Setting, System, Values
from residuum.study.digits.planning import PAPER

CHANCE: Final = 20.0
"""Percent; a Digit that is right less often learnt nothing: constant answers reach 11."""

CONVERGENCE: Final = (100, 1_000)
"""Epochs until convergence, as claimed."""

LONG: Final = 1_600
"""The epochs of the authors' trainings."""


def learns_nothing(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether Digit stays at chance under a relaxation."""
    del findings
    found = [
        record.measures["digit_accuracy"]
        for record in measured_runs(records, relaxation=about.relaxation, warm_up=0)
    ]
    if not found:
        return Decision("open", f"missing: runs of {about.relaxation}")
    evidence = f"Digit from {min(found):.1f}% to {max(found):.1f}% in {len(found)} runs"
    return Decision("confirmed" if max(found) <= CHANCE else "refuted", evidence)


def weight_matters(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether rules that weigh as much as labels do worse than with the weight chosen."""
    alike: dict[Setting, dict[str, Values]] = defaultdict(dict)
    for name in PAPER["joint"]:
        for setting, values in best_alike(records, relaxation=name, weight=1).items():
            alike[setting][name] = values[about.measures[0]]
    differences = [
        Difference(f"{name}, {words(setting)}", *compared_by_seed(chosen, values))
        for setting, by_name in alike.items()
        for name, values in by_name.items()
        if name != "s-godel"  # a minimum is weighted otherwise
        and (chosen := findings.values(setting, System("joint", name), about.measures[0]))
    ]
    if not differences:
        return Decision("open", "missing: runs with a weight of 1")
    return decided(differences)


def is_less_sensitive_to_weight(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether scores on DEV depend less on the weight with some relaxations.

    Runs are compared that differ in nothing but the weight, three weights at least.
    """
    del findings
    ranges = {name: _ranges_over_weights(records, name) for name in (*about.better, *about.worse)}
    lacking = [name for name, found in ranges.items() if len(found) < 2]
    if lacking:
        return Decision(
            "open", f"missing: runs with three weights, all else equal, of {', '.join(lacking)}"
        )
    steady = [value for name in about.better for value in ranges[name]]
    touchy = [value for name in about.worse for value in ranges[name]]
    return by_one_test(
        welch_t_test(touchy, steady),
        f"scores range over {fmean(steady):.1f} points with {', '.join(about.better)}, over "
        f"{fmean(touchy):.1f} with {', '.join(about.worse)}",
    )


def converges_in_time(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether the epochs chosen on DEV in long trainings lie where it is claimed.

    A rate that falls over the whole training has its best epoch near the end, and does not count.
    """
    del findings, about
    chosen: list[float] = []
    lost = 0
    for record in measured_runs(records):
        known: Any = record.configuration
        if known["epochs"] >= LONG and known["schedule"] != "cosine":
            chosen += record.curves["joint: selected"].values
            lost += record.curves["joint: dev/score"].values[-1] == -math.inf
    if not chosen:
        return Decision("open", f"missing: runs of {LONG:,} epochs")
    least, most = CONVERGENCE
    inside = sum(least <= epoch <= most for epoch in chosen)
    evidence = (
        f"chosen on DEV in {len(chosen)} runs of {LONG:,} epochs or more: from "
        f"{min(chosen):.0f} to {max(chosen):.0f}; {lost} of them end without a usable Digit"
    )
    if inside == len(chosen):
        return Decision("confirmed", evidence)
    return Decision("refuted" if 2 * inside < len(chosen) else "open", evidence)


def _ranges_over_weights(records: Iterable[Record], relaxation: str) -> list[float]:
    """Return the differences of the best and the worst score among runs that are else equal."""
    groups: dict[object, dict[object, float]] = defaultdict(dict)
    for record in records:
        known = dict(record.configuration)
        if (known["relaxation"], known["images"], known["protocol"]) == (
            relaxation, "mnist", "joint",
        ):  # fmt: skip
            weight = known.pop("weight")
            groups[tuple(known.values())][weight] = dev_score(record)
    return [max(g.values()) - min(g.values()) for g in groups.values() if len(g) > 2]
