"""Which runs a rule looks at, beside those of the tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean
from typing import Any

from residuum.results import Record
from residuum.study.digits.findings import Setting, Values
from residuum.study.digits.settings import STUDY


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
    """Return the measures by seed of runs with these values, by setting.

    Of several kinds of runs in a setting, the kind with the best score on DEV counts.
    """
    kinds: dict[Setting, dict[object, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in measured_runs(records, **where):
        known: Any = record.configuration
        setting = Setting(*(known[name] for name in Setting._fields))
        kind = tuple(value for name, value in known.items() if name != "seed")
        kinds[setting][kind].append(record)
    found = {}
    for setting, groups in kinds.items():
        best = max(groups.values(), key=lambda group: fmean([dev_score(run) for run in group]))
        found[setting] = {
            measure: {int(str(run.configuration["seed"])): run.measures[measure] for run in best}
            for measure in best[0].measures
        }
    return found


def dev_score(record: Record) -> float:
    """Return the best score on DEV of a joint run; one whose Digit was never usable has 0."""
    return max(0.0, *record.curves["joint: dev/score"].values)
