"""Runs with other settings than those of the tables: what they show by being different."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from residuum.results import Record, welch_t_test
from residuum.study.claim_rules import Ranking
from residuum.study.deciding import Decision, by_one_test, decided, difference_of, mean_of
from residuum.study.findings import Findings, SettingT, Values

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
    findings: Findings[Any, Any],
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
