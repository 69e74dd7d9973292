"""Rules for claims of how much seeds vary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product

from residuum.results import Record
from residuum.study.deciding import Decision, by_variances
from residuum.study.digits.claim_rules.about import SIZES, About
from residuum.study.digits.claim_rules.choosing import measured_runs
from residuum.study.digits.findings import Findings, System
from residuum.study.digits.planning import PAPER


def varies_more(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether some relaxations vary more over seeds than others (an F-test, pooled)."""
    del records
    samples = [
        [
            list(findings.values(setting, System(about.protocol, name), measure).values())
            for setting in about.settings
            for measure in about.measures
            for name in names
        ]
        for names in (about.worse, about.better)
    ]
    worse, better = ", ".join(about.worse), ", ".join(about.better)
    return by_variances(samples[0], samples[1], f"{worse} vary", better)


def varies_more_with_less_data(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether seeds vary more where DIGIT or PAIR is smallest."""
    del records
    scarce: list[list[float]] = []
    ample: list[list[float]] = []
    for setting, measure, name in product(about.settings, about.measures, PAPER["joint"]):
        values = findings.values(setting, System(about.protocol, name), measure)
        is_scarce = SIZES[0] in (setting.digit_size, setting.pair_size)
        (scarce if is_scarce else ample).append(list(values.values()))
    return by_variances(scarce, ample, "with 1,000 labels or pairs they vary", "with more")


def restarts_vary_less(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether seeds vary less with warm restarts, other settings being equal."""
    del findings
    found: dict[object, dict[object, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in measured_runs(records):
        known = dict(record.configuration)
        schedule = known.pop("schedule")
        rest = tuple(value for name, value in known.items() if name not in ("seed", "period"))
        found[rest][schedule].append(record.measures[about.measures[0]])
    both = [group for group in found.values() if "restarts" in group and len(group) > 1]
    without = [sample for group in both for name, sample in group.items() if name != "restarts"]
    with_restarts = [group["restarts"] for group in both]
    return by_variances(without, with_restarts, "without restarts they vary", "with them")
