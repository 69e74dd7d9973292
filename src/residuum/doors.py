"""Doors: packages whose files load when they are first used, so that a program loads what it needs.

A package with such a door imports the same names under `TYPE_CHECKING`, where type checkers find
them. Code inside writes `questions.coverage.coverage(…)`, and the file loads at the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def door(package: str, names: Mapping[str, str] | None = None) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package: it loads its files, and those that have some names."""
    files = names or {}

    def find(name: str) -> Any:
        if name in files:
            return getattr(import_module(files[name]), name)
        if not name.startswith("_"):
            try:
                return import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
