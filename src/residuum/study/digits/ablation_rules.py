"""Rules for claims about digits that need runs with other settings than those of the tables.

Ablations are runs without a warm-up, with other weights, batch sizes, schedules or lengths.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, Final

from residuum.results import Record, holm, paired_t_test, t_test_of_sum
from residuum.study.broken_runs import value_of, without_diverged
from residuum.study.decisions import (
    SIGNIFICANCE,
    Decision,
    Status,
    by_one_test,
    by_variances,
    decided,
    difference_of,
    mean_of,
    mean_samples,
)
from residuum.study.digits.claim_rules import About, measured_runs
from residuum.study.digits.findings import Findings
from residuum.study.digits.settings import PAPER_BY_PROTOCOL
from residuum.study.grouped_runs import Values, pairs_of_seeds
from residuum.study.shared_rules import best_kinds

CLAIMED_LENGTHS: Final = {"joint": (1, 2), "pipeline": (6, 10)}
"""The least and the most epochs of a warm-up, as the paper claims."""

CLAIMED_CONVERGENCE: Final = (100, 1_000)
"""The least and the most epochs until convergence, as the paper claims."""

LONG: Final = 1_600
"""The epochs of the authors' trainings."""


def is_as_long_as_claimed(_findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether the shortest sufficient warm-up is as long as the paper claims.

    A warm-up suffices if no longer warm-up is significantly better.
    """
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
    """Return a measure by length of the warm-up and by seed.

    Runs of one kind differ only in the warm-up, in the seed, and in how often states are judged.
    The kind with the most lengths counts.
    """
    kinds: dict[object, dict[int, Values]] = defaultdict(lambda: defaultdict(dict))
    for record in runs:
        known: Any = dict(record.configuration)
        length, seed = known.pop("warm_up"), known.pop("seed")
        known.pop("judge_every")
        if length:
            kinds[tuple(known.items())][length][seed] = value_of(record, measure)
    widest = max(kinds.values(), key=len, default={})
    return {length: widest[length] for length in sorted(widest)}


def _shortest_sufficient(by_length: Mapping[int, Values]) -> int:
    """Return the least length such that no longer warm-up is significantly better."""
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
    _findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether Digit gets worse on DEV after the warm-up if its network is not frozen."""
    before, after = [], []
    runs = measured_runs(records, relaxation=about.relaxation, freeze=False)
    for record in without_diverged(runs):
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
        [dict(enumerate(start - end for start, end in zip(before, after, strict=True)))],
        "runs",
    )


