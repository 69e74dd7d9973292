"""How claims of the paper are decided: each rule is a function of records and of what is claimed.

A rule says `confirmed` or `refuted` where the records show it at the 5% level, else `open`; what
it saw stands beside it in numbers. All are about MNIST with pairs as the paper says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

from residuum.results import Record, paired_t_test
from residuum.study.ablations import alike, are_less_sensitive, are_worse, over_weights
from residuum.study.claim_rules import Rule, gives_the_same, outperforms
from residuum.study.deciding import (
    Decision,
    by_gains,
    by_one_test,
    by_variances,
    decided,
    difference,
    difference_of,
    mean_by_seed,
    mean_of,
)
from residuum.study.digits.findings import Findings, Setting, System
from residuum.study.digits.planning import PAPER
from residuum.study.digits.settings import STUDY
from residuum.study.findings import Values

SIZES: Final = (1_000, 5_000, 25_000)
CHANCE: Final = 20.0
"""Percent; a Digit that is right less often learnt nothing: constant answers reach 11."""


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


def is_worse_without_warm_up(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a relaxation without its warm-up is less accurate than with it."""
    without = _alike(records, relaxation=about.relaxation, warm_up=0)
    return are_worse(
        findings, without, about, [about.relaxation], "runs of s-godel without a warm-up"
    )


def is_worst_without_warm_up(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a relaxation without its warm-up is less accurate than every other."""
    without = _alike(records, relaxation=about.relaxation, warm_up=0)
    others = [name for name in PAPER["joint"] if name != about.relaxation]
    return are_worse(findings, without, about, others, "runs of s-godel without a warm-up")


def digit_decays_unless_frozen(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether Digit, if it is not frozen after the warm-up, gets worse on DEV."""
    del findings
    before, after = [], []
    for record in _of_joint(records, relaxation=about.relaxation, freeze=False):
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
        f"Digit on DEV: {mean_of(before):.1f}% after the warm-up, {mean_of(after):.1f}% at the "
        f"end, in {len(before)} runs",
    )


def warm_up_reaches_a_share(
    findings: Findings, records: Sequence[Record], about: About
) -> Decision:
    """Decide whether a warm-up reaches 40% of what the operators come to: from 30 to 50 here."""
    del findings
    shares = []
    for record in _of_joint(records, relaxation=about.relaxation):
        share = _share_of_warm_up(record)
        if share is not None:
            shares.append(100 * share)
    if not shares:
        return Decision("open", "missing: runs that are judged where their warm-up ends")
    mean = mean_of(shares)
    return Decision(
        "confirmed" if 30 <= mean <= 50 else "refuted",
        f"the warm-up reaches {mean:.0f}% of the coherence on DEV of the states chosen, from "
        f"{min(shares):.0f}% to {max(shares):.0f}% in {len(shares)} runs",
    )


def learns_nothing(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether Digit stays at chance under a relaxation."""
    del findings
    found = [
        record.measures["digit_accuracy"]
        for record in _of_joint(records, relaxation=about.relaxation, warm_up=0)
    ]
    if not found:
        return Decision("open", f"missing: runs of {about.relaxation}")
    evidence = f"Digit from {min(found):.1f}% to {max(found):.1f}% in {len(found)} runs"
    return Decision("confirmed" if max(found) <= CHANCE else "refuted", evidence)


def weight_matters(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether rules that weigh as much as labels do worse than with the weight chosen."""
    alike: dict[Setting, dict[str, Values]] = defaultdict(dict)
    for name in PAPER["joint"]:
        for setting, values in _alike(records, relaxation=name, weight=1).items():
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
        name: over_weights(_with_weights(records, name), _dev_score)
        for name in (*about.better, *about.worse)
    }
    return are_less_sensitive(scores, about)


def restarts_vary_less(findings: Findings, records: Sequence[Record], about: About) -> Decision:
    """Decide whether seeds vary less with warm restarts, other settings being equal."""
    del findings
    found: dict[object, dict[object, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in _of_joint(records):
        known = dict(record.configuration)
        schedule = known.pop("schedule")
        rest = tuple(value for name, value in known.items() if name not in ("seed", "period"))
        found[rest][schedule].append(record.measures[about.measures[0]])
    both = [group for group in found.values() if "restarts" in group and len(group) > 1]
    without = [sample for group in both for name, sample in group.items() if name != "restarts"]
    with_restarts = [group["restarts"] for group in both]
    return by_variances(without, with_restarts, "without restarts they vary", "with them")


RULES: Final[Mapping[str, Rule[Findings, About]]] = {
    rule.__name__: rule
    for rule in (
        outperforms, pipeline_outperforms_joint, gains_more_with_fewer_labels, gives_the_same,
        varies_more, varies_more_with_less_data, is_worse_without_warm_up,
        is_worst_without_warm_up, digit_decays_unless_frozen, warm_up_reaches_a_share,
        learns_nothing, weight_matters, is_less_sensitive_to_weight, restarts_vary_less,
    )
}  # fmt: skip


def _of_joint(records: Iterable[Record], **where: object) -> list[Record]:
    """Return measured joint runs on MNIST whose settings have these values."""
    wanted = {"images": "mnist", "pair_pool": "paper", "protocol": "joint", **where}
    return [
        record
        for record in records
        if record.study == STUDY
        and all(record.configuration[name] == value for name, value in wanted.items())
    ]


def _alike(records: Iterable[Record], **where: object) -> dict[Setting, dict[str, Values]]:
    """Return the measures by seed of runs with these values, by setting."""

    def setting_of(record: Record) -> Setting:
        known: Any = record.configuration
        return Setting(*(known[name] for name in Setting._fields))

    return alike(_of_joint(records, **where), setting_of, _dev_score)


def _share_of_warm_up(record: Record) -> float | None:
    """Return the coherence on DEV where the warm-up ended, over that of the state chosen."""
    end: Any = record.configuration["warm_up"]
    [chosen] = record.curves["joint: selected"].values
    curves = [record.curves[f"joint: dev/{name}_coherence"] for name in ("sum", "product")]
    epochs = list(curves[0].epochs)
    if not end or end not in epochs or chosen not in epochs:
        return None
    before, after = (
        sum(curve.values[epochs.index(int(epoch))] for curve in curves) for epoch in (end, chosen)
    )
    return before / after


def _with_weights(records: Iterable[Record], relaxation: str) -> list[Record]:
    """Return joint runs on MNIST, measured or not."""
    wanted = {"relaxation": relaxation, "images": "mnist", "protocol": "joint"}
    return [
        record
        for record in records
        if all(record.configuration[name] == value for name, value in wanted.items())
    ]


def _dev_score(record: Record) -> float:
    """Return the best score on DEV; a run whose Digit was never usable has 0."""
    return max(0.0, *record.curves["joint: dev/score"].values)
