"""Damaged records: how they are reported, and how to read the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from residuum.errors import RecordError

OnDamage: TypeAlias = Callable[[RecordError], object]
"""A function that is called with the error of each damaged record, such as `print`."""

MOST_NAMED: Final = 10
"""The most damaged records that one error names."""


def refuse_damaged(damaged: Sequence[RecordError], advice: str) -> None:
    """Raise one error that names all damaged records, if there are any, and says what to do."""
    if not damaged:
        return
    lines = [str(error) for error in damaged[:MOST_NAMED]]
    if len(damaged) > MOST_NAMED:
        lines.append(f"… and {len(damaged) - MOST_NAMED:,} more that are damaged")
    raise RecordError("\n".join([*lines, advice]))
