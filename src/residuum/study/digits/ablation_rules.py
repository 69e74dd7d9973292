"""Rules that decide claims about digits by runs with other settings than those of the tables."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, Final

from residuum.results import Record, holm, paired_t_test
from residuum.study.decisions import (
    SIGNIFICANCE,
    Decision,
    Status,
    by_one_test,
    decided,
    difference_of,
    mean_of,
)
from residuum.study.digits.claim_rules import (
    About,
    best_alike,
    dev_score,
    measured_runs,
    with_weights,
)
from residuum.study.digits.findings import Findings, Setting, System
from residuum.study.digits.settings import PAPER_BY_PROTOCOL
from residuum.study.grouped_runs import Values
from residuum.study.shared_rules import are_less_sensitive, are_worse, over_weights

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
    others = [name for name in PAPER_BY_PROTOCOL["joint"] if name != about.relaxation]
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


def digit_decays_unless_frozen(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether Digit, if it is not frozen after the warm-up, gets worse on DEV."""
    del findings
    before, after = [], []
    for record in measured_runs(records, relaxation=about.relaxation, freeze=False):
        warm_up: Any = record.configuration["warm_up"]
        curve = record.curves["joint: dev/digit_accuracy"]
        later = [
            value
            for epoch, value in zip(curve.epochs, curve.values, strict=True)
            if epoch >= warm_up
        ]
        if warm_up and len(later) > 1:
            before.append(later[0])
            after.append(later[-1])
    if len(before) < 2:
        return Decision("open", "missing: runs with a warm-up, and Digit not frozen after it")
    return by_one_test(
        paired_t_test(before, after),
        f"Digit on DEV: {fmean(before):.1f}% after the warm-up, {fmean(after):.1f}% at the end, "
        f"in {len(before)} runs",
    )


def warm_up_reaches_a_share(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a warm-up reaches 40% of what the operators come to: from 30 to 50 here."""
    del findings
    shares = []
    for record in measured_runs(records, relaxation=about.relaxation):
        share = _share_of_warm_up(record)
        if share is not None:
            shares.append(100 * share)
    if not shares:
        return Decision("open", "missing: runs that are judged where their warm-up ends")
    mean = fmean(shares)
    return Decision(
        "confirmed" if 30 <= mean <= 50 else "refuted",
        f"the warm-up reaches {mean:.0f}% of the coherence on DEV of the states chosen, from "
        f"{min(shares):.0f}% to {max(shares):.0f}% in {len(shares)} runs",
    )


def gains_more_over_batches(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether minima of batches teach more than one of all the data.

    What the warm-up reaches is not counted: it has fewer steps, too, where batches are larger.
    """
    del findings
    kinds: dict[object, dict[int, float]] = defaultdict(dict)
    whole: dict[object, int] = {}
    for record in measured_runs(records, relaxation=about.relaxation):
        known: Any = dict(record.configuration)
        batch = known.pop("batch")
        kind = tuple(known.values())
        kinds[kind][batch] = _gain_after_warm_up(record)
        if batch >= max(known["pair_size"], known["digit_size"]):
            whole[kind] = batch
    pairs = [
        (batch, gain, whole[kind], gains[whole[kind]])
        for kind, gains in kinds.items()
        if kind in whole
        for batch, gain in gains.items()
        if batch != whole[kind]
    ]
    if len(pairs) < 2:
        return Decision("open", "missing: runs with one minimum over all the data")
    batches, small, sizes, large = zip(*pairs, strict=True)
    fewer = fmean(size / batch for size, batch in zip(sizes, batches, strict=True))
    return by_one_test(
        paired_t_test(small, large),
        f"after the warm-up coherence on DEV rises by {fmean(small):.1f} points at most with "
        f"batches, by {fmean(large):.1f} with all the data, in as many epochs and so "
        f"{fewer:.0f} times fewer steps",
    )


def _share_of_warm_up(record: Record) -> float | None:
    """Return the coherence on DEV where the warm-up ended, over that of the state chosen."""
    end: Any = record.configuration["warm_up"]
    [chosen] = record.curves["joint: selected"].values
    coherence = _coherence_on_dev(record)
    if not end or end not in coherence or chosen not in coherence:
        return None
    return coherence[end] / coherence[int(chosen)]


def _gain_after_warm_up(record: Record) -> float:
    """Return how far coherence on DEV rises at most above where the warm-up left it."""
    end: Any = record.configuration["warm_up"]
    later = [value for epoch, value in _coherence_on_dev(record).items() if epoch >= end]
    return max(later) - later[0]


def _coherence_on_dev(record: Record) -> dict[int, float]:
    """Return the mean coherence of both operators, by epoch."""
    both = [record.curves[f"joint: dev/{name}_coherence"] for name in ("sum", "product")]
    means = map(fmean, zip(*(curve.values for curve in both), strict=True))
    return dict(zip(both[0].epochs, means, strict=True))


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
    for name in PAPER_BY_PROTOCOL["joint"]:
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
