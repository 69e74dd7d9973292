"""Which runs a rule looks at, beside those of the tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from residuum.results import Record
from residuum.study.ablations import alike
from residuum.study.digits.findings import Setting
from residuum.study.digits.settings import STUDY
from residuum.study.findings import Values


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
