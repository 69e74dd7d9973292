"""Doors: packages whose files load when they are first used, so that a program loads what it uses.

Such a package imports its files under `TYPE_CHECKING` as well, where type checkers find them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def files_of(package: str) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package, which loads a file of the package by its name."""

    def find(name: str) -> ModuleType:
        if name.startswith("_"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{package}.{name}":
                raise
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return find


def names_in(package: str, files: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, which loads the file that `files` gives for a name."""

    def find(name: str) -> Any:
        if name not in files:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(files[name]), name)

    return find
