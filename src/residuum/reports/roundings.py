"""Results as the short figures that fit into a picture."""

from __future__ import annotations

from residuum.analysis import Consistency


def rounded(result: Consistency) -> str:
    """Return three decimals where they are certain, otherwise `≈` and two.

    A whole number that is known exactly has none: 1 is truth preserved, 1.000 nearly so.
    """
    if result.exact in (0, 1):
        return str(result.exact)
    low, high = f"{result.low:.3f}", f"{result.high:.3f}"
    return low if low == high else f"≈{result.value:.2f}"
