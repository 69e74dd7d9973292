"""Rules for claims of which protocol is better, and where a relaxation gains most."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from residuum.results import Record
from residuum.study.deciding import Decision, by_gains, decided, difference, mean_by_seed
from residuum.study.digits.claim_rules.about import SIZES, About
from residuum.study.digits.findings import Findings, Setting, System
from residuum.study.digits.planning import PAPER


def pipeline_outperforms_joint(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a pipeline is better than joint learning, with every relaxation."""
    del records
    return decided([
        difference(
            findings, setting, measure, System("pipeline", name), System("joint", name),
            f"{measure} of {name}, {about.words(setting)}",
        )
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
            difference(findings, setting, measure, System("joint", one), System("joint", other), "")
            for measure in about.measures
            for one, other in product(about.better, about.worse)
        ]
        gains.append(mean_by_seed([found for found in each if found]))
    few, many = gains
    found = by_gains(few, many, (f"with {SIZES[0]:,} labels", f"with {SIZES[-1]:,}"))
    missing = "missing: two seeds of every relaxation at both sizes of DIGIT"
    return found or Decision("open", missing)
