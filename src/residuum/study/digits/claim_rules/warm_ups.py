"""Rules for claims that a warm-up is needed, and how long a one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, Final

from residuum.results import Record, holm
from residuum.study.digits.claim_rules.choosing import best_alike, measured_runs
from residuum.study.digits.claim_rules.deciding import (
    SIGNIFICANCE,
    About,
    Decision,
    Difference,
    Status,
    compared_by_seed,
    decided,
    words,
)
from residuum.study.digits.findings import Findings, Setting, System, Values
from residuum.study.digits.planning import PAPER

CLAIMED_LENGTHS: Final = {"joint": (1, 2), "pipeline": (6, 10)}
"""Epochs of a warm-up, at least and at most."""


def is_worse_without_warm_up(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a relaxation without its warm-up is less accurate than with it."""
    without = best_alike(records, relaxation=about.relaxation, warm_up=0)
    return _ablated(
        findings, without, about, [about.relaxation], "runs of s-godel without a warm-up"
    )


def is_worst_without_warm_up(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a relaxation without its warm-up is less accurate than every other."""
    without = best_alike(records, relaxation=about.relaxation, warm_up=0)
    others = [name for name in PAPER["joint"] if name != about.relaxation]
    return _ablated(findings, without, about, others, "runs of s-godel without a warm-up")


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
            f"{fmean(values.values()):.1f}% with {length}" for length, values in by_length.items()
        )
        evidence.append(f"{protocol}: {found[protocol]} epochs; {reached}")
    too_long = any(length > CLAIMED_LENGTHS[name][1] for name, length in found.items())
    is_in_range = all(
        name in found and least <= found[name] <= most
        for name, (least, most) in CLAIMED_LENGTHS.items()
    )
    status: Status = "refuted" if too_long else "confirmed" if is_in_range else "open"
    return Decision(status, "; ".join(evidence))


def _ablated(
    findings: Findings,
    ablated: Mapping[Setting, Mapping[str, Values]],
    about: About,
    names: Sequence[str],
    what: str,
) -> Decision:
    """Decide whether runs that lack something are worse than those of some relaxations."""
    differences = [
        Difference(
            f"{measure} of {name}, {words(setting)}", *compared_by_seed(usual, values[measure])
        )
        for setting, values in ablated.items()
        for measure in about.measures
        for name in names
        if (usual := findings.values(setting, System("joint", name), measure))
    ]
    return decided(differences) if differences else Decision("open", f"missing: {what}")


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
    compared = [compared_by_seed(by_length[b], by_length[a])[0] for a, b in pairs]
    corrected = holm([1.0 if one.p_value is None else one.p_value for one in compared])
    bettered = {
        shorter
        for (shorter, _), one, p_value in zip(pairs, compared, corrected, strict=True)
        if one.difference > 0 and p_value <= SIGNIFICANCE
    }
    return min(length for length in by_length if length not in bettered)
