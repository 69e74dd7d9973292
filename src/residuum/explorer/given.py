"""Fields of a request, checked: text, numbers and names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from residuum.errors import ResiduumError, shown
from residuum.explorer.limits import MOST_RELAXATIONS


def read_text(given: Mapping[str, Any], name: str, most: int) -> str:
    """Return a text of a request."""
    value = given.get(name)
    if not isinstance(value, str):
        raise ResiduumError(f"{name}: expected text, got {shown(value)}; send text")
    if len(value) > most:
        raise ResiduumError(
            f"{name}: expected at most {most:,} characters, got {len(value):,}; shorten it"
        )
    return value


def read_number(given: Mapping[str, Any], name: str, low: float, high: float) -> float:
    """Return a number of a request."""
    return check_number(given.get(name), name, low, high)


def check_number(value: object, name: str, low: float, high: float) -> float:
    """Return a value that is a number between two bounds."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:  # type: ignore[operator]
        raise ResiduumError(
            f"{name}: expected a number from {low:g} to {high:g}, got {shown(value)}; change it"
        )
    return float(value)  # type: ignore[arg-type]


def read_integer(given: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """Return an integer of a request."""
    value = read_number(given, name, low, high)
    if not value.is_integer():
        raise ResiduumError(f"{name}: expected an integer, got {value:g}; round it")
    return int(value)


def read_choice(given: Mapping[str, Any], name: str, among: Sequence[str]) -> str:
    """Return a word of a request that is one of several."""
    value = given.get(name)
    if not isinstance(value, str) or value not in among:
        raise ResiduumError(
            f"{name}: expected one of {', '.join(among)}, got {shown(value)}; choose one of them"
        )
    return value


def read_list(given: Mapping[str, Any], name: str, most: int) -> list[Any]:
    """Return a list of a request."""
    value = given.get(name)
    if not isinstance(value, list) or len(value) > most:
        found = f"{len(value):,}" if isinstance(value, list) else shown(value)
        raise ResiduumError(f"{name}: expected a list of at most {most:,}, got {found}")
    return value


def read_names(given: Mapping[str, Any]) -> list[str]:
    """Return the names of the relaxations in a request."""
    names = read_list(given, "relaxations", MOST_RELAXATIONS)
    return [read_text({"relaxation": name}, "relaxation", 100) for name in names]


def as_json_number(value: float) -> float | str | None:
    """Return a number as JSON can hold it: infinities are text, and NaN is nothing."""
    number = float(value)
    if math.isfinite(number):
        return number
    return None if math.isnan(number) else "∞" if number > 0 else "-∞"
