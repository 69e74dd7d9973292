"""Rules that decide claims about digits by the runs of the tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

from residuum.results import Record
from residuum.study.decisions import (
    Decision,
    by_gains,
    by_variances,
    decided,
    difference,
    mean_by_seed,
)
from residuum.study.digits.findings import Findings, Setting, System
from residuum.study.digits.settings import PAPER_BY_PROTOCOL, STUDY
from residuum.study.grouped_runs import Values
from residuum.study.shared_rules import alike

SIZES: Final = (1_000, 5_000, 25_000)


class About(NamedTuple):
    """What a claim is about; what it does not name is everything of the paper's."""

    protocol: str = "joint"
    better: Sequence[str] = ()
    worse: Sequence[str] = ()
    measures: Sequence[str] = ()
    pair_sizes: Sequence[int] = SIZES
    relaxation: str = ""

    @property
    def settings(self) -> list[Setting]:
        """The settings in question."""
        return [
            Setting("mnist", "paper", digit_size, pair_size)
            for pair_size, digit_size in product(self.pair_sizes, SIZES)
        ]

    @property
    def decimals(self) -> int:
        """As many as were printed."""
        return 1

    def system(self, relaxation: str) -> System:
        """Return the system that stands for a relaxation."""
        return System(self.protocol, relaxation)

    def words(self, setting: Setting) -> str:
        """Name a setting."""
        return f"DIGIT {setting.digit_size:,}, PAIR {setting.pair_size:,}"


def measured_runs(records: Iterable[Record], **where: object) -> list[Record]:
    """Return measured runs on MNIST, joint unless said otherwise, whose settings are these."""
    wanted = {"images": "mnist", "pair_pool": "paper", "protocol": "joint", **where}
    return [
        record
        for record in records
        if record.study == STUDY
        and all(record.configuration[name] == value for name, value in wanted.items())
    ]


def best_alike(records: Iterable[Record], **where: object) -> dict[Setting, dict[str, Values]]:
    """Return the measures by seed of runs with these values, by setting."""

    def setting_of(record: Record) -> Setting:
        known: Any = record.configuration
        return Setting(*(known[name] for name in Setting._fields))

    return alike(measured_runs(records, **where), setting_of, dev_score)


def with_weights(records: Iterable[Record], relaxation: str) -> list[Record]:
    """Return joint runs on MNIST, measured or not."""
    wanted = {"relaxation": relaxation, "images": "mnist", "protocol": "joint"}
    return [
        record
        for record in records
        if all(record.configuration[name] == value for name, value in wanted.items())
    ]


def dev_score(record: Record) -> float:
    """Return the best score on DEV of a joint run; one whose Digit was never usable has 0."""
    return max(0.0, *record.curves["joint: dev/score"].values)


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
        for name in PAPER_BY_PROTOCOL["pipeline"]
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
    for setting, measure, name in product(
        about.settings, about.measures, PAPER_BY_PROTOCOL["joint"]
    ):
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
