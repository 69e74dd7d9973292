"""Rules for claims that a warm-up is needed, and how long a one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from residuum.results import Record, holm
from residuum.study.ablations import are_worse
from residuum.study.deciding import SIGNIFICANCE, Decision, Status, difference_of, mean_of
from residuum.study.digits.claim_rules.about import About
from residuum.study.digits.claim_rules.choosing import best_alike, measured_runs
from residuum.study.digits.findings import Findings
from residuum.study.digits.planning import PAPER
from residuum.study.findings import Values

CLAIMED_LENGTHS: Final = {"joint": (1, 2), "pipeline": (6, 10)}
"""Epochs of a warm-up, at least and at most."""


def is_worse_without_warm_up(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a relaxation without its warm-up is less accurate than with it."""
    without = best_alike(records, relaxation=about.relaxation, warm_up=0)
    return are_worse(
        findings, without, about, [about.relaxation], "runs of s-godel without a warm-up"
    )


def is_worst_without_warm_up(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a relaxation without its warm-up is less accurate than every other."""
    without = best_alike(records, relaxation=about.relaxation, warm_up=0)
    others = [name for name in PAPER["joint"] if name != about.relaxation]
    return are_worse(findings, without, about, others, "runs of s-godel without a warm-up")


def is_as_long_as_claimed(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether the shortest warm-up that no longer one betters is as long as claimed."""
    del findings
    found: dict[str, int] = {}
    evidence = []
    for protocol in CLAIMED_LENGTHS:
        by_length = _by_length(
            measured_runs(records, protocol=protocol, relaxation=about.relaxation),
            about.measures[0],
        )
        if len(by_length) < 2:
            evidence.append(f"missing: {protocol} runs with warm-ups of different lengths")
            continue
        found[protocol] = _shortest_sufficient(by_length)
        reached = ", ".join(
            f"{mean_of(list(values.values())):.1f}% with {length}"
            for length, values in by_length.items()
        )
        evidence.append(f"{protocol}: {found[protocol]} epochs; {reached}")
    too_long = any(length > CLAIMED_LENGTHS[name][1] for name, length in found.items())
    is_in_range = all(
        name in found and least <= found[name] <= most
        for name, (least, most) in CLAIMED_LENGTHS.items()
    )
    status: Status = "refuted" if too_long else "confirmed" if is_in_range else "open"
    return Decision(status, "; ".join(evidence))


def _by_length(runs: Sequence[Record], measure: str) -> dict[int, Values]:
    """Return a measure by length of the warm-up and seed, of runs that are else equal.

    How often states are judged may differ. Of several kinds that with most lengths counts.
    """
    kinds: dict[object, dict[int, Values]] = defaultdict(lambda: defaultdict(dict))
    for record in runs:
        known: Any = dict(record.configuration)
        length, seed = known.pop("warm_up"), known.pop("seed")
        known.pop("judge_every")
        if length:
            kinds[tuple(known.values())][length][seed] = record.measures[measure]
    widest = max(kinds.values(), key=len, default={})
    return {length: widest[length] for length in sorted(widest)}


def _shortest_sufficient(by_length: Mapping[int, Values]) -> int:
    """Return the least length that no longer one is significantly better than."""
    pairs = list(combinations(by_length, 2))
    compared = [difference_of("", by_length[b], by_length[a]).compared for a, b in pairs]
    corrected = holm([1.0 if one.p_value is None else one.p_value for one in compared])
    bettered = {
        shorter
        for (shorter, _), one, p_value in zip(pairs, compared, corrected, strict=True)
        if one.difference > 0 and p_value <= SIGNIFICANCE
    }
    return min(length for length in by_length if length not in bettered)
