"""Rules for claims of what comes after a warm-up: freezing, gains, minima over batches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from residuum.results import Record, paired_t_test
from residuum.study.deciding import Decision, by_one_test
from residuum.study.digits.claim_rules.about import About
from residuum.study.digits.claim_rules.choosing import measured_runs
from residuum.study.digits.findings import Findings


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
