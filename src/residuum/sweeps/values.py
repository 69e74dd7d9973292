"""Values of a sweep file, held against the types that settings have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from residuum.errors import ResiduumError, suggest
from residuum.study.common_settings import check_choice

_WORDS: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    dict: "a table",
    list: "a list",
}


class SweepError(ResiduumError):
    """A sweep file that cannot be run, with the key path of what is wrong."""


def check_known(path: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that nobody knows."""
    known = list(known)
    for name in names:
        if name not in known:
            where = f"{path}.{name}" if path else name
            raise SweepError(
                f"{where}: expected one of {', '.join(known)}, got {name!r}.{suggest(name, known)}"
            )


def typed(path: str, value: Any, hint: Any) -> Any:
    """Return a value as what it should be, or refuse it.

    >>> typed("space.weight", 1, float)
    1.0
    >>> typed("trials", "many", int)
    Traceback (most recent call last):
    residuum.sweeps.values.SweepError: trials: expected a whole number, got 'many'
    """
    if get_origin(hint) is Literal:
        try:
            check_choice(path, value, hint)
        except ResiduumError as error:
            raise SweepError(str(error)) from None
        return value
    if get_origin(hint) in (Union, UnionType):  # TOML has no None
        [hint] = [one for one in get_args(hint) if one is not NoneType]
    is_one = isinstance(value, hint)
    if hint is float:
        is_one = isinstance(value, int | float) and math.isfinite(value)
    if not is_one or (isinstance(value, bool) and hint is not bool):
        raise SweepError(f"{path}: expected {_WORDS[hint]}, got {value!r}")
    return float(value) if hint is float else value


def typed_list(path: str, values: Any, hint: Any) -> tuple[Any, ...]:
    """Return a list of different values of a type, at least one, or refuse it."""
    values = typed(path, values, list)
    if not values:
        raise SweepError(f"{path}: expected at least one value, got an empty list; add some")
    found = tuple(typed(f"{path}[{place}]", value, hint) for place, value in enumerate(values))
    for place, value in enumerate(found):
        if value in found[:place]:
            raise SweepError(f"{path}[{place}]: {value!r} stands there twice; remove one")
    return found


def is_number(hint: Any) -> bool:
    """Return whether values of a type can be a range."""
    return hint in (int, float) or bool({int, float} & set(get_args(hint)))
