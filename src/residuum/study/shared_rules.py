"""Rules that decide claims of any study."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from statistics import stdev
from typing import Any, Protocol, TypeVar

from residuum.results import Record, welch_t_test
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
"""A test of what is claimed: by the runs in the tables, and by all records where others matter."""


class Ranking(Protocol):
    """What a claim that compares relaxations is about."""

    @property
    def better(self) -> Sequence[str]:
        """Relaxations that are said to be better."""

    @property
    def worse(self) -> Sequence[str]:
        """Than these."""

    @property
    def measures(self) -> Sequence[str]:
        """By which measures."""

    @property
    def settings(self) -> Sequence[Any]:
        """In which settings."""

    @property
    def decimals(self) -> int:
        """How many decimals of a percentage matter."""

    def system(self, relaxation: str) -> Any:
        """Return the system that stands for a relaxation."""

    def words(self, setting: Any) -> str:
        """Name a setting."""


def outperforms(
    findings: GroupedRuns[Any, Any], _records: Sequence[Record], about: Ranking
) -> Decision:
    """Decide whether each of some relaxations is better than each of others, everywhere."""
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
    findings: GroupedRuns[Any, Any], _records: Sequence[Record], about: Ranking
) -> Decision:
    """Decide whether two relaxations have the same figures, seed by seed.

    On a GPU the same run gives other figures when it is trained beside other runs, as sums are
    taken in another order. So they need not be equal, only to differ by less than seeds do.
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


Score = Callable[[Record], float]
"""The best score of a run on DEV."""


def alike(
    records: Iterable[Record], setting_of: Callable[[Record], SettingT], score: Score
) -> dict[SettingT, dict[str, Values]]:
    """Return the measures of runs by seed, by setting.

    Of several kinds of runs in a setting, the kind with the best score on DEV counts.
    """
    kinds: dict[SettingT, dict[object, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        kind = tuple(value for name, value in record.configuration.items() if name != "seed")
        kinds[setting_of(record)][kind].append(record)
    found = {}
    for setting, groups in kinds.items():
        best = max(groups.values(), key=lambda group: mean_of([score(run) for run in group]))
        found[setting] = {
            measure: {
                int(str(run.configuration["seed"])): run.measures[measure]
                for run in best
                if measure in run.measures  # F1 of a kind of chunks that a run never met
            }
            for measure in best[0].measures
        }
    return found


def are_worse(
    findings: GroupedRuns[Any, Any],
    ablated: Mapping[Any, Mapping[str, Values]],
    about: Ranking,
    names: Sequence[str],
    what: str,
) -> Decision:
    """Decide whether runs that lack something are worse than those of some relaxations."""
    differences = [
        difference_of(f"{measure} of {name}, {about.words(setting)}", usual, values[measure])
        for setting, values in ablated.items()
        for measure in about.measures
        for name in names
        if (usual := findings.values(setting, about.system(name), measure))
    ]
    if not differences:
        return Decision("open", f"missing: {what}")
    return decided(differences, about.decimals)


def but_weight(record: Record) -> dict[str, Any]:
    """Return the settings of a run, but for the weight of the rules.

    A warm-up may have the weight of what comes after it.
    """
    known: dict[str, Any] = dict(record.configuration)
    weight = known.pop("weight")
    if known["warm_up_weight"] == weight or not known["warm_up"]:
        known["warm_up_weight"] = None
    return known


def over_weights(records: Iterable[Record], score: Score) -> list[dict[float, float]]:
    """Return the scores by weight of runs that are else equal, three weights at least."""
    groups: dict[object, dict[float, float]] = defaultdict(dict)
    for record in records:
        weight: Any = record.configuration["weight"]
        groups[tuple(but_weight(record).values())][weight] = score(record)
    return [group for group in groups.values() if len(group) > 2]


def are_less_sensitive(
    scores: Mapping[str, Sequence[Mapping[float, float]]], about: Ranking
) -> Decision:
    """Decide whether scores over weights range less with some relaxations than with others."""
    lacking = [name for name in (*about.better, *about.worse) if len(scores[name]) < 2]
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
    )
