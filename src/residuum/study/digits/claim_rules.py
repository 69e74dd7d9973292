"""What claims about digits are about, and rules that need only the runs of the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

from residuum.results import Record
from residuum.study.decisions import (
    Decision,
    by_gains,
    by_variances,
    decided,
    difference,
    mean_of,
    mean_samples,
)
from residuum.study.digits.findings import Findings, Setting, System
from residuum.study.digits.settings import PAPER_BY_PROTOCOL, STUDY

SIZES: Final = (1_000, 5_000, 25_000)
"""The sizes of DIGIT and of PAIR in the paper."""


class About(NamedTuple):
    """What a claim is about; a field that a claim leaves out means all that the paper has."""

    protocol: str = "joint"
    better: Sequence[str] = ()
    worse: Sequence[str] = ()
    measures: Sequence[str] = ()
    pair_sizes: Sequence[int] = SIZES
    relaxation: str = ""

    @property
    def settings(self) -> list[Setting]:
        """The settings of the paper with these sizes of PAIR."""
        return [
            Setting("mnist", "paper", digit_size, pair_size)
            for pair_size, digit_size in product(self.pair_sizes, SIZES)
        ]

    @property
    def decimals(self) -> int:
        """Decimals of a percentage, as many as the paper prints."""
        return 1

    @property
    def main_measure(self) -> tuple[str, str]:
        """The accuracy of Digit, in words and in records."""
        return "Digit", "digit_accuracy"

    def system(self, relaxation: str) -> System:
        """Return the system with a relaxation and the protocol of the claim."""
        return System(self.protocol, relaxation)

    def words(self, setting: Setting) -> str:
        """Return a setting in words."""
        return f"DIGIT {setting.digit_size:,}, PAIR {setting.pair_size:,}"

    def setting_of(self, record: Record) -> Setting:
        """Return the setting of a run."""
        known: Any = record.configuration
        return Setting(*(known[name] for name in Setting._fields))

    def dev_score(self, record: Record) -> float:
        """Return the best score of a joint run on DEV; 0 if it diverged or had no usable Digit."""
        return 0.0 if record.diverged else max(0.0, *record.curves["joint: dev/score"].values)

    def without_warm_up(self, records: Iterable[Record]) -> list[Record]:
        """Return the measured joint runs of `relaxation` that have no warm-up."""
        return measured_runs(records, relaxation=self.relaxation, warm_up=0)

    def is_comparable(self, _record: Record) -> bool:
        """Return True: every measured run may be compared with those of the tables."""
        return True

    def with_rules(self, records: Iterable[Record], relaxation: str) -> list[Record]:
        """Return the joint runs of a relaxation on MNIST, measured or not."""
        wanted = {"relaxation": relaxation, "images": "mnist", "protocol": "joint"}
        return [record for record in records if _has(record, wanted)]


def measured_runs(records: Iterable[Record], **where: object) -> list[Record]:
    """Return the measured runs on MNIST with these settings; joint unless `protocol` is given."""
    wanted = {"images": "mnist", "pair_pool": "paper", "protocol": "joint", **where}
    return [record for record in records if record.study == STUDY and _has(record, wanted)]


def _has(record: Record, wanted: Mapping[str, object]) -> bool:
    return all(record.configuration[name] == value for name, value in wanted.items())


def pipeline_outperforms_joint(
    findings: Findings, _records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a pipeline is better than joint learning, with every relaxation."""
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
    findings: Findings, _records: Sequence[Record], about: About
) -> Decision:
    """Decide whether the better relaxations are further ahead where DIGIT is smallest."""
    gains = []
    for size in (SIZES[0], SIZES[-1]):
        setting = Setting("mnist", "paper", size, about.pair_sizes[0])
        each = [
            difference(findings, setting, measure, System("joint", one), System("joint", other), "")
            for measure in about.measures
            for one, other in product(about.better, about.worse)
        ]
        gains.append(mean_samples([found for found in each if found]))
    few, many = gains
    found = by_gains(few, many, (f"with {SIZES[0]:,} labels", f"with {SIZES[-1]:,}"))
    missing = "missing: two seeds of every relaxation at both sizes of DIGIT"
    return found or Decision("open", missing)


def varies_more(findings: Findings, _records: Sequence[Record], about: About) -> Decision:
    """Decide whether the worse relaxations vary more over seeds, by an F-test over all settings."""
    samples = [
        [
            _means_by_seed(findings, setting, System(about.protocol, name), about.measures)
            for setting in about.settings
            for name in names
        ]
        for names in (about.worse, about.better)
    ]
    worse, better = ", ".join(about.worse), ", ".join(about.better)
    return by_variances(samples[0], samples[1], f"{worse} vary", better)


def varies_more_with_less_data(
    findings: Findings, _records: Sequence[Record], about: About
) -> Decision:
    """Decide whether seeds vary more where DIGIT or PAIR is smallest."""
    scarce: list[list[float]] = []
    ample: list[list[float]] = []
    for setting, name in product(about.settings, PAPER_BY_PROTOCOL["joint"]):
        is_scarce = SIZES[0] in (setting.digit_size, setting.pair_size)
        system = System(about.protocol, name)
        (scarce if is_scarce else ample).append(
            _means_by_seed(findings, setting, system, about.measures)
        )
    return by_variances(scarce, ample, "with 1,000 labels or pairs they vary", "with more")


def _means_by_seed(
    findings: Findings, setting: Setting, system: System, measures: Sequence[str]
) -> list[float]:
    """Return the mean of some measures for each run.

    Measures of one run go up and down together. As samples of their own they would count each run
    several times, and a test of deviations would be too sure.
    """
    columns = [findings.values(setting, system, measure).values() for measure in measures]
    return [mean_of(row) for row in zip(*columns, strict=True)]
