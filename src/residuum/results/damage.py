"""Records that were damaged: which they are, and how to go on with the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from residuum.errors import RecordError

OnDamage: TypeAlias = Callable[[RecordError], object]
"""What is called with the error of each damaged record, as `print` or a list's `append`."""

MOST_NAMED: Final = 10


def refuse_damaged(damaged: Sequence[RecordError], advice: str) -> None:
    """Raise one error that names the damaged records and says what to do, if there are any."""
    if not damaged:
        return
    lines = [str(error) for error in damaged[:MOST_NAMED]]
    if len(damaged) > MOST_NAMED:
        lines.append(f"… and {len(damaged) - MOST_NAMED:,} more that are damaged")
    raise RecordError("\n".join([*lines, advice]))
