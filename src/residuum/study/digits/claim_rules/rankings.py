"""Rules for claims that one is better than another, or the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from statistics import fmean, stdev

from residuum.results import Record, paired_t_test
from residuum.study.digits.claim_rules.deciding import (
    SIZES,
    About,
    Decision,
    Difference,
    by_one_test,
    decided,
    mean_by_seed,
    words,
)
from residuum.study.digits.findings import Findings, Setting, System
from residuum.study.digits.planning import PAPER


def outperforms(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether each of some relaxations is better than each of others, everywhere."""
    del records
    return decided([
        _difference(
            findings, setting, measure, System(about.protocol, one), System(about.protocol, other)
        )
        for setting in about.settings
        for measure in about.measures
        for one, other in product(about.better, about.worse)
    ])  # fmt: skip


def pipeline_outperforms_joint(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a pipeline is better than joint learning, with every relaxation."""
    del records
    return decided([
        _difference(findings, setting, measure, System("pipeline", name), System("joint", name))
        for setting in about.settings
        for measure in about.measures
        for name in PAPER["pipeline"]
    ])  # fmt: skip


def gains_more_with_fewer_labels(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a relaxation is ahead of the others by more where DIGIT is smallest."""
    del records
    gains = []
    for size in (SIZES[0], SIZES[-1]):
        setting = Setting("mnist", "paper", size, about.pair_sizes[0])
        each = [
            _difference(findings, setting, measure, System("joint", one), System("joint", other))
            for measure in about.measures
            for one, other in product(about.better, about.worse)
        ]
        gains.append(mean_by_seed([found for found in each if found]))
    seeds = sorted(gains[0].keys() & gains[1].keys())
    if len(seeds) < 2:
        return Decision("open", "missing: two seeds of every relaxation at both sizes of DIGIT")
    few, many = ([gain[seed] for seed in seeds] for gain in gains)
    return by_one_test(
        paired_t_test(few, many),
        f"ahead by {fmean(few):+.1f} points with {SIZES[0]:,} labels, "
        f"by {fmean(many):+.1f} with {SIZES[-1]:,}",
    )


def gives_the_same(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether two relaxations have the same figures, seed by seed.

    On a GPU the same run gives other figures when it is trained beside other runs, as sums are
    taken in another order. So they need not be equal, only to differ by less than seeds do.
    """
    del records
    (one,), (other,) = about.better, about.worse
    gaps: list[float] = []
    is_same = True
    for setting, measure in product(about.settings, about.measures):
        first, second = (
            findings.values(setting, System(about.protocol, name), measure) for name in (one, other)
        )
        if len(seeds := sorted(first.keys() & second.keys())) > 1:
            here = [abs(first[seed] - second[seed]) for seed in seeds]
            gaps += here
            spread = min(stdev(values[seed] for seed in seeds) for values in (first, second))
            is_same &= max(here) <= spread
    if not gaps:
        return Decision("open", f"missing: two seeds of both {one} and {other}")
    equal = sum(gap == 0 for gap in gaps)
    return Decision(
        "confirmed" if is_same else "refuted",
        f"{equal} of {len(gaps)} figures are equal, the others differ by up to {max(gaps):.2g} "
        f"points, {'less' if is_same else 'somewhere more'} than seeds do",
    )


def _difference(
    findings: Findings, setting: Setting, measure: str, one: System, other: System
) -> Difference | None:
    compared = findings.compare(setting, one, other, measure)
    if compared is None:
        return None
    first, second = (findings.values(setting, system, measure) for system in (one, other))
    by_seed = {seed: first[seed] - second[seed] for seed in first.keys() & second.keys()}
    names = f"{one.relaxation} and {other.relaxation}"
    if one.relaxation == other.relaxation:
        names = one.relaxation
    return Difference(f"{measure} of {names}, {words(setting)}", compared, by_seed)
