"""Options that are one of a few names, refused in words when they are none of them."""

from __future__ import annotations

from typing import Any, get_args

from residuum.errors import DataError, suggest


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
