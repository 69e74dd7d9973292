"""The cache on disk: one small JSON file for each consistency that took long.

Files need no lock, which some network folders do not support, and a damaged file costs one result
only. The name of a file is a digest of the arguments and of this package's source. A checksum
covers the name and the result: a file that was damaged, edited or moved counts as absent. A file
is written beside its place and then moved there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Final

from residuum.analysis.closed_forms.numbers import ClosedForm
from residuum.analysis.results import Consistency, exact_bounds
from residuum.files import replacing, user_folder
from residuum.logic import Formula, render
from residuum.relaxations import Relaxation, is_built_in

SCHEMA: Final = 2
"""The version of the file format. Raise it when fields, or their meaning, change."""

WORTH_KEEPING: Final = 0.01
"""A result that took fewer seconds than this is not kept."""

LARGEST_FILE: Final = 2**20
"""The most bytes of a file that is written or read."""


@dataclass(frozen=True)
class CacheFile:
    """The file for one result: a digest of its arguments, its path, the seconds allowed now."""

    key: str
    path: Path
    seconds: float

    def read(self, *, narrowest: float) -> Consistency | None:
        """Return the cached result, or None if there is none or a new one may be better.

        Exact values are final, and so are certified bounds `narrowest` apart, which are never made
        narrower. Any other result must have been allowed at least as many seconds.
        """
        try:
            with self.path.open("rb") as file:
                content = json.loads(file.read(LARGEST_FILE + 1))
            match content:
                case {"checksum": str(found), "record": {"allowed": float(allowed)} as record}:
                    result = _result(record) if found == _checksum(self.key, record) else None
                case _:
                    return None
        except (OSError, ValueError, RecursionError):
            return None
        if result is None or result.kind == "exact" or allowed >= self.seconds:
            return result
        is_narrow = result.kind == "certified" and result.high - result.low <= narrowest
        return result if is_narrow else None

    def write(self, result: Consistency) -> None:
        """Write a result that took long enough. If it cannot be written, do nothing."""
        if result.seconds < WORTH_KEEPING:
            return
        record = {**_record(result), "allowed": self.seconds}
        text = json.dumps({"checksum": _checksum(self.key, record), "record": record})
        if len(text) > LARGEST_FILE or _result(record) != result:
            return
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self.path) as file:
                file.write(text.encode("ascii"))


def find_cache_file(
    formula: Formula, relaxation: Relaxation, asked: Mapping[str, object], *, seconds: float
) -> CacheFile | None:
    """Return the cache file for these arguments, or None if the result cannot be cached.

    Results of a user's relaxation are not cached, because its name may mean another one next time.
    """
    folder = cache_folder()
    if folder is None or not is_built_in(relaxation):
        return None
    import residuum

    try:
        question = [SCHEMA, residuum.__version__, _code(), render(formula), relaxation.name, asked]
        key = _digest(json.dumps(question, sort_keys=True))
        allowed = float(seconds)
    except (OSError, TypeError, ValueError):  # a text that is too long, an argument of a wrong type
        return None
    return CacheFile(key, folder / "consistency" / key[:2] / f"{key[2:]}.json", allowed)


def cache_folder() -> Path | None:
    """Return the folder RESIDUUM_CACHE (None if empty), or that in the user's cache folder."""
    chosen = os.environ.get("RESIDUUM_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    return user_folder("cache")


@cache
def _code() -> str:
    """Return a digest of the source files that results depend on."""
    names = ("logic", "relaxations", "analysis")
    packages = [Path(__file__).parents[1] / name for name in names]
    files = [file for package in packages for file in sorted(package.rglob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _checksum(key: str, record: Mapping[str, object]) -> str:
    return _digest(key + json.dumps(record, sort_keys=True))


def _record(result: Consistency) -> dict[str, Any]:
    match result.exact:
        case ClosedForm() as form:
            exact: Any = form.as_json()
        case Fraction() as value:
            # Hexadecimal, because Python refuses to read long decimal integers.
            exact = [hex(value.numerator), hex(value.denominator)]
        case None:
            exact = None
    return {**vars(result), "exact": exact}


def _result(record: object) -> Consistency | None:
    """Return the result that a record holds, or None if the record is not valid."""
    match record:
        case {
            "value": float(value),
            "kind": "exact" | "certified" | "estimate" as kind,
            "exact": None | [str(), str()] | {"terms": list()} as kept,
            "low": float(low),
            "high": float(high),
            "method": str(method),
            "seconds": float(seconds),
            "recognised": None | str() as recognised,
            "note": str(note),
        }:
            exact = None if kept is None else _exact(kept)
        case _:
            return None
    is_ordered = 0 <= low <= value <= high <= 1 and 0 <= seconds < math.inf
    if exact is None:
        is_of_its_kind = kind != "exact"
    else:
        is_of_its_kind = kind == "exact" and (value, low, high) == (
            float(exact),
            *exact_bounds(exact),
        )
    if not (is_ordered and is_of_its_kind):
        return None
    return Consistency(value, kind, exact, low, high, method, seconds, recognised, note)


def _exact(kept: list[str] | dict[str, Any]) -> Fraction | ClosedForm:
    return ClosedForm.from_json(kept) if isinstance(kept, dict) else _fraction(*kept)


def _fraction(numerator: str, denominator: str) -> Fraction:
    top, bottom = int(numerator, 16), int(denominator, 16)
    if not 0 <= top <= bottom or bottom == 0:
        raise ValueError("expected a fraction between 0 and 1")
    return Fraction(top, bottom)