def warm_up_reaches_a_share(
    _findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether the warm-up alone reaches 40% of the final coherence; 30% to 50% count."""
    shares = []
    for record in without_diverged(measured_runs(records, relaxation=about.relaxation)):
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
    _findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a minimum over each batch teaches more than one minimum over all the data.

    The gain of the warm-up is not counted, because a larger batch leaves it fewer steps.
    """
    kinds: dict[tuple[object, ...], dict[int, Values]] = defaultdict(lambda: defaultdict(dict))
    whole: dict[tuple[object, ...], int] = {}
    for record in without_diverged(measured_runs(records, relaxation=about.relaxation)):
        known: Any = dict(record.configuration)
        seed, batch = known.pop("seed"), known.pop("batch")
        kind = tuple(known.items())
        kinds[kind][batch][seed] = _gain_after_warm_up(record)
        if batch >= max(known["pair_size"], known["digit_size"]):
            whole[kind] = batch
    differences, means, fewer = [], [], []
    for kind, size in whole.items():
        large = kinds[kind].pop(size)
        for batch, small in kinds[kind].items():
            differences.append(difference_of("", small, large))
            seeds = pairs_of_seeds(small, large)
            means.append([fmean(some[seed] for seed in seeds or some) for some in (small, large)])
            fewer.append(size / batch)
    if not differences:
        return Decision("open", "missing: runs with one minimum over all the data")
    with_batches, with_all = map(fmean, zip(*means, strict=True))
    evidence = (
        f"after the warm-up coherence on DEV rises by {with_batches:.1f} points at most with "
        f"batches, by {with_all:.1f} with all the data, in as many epochs and so "
        f"{fmean(fewer):.0f} times fewer steps"
    )
    if not all(found.is_paired for found in differences):
        evidence += ", with different seeds"
    samples = mean_samples(differences)
    return by_one_test(t_test_of_sum([[*one.values()] for one in samples]), evidence, samples)


def weight_matters(_findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether a weight of 1 for the rules is worse than the best other weight on DEV.

    Both weights may have their own learning rate; all other settings are equal. S-Gödel is left
    out: a weight acts otherwise on a minimum than on a sum.
    """
    measure = about.measures[0]
    differences = []
    for name in PAPER_BY_PROTOCOL["joint"]:
        if name == "s-godel":
            continue
        for runs in _alike(measured_runs(records, relaxation=name), "weight", "learning_rate"):
            heavy, light = (
                best_kinds(
                    [run for run in runs if (run.configuration["weight"] == 1) == is_heavy],
                    [measure], about.setting_of, about.dev_score,
                )
                for is_heavy in (True, False)
            )  # fmt: skip
            differences += [
                difference_of(
                    f"{name}, {about.words(setting)}", light[setting][measure], values[measure]
                )
                for setting, values in heavy.items()
                if setting in light
            ]
    if not differences:
        return Decision(
            "open", "missing: runs with a weight of 1, and with another, all else equal"
        )
    return decided(differences)


def _alike(runs: Iterable[Record], *free: str) -> list[list[Record]]:
    """Group runs whose settings are equal, but for the seed and the settings that are free."""
    groups: dict[object, list[Record]] = defaultdict(list)
    for record in runs:
        kind = [entry for entry in record.configuration.items() if entry[0] not in ("seed", *free)]
        groups[tuple(kind)].append(record)
    return list(groups.values())


def converges_in_time(_findings: Findings, records: Sequence[Record], _about: About) -> Decision:
    """Decide whether the epochs selected on DEV in long trainings lie where the paper claims.

    A cosine schedule over the whole training is left out: its best epoch is always near the end.
    """
    chosen: list[float] = []
    lost = 0
    for record in without_diverged(measured_runs(records)):
        known: Any = record.configuration
        if known["epochs"] >= LONG and known["schedule"] != "cosine":
            chosen += record.curves["joint: selected"].values
            lost += record.curves["joint: dev/score"].values[-1] == -math.inf
    if not chosen:
        return Decision("open", f"missing: runs of {LONG:,} epochs")
    least, most = CLAIMED_CONVERGENCE
    inside = sum(least <= epoch <= most for epoch in chosen)
    evidence = (
        f"chosen on DEV in {len(chosen)} runs of {LONG:,} epochs or more: from "
        f"{min(chosen):.0f} to {max(chosen):.0f}; {lost} of them end without a usable Digit"
    )
    if inside == len(chosen):
        return Decision("confirmed", evidence)
    return Decision("refuted" if 2 * inside < len(chosen) else "open", evidence)


def restarts_vary_less(_findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether seeds vary less with warm restarts, other settings being equal."""
    found: dict[object, dict[object, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in measured_runs(records):
        known = dict(record.configuration)
        schedule = known.pop("schedule")
        rest = tuple(entry for entry in known.items() if entry[0] not in ("seed", "period"))
        found[rest][schedule].append(value_of(record, about.measures[0]))
    both = [group for group in found.values() if "restarts" in group and len(group) > 1]
    without = [sample for group in both for name, sample in group.items() if name != "restarts"]
    with_restarts = [group["restarts"] for group in both]
    return by_variances(without, with_restarts, "without restarts they vary", "with them")


def _share_of_warm_up(record: Record) -> float | None:
    """Return the coherence on DEV at the end of the warm-up, divided by that of the best state."""
    end: Any = record.configuration["warm_up"]
    [chosen] = record.curves["joint: selected"].values
    coherence = _coherence_on_dev(record)
    if not end or end not in coherence or chosen not in coherence:
        return None
    return coherence[end] / coherence[int(chosen)]


def _gain_after_warm_up(record: Record) -> float:
    """Return how far coherence on DEV rises at most above its value after the warm-up."""
    end: Any = record.configuration["warm_up"]
    later = [value for epoch, value in _coherence_on_dev(record).items() if epoch >= end]
    return max(later) - later[0]


def _coherence_on_dev(record: Record) -> dict[int, float]:
    """Return the mean coherence of Sum and Product, by epoch."""
    both = [record.curves[f"joint: dev/{name}_coherence"] for name in ("sum", "product")]
    means = map(fmean, zip(*(curve.values for curve in both), strict=True))
    return dict(zip(both[0].epochs, means, strict=True))
