"""Rules that decide claims of every study.

A rule is a function of the runs in the tables, of all records, and of what the claim is about. Its
name is the value of `rule` in the study's file of claims.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from statistics import stdev
from typing import Any, Final, Protocol, TypeVar

from residuum.results import Record, welch_t_test
from residuum.study.broken_runs import value_of
from residuum.study.common_settings import PAPER
from residuum.study.decisions import (
    Decision,
    by_one_test,
    decided,
    difference,
    difference_of,
    mean_of,
)
from residuum.study.grouped_runs import GroupedRuns, SettingT, Values

FindingsT = TypeVar("FindingsT", bound=GroupedRuns[Any, Any])
AboutT = TypeVar("AboutT")

Rule = Callable[[FindingsT, Sequence[Record], AboutT], Decision]

CHANCE: Final = 20.0
"""Percent. A measure up to this is chance: one answer for all examples reaches 11 for Digit, and
an F1 of 13.4."""


class Subject(Protocol):
    """What a claim is about, as far as the rules of this file ask."""

    @property
    def better(self) -> Sequence[str]:
        """The relaxations that the claim says are better."""

    @property
    def worse(self) -> Sequence[str]:
        """The relaxations that the claim says are worse."""

    @property
    def relaxation(self) -> str:
        """The relaxation of a claim about a single one."""

    @property
    def measures(self) -> Sequence[str]:
        """The measures that are compared."""

    @property
    def settings(self) -> Sequence[Any]:
        """The settings in which systems are compared."""

    @property
    def decimals(self) -> int:
        """Decimals of a percentage in the evidence."""

    @property
    def main_measure(self) -> tuple[str, str]:
        """The measure that shows whether anything was learnt: its name in words, and in records."""

    def system(self, relaxation: str) -> Any:
        """Return the system with a relaxation."""

    def words(self, setting: Any) -> str:
        """Return a setting in words."""

    def setting_of(self, record: Record) -> Any:
        """Return the setting of a run."""

    def dev_score(self, record: Record) -> float:
        """Return the best score of a run on DEV."""

    def without_warm_up(self, records: Iterable[Record]) -> list[Record]:
        """Return the measured runs of `relaxation` that have no warm-up."""

    def is_comparable(self, record: Record) -> bool:
        """Return whether a run without a warm-up may be compared with runs of the tables."""

    def with_rules(self, records: Iterable[Record], relaxation: str) -> list[Record]:
        """Return the runs of a relaxation that learnt rules, measured or not."""


def outperforms(
    findings: GroupedRuns[Any, Any], _records: Sequence[Record], about: Subject
) -> Decision:
    """Decide whether each better relaxation beats each worse one in every setting."""
    return decided([
        difference(
            findings, setting, measure, about.system(one), about.system(other),
            f"{measure} of {one} and {other}, {about.words(setting)}",
        )
        for setting in about.settings
        for measure in about.measures
        for one, other in product(about.better, about.worse)
    ], about.decimals)  # fmt: skip


def gives_the_same(
    findings: GroupedRuns[Any, Any], _records: Sequence[Record], about: Subject
) -> Decision:
    """Decide whether two relaxations have the same figures, seed by seed.

    Figures need not be equal, but must differ by less than seeds do: on a GPU the same run gives
    slightly different figures beside other runs, because sums are taken in another order.
    """
    (one,), (other,) = about.better, about.worse
    gaps: list[float] = []
    is_same = True
    for setting, measure in product(about.settings, about.measures):
        first, second = (
            findings.values(setting, about.system(name), measure) for name in (one, other)
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


def is_worse_without_warm_up(
    findings: GroupedRuns[Any, Any], records: Sequence[Record], about: Subject
) -> Decision:
    """Decide whether a relaxation without its warm-up is worse than with it."""
    return _are_worse_without_warm_up(findings, records, about, [about.relaxation])


def is_worst_without_warm_up(
    findings: GroupedRuns[Any, Any], records: Sequence[Record], about: Subject
) -> Decision:
    """Decide whether a relaxation without its warm-up is worse than every other relaxation."""
    others = [name for name in PAPER if name != about.relaxation]
    return _are_worse_without_warm_up(findings, records, about, others)


def _are_worse_without_warm_up(
    findings: GroupedRuns[Any, Any], records: Sequence[Record], about: Subject, names: Sequence[str]
) -> Decision:
    """Compare runs without a warm-up with the runs of some relaxations in the tables."""
    runs = [run for run in about.without_warm_up(records) if about.is_comparable(run)]
    ablated = best_kinds(runs, about.measures, about.setting_of, about.dev_score)
    differences = [
        difference_of(f"{measure} of {name}, {about.words(setting)}", usual, values[measure])
        for setting, values in ablated.items()
        for measure in about.measures
        for name in names
        if (usual := findings.values(setting, about.system(name), measure))
    ]
    if not differences:
        return Decision("open", f"missing: runs of {about.relaxation} without a warm-up")
    return decided(differences, about.decimals)


def learns_nothing(
    _findings: GroupedRuns[Any, Any], records: Sequence[Record], about: Subject
) -> Decision:
    """Decide whether the main measure stays at chance under a relaxation."""
    words, measure = about.main_measure
    found = [value_of(record, measure) for record in about.without_warm_up(records)]
    if not found:
        return Decision("open", f"missing: runs of {about.relaxation}")
    evidence = f"{words} from {min(found):.1f}% to {max(found):.1f}% in {len(found)} runs"
    return Decision("confirmed" if max(found) <= CHANCE else "refuted", evidence)


def is_less_sensitive_to_weight(
    _findings: GroupedRuns[Any, Any], records: Sequence[Record], about: Subject
) -> Decision:
    """Decide whether scores on DEV depend less on the weight with the better relaxations.

    Only runs that differ in nothing but the weight are compared, with at least three weights.
    """
    scores = {
        name: over_weights(about.with_rules(records, name), about.dev_score)
        for name in (*about.better, *about.worse)
    }
    lacking = [name for name, groups in scores.items() if len(groups) < 2]
    if lacking:
        return Decision(
            "open", f"missing: runs with three weights, all else equal, of {', '.join(lacking)}"
        )
    steady, touchy = (
        [max(group.values()) - min(group.values()) for name in names for group in scores[name]]
        for names in (about.better, about.worse)
    )
    return by_one_test(
        welch_t_test(touchy, steady),
        f"scores range over {mean_of(steady):.1f} points with {', '.join(about.better)}, over "
        f"{mean_of(touchy):.1f} with {', '.join(about.worse)}",
        [dict(enumerate(touchy)), dict(enumerate(-one for one in steady))],
        "searches for a weight on either side",
    )


def best_kinds(
    records: Iterable[Record],
    measures: Iterable[str],
    setting_of: Callable[[Record], SettingT],
    score: Callable[[Record], float],
) -> dict[SettingT, dict[str, Values]]:
    """Return some measures of runs, by setting, measure and seed.

    Runs of one kind differ in nothing but the seed. If a setting has several kinds, the kind with
    the best mean score counts.
    """
    kinds: dict[SettingT, dict[object, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        kind = tuple(entry for entry in record.configuration.items() if entry[0] != "seed")
        kinds[setting_of(record)][kind].append(record)
    found = {}
    for setting, groups in kinds.items():
        best = max(groups.values(), key=lambda group: mean_of([score(run) for run in group]))
        found[setting] = {
            measure: {int(str(run.configuration["seed"])): value_of(run, measure) for run in best}
            for measure in measures
        }
    return found


def over_weights(
    records: Iterable[Record], score: Callable[[Record], float]
) -> list[dict[float, float]]:
    """Return the scores by weight of runs that differ in nothing else, if there are three or more.

    Each entry of the list is one such group of runs.
    """
    groups: dict[object, dict[float, float]] = defaultdict(dict)
    for record in records:
        weight: Any = record.configuration["weight"]
        groups[tuple(but_weight(record).items())][weight] = score(record)
    return [group for group in groups.values() if len(group) > 2]


def but_weight(record: Record) -> dict[str, Any]:
    """Return the settings of a run without the weight of the rules.

    A warm-up weight equal to the weight is left out too, and so is that of a missing warm-up.
    """
    known: dict[str, Any] = dict(record.configuration)
    weight = known.pop("weight")
    if known["warm_up_weight"] == weight or not known["warm_up"]:
        known["warm_up_weight"] = None
    return known
