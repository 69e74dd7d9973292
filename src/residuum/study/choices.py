"""Settings that make no sense, refused in words."""

from __future__ import annotations

import math
from typing import Any, get_args

from residuum.errors import DataError, ResiduumError, suggest


def check_choice(what: str, chosen: object, options: Any) -> None:
    """Raise DataError unless what was chosen is a member of a Literal type.

    >>> from typing import Literal
    >>> check_choice("side", "lift", Literal["left", "right"])
    Traceback (most recent call last):
    residuum.errors.DataError: side: expected left or right, got 'lift'. Did you mean `left`?
    """
    known = get_args(options)
    if chosen not in known:
        *others, last = known
        expected = f"{', '.join(others)} or {last}"
        raise DataError(
            f"{what}: expected {expected}, got {chosen!r}.{suggest(str(chosen), known)}"
        )


def check_weight(what: str, weight: float) -> None:
    """Raise unless rules can have this weight."""
    if not 0 <= weight < math.inf:
        raise ResiduumError(
            f"{what}: expected a number from 0 on, got {weight}; "
            "a negative one would reward what breaks the rules"
        )


def check_fraction(fraction: float) -> None:
    """Raise unless this is a share of the sentences."""
    if not 0 < fraction <= 1:
        raise DataError(f"fraction: expected a share of the sentences, up to 1, got {fraction!r}")


def check_seed(seed: int) -> None:
    """Raise unless random numbers can be made of a seed."""
    if not 0 <= seed < 2**63:  # they are hashes of integers of 64 bits, with a sign
        raise ResiduumError(f"seed: expected a whole number from 0 to 2^63 - 1, got {seed}")
