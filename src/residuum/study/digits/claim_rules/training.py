"""Rules for claims of weights, of the exact conjunction, and of how long training takes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from residuum.results import Record
from residuum.study.ablations import are_less_sensitive, over_weights
from residuum.study.deciding import Decision, decided, difference_of
from residuum.study.digits.claim_rules.about import About
from residuum.study.digits.claim_rules.choosing import (
    best_alike,
    dev_score,
    measured_runs,
    with_weights,
)
from residuum.study.digits.findings import Findings, Setting, System
from residuum.study.digits.planning import PAPER
from residuum.study.findings import Values

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
        difference_of(f"{name}, {about.words(setting)}", chosen, values)
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
    scores = {
        name: over_weights(with_weights(records, name), dev_score)
        for name in (*about.better, *about.worse)
    }
    return are_less_sensitive(scores, about)


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
