"""What a run has reached on DEV."""

from __future__ import annotations

from residuum.results import Record


def dev_value(record: Record, measure: str) -> float:
    """Return a measure on DEV of the states that a run ended with; 0 if none was usable.

    Of a run with several stages it is the mean over those that have the measure.
    """
    found = []
    for name, curve in record.curves.items():
        stage, measured, tail = name.rpartition(f"dev/{measure}")
        if not measured or tail:
            continue
        [selected] = record.curves[f"{stage}selected"].values
        is_usable = selected in curve.epochs
        found.append(curve.values[curve.epochs.index(int(selected))] if is_usable else 0.0)
    return sum(found) / len(found)
