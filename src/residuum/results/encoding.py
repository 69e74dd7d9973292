"""A record as one line of JSON, and back. Stores and archives keep records in this form.

Numbers that JSON lacks are the texts "NaN", "Infinity" and "-Infinity". Outcomes are packed (eight
Booleans to a byte), compressed, and written in base 64. If it is shorter, an array of Booleans is
written as its differences from an earlier array: coherence and accuracy agree wherever Digit is
right.

The last entry is a checksum of all others, which reveals damage. Lines of older versions have none;
they can be read, and their records are marked as not verified.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import reprlib
import textwrap
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, NoReturn, TypeVar

import numpy as np

from residuum.errors import RecordError
from residuum.results.records import MOST_OUTCOMES, Curve, Divergence, Outcomes, Record

CHECKSUM_LENGTH: Final = 16
"""Hexadecimal digits: 64 bits, so that one of 10¹⁹ damaged records passes as sound."""

LONGEST_REASON: Final = 400
"""The most characters of a message about a line. A damaged line may hold names of any length."""

_KEYS: Final = (
    "id", "study", "scheme", "configuration", "measures", "curves", "outcomes", "seconds",
    "environment",
)  # fmt: skip
_OPTIONAL: Final = ("diverged", "checksum")
_NUMBERS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_KINDS: Final = {dict: "an object", list: "a list", str: "text", int: "a whole number"}
Kind = TypeVar("Kind", bound="dict[str, Any] | list[Any] | str | int")


def to_line(record: Record) -> str:
    """Return a record as one line of ASCII, the same for equal records.

    A record that is not verified gets no checksum. With one it would be read as verified.
    """
    content: dict[str, Any] = {
        "id": record.id,
        "study": record.study,
        "scheme": record.scheme,
        "configuration": dict(record.configuration),
        "measures": {name: _written(value) for name, value in record.measures.items()},
        "curves": {
            name: {"epochs": curve.epochs, "values": [_written(value) for value in curve.values]}
            for name, curve in record.curves.items()
        },
        "outcomes": _all_packed(record.outcomes),
        "seconds": record.seconds,
        "environment": dict(record.environment),
    }
    if record.diverged:
        content["diverged"] = asdict(record.diverged)
    if record.is_verified:
        content["checksum"] = _checksum(content)
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def from_line(line: str | bytes) -> Record:
    """Return the record of a line; raise RecordError if it is damaged or no record."""
    try:
        content = _parsed(line)
        is_verified = "checksum" in content
        claimed = content.pop("checksum", None)
        if is_verified and claimed != _checksum(content):
            raise RecordError(
                "expected content that fits its checksum, found other content: damaged or edited"
            )
        record = _record(content, is_verified)
    except RecordError as error:
        reason = textwrap.shorten(str(error), LONGEST_REASON, placeholder=" …")
        raise RecordError(f"this is no record: {reason}") from None
    except RecursionError:
        raise RecordError("this is no record: lists or objects are nested too deeply") from None
    if record.id != content["id"]:
        raise RecordError(
            f"this is the record of another run: expected {reprlib.repr(content['id'])}, as the "
            f"line says, found {record.id}"
        )
    return record


def _parsed(line: str | bytes) -> dict[str, Any]:
    if not line.isascii():
        raise RecordError("expected text in ASCII, found other bytes")
    text = line.decode("ascii") if isinstance(line, bytes) else line
    try:
        content = json.loads(
            text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique
        )
    except json.JSONDecodeError as error:
        raise RecordError(
            f"expected a line of JSON, found a mistake in column {error.colno} ({error.msg})"
        ) from None
    except RecordError:
        raise
    except ValueError as error:  # an integer that is too long for Python
        raise RecordError(f"expected a line of JSON, found a long integer ({error})") from None
    entries: dict[str, Any] = _expect(content, dict, "the line")
    missing = [key for key in _KEYS if key not in entries]
    unknown = sorted(entries.keys() - {*_KEYS, *_OPTIONAL})
    if missing:
        raise RecordError(f"expected the keys {', '.join(_KEYS)}, found none of {missing}")
    if unknown:
        raise RecordError(
            f"expected the keys {', '.join((*_KEYS, *_OPTIONAL))}, found {reprlib.repr(unknown)} "
            "too"
        )
    return entries


def _record(content: dict[str, Any], is_verified: bool) -> Record:
    return Record(
        study=content["study"],
        scheme=content["scheme"],
        configuration=content["configuration"],
        measures={
            name: _read(value)
            for name, value in _expect(content["measures"], dict, "measures").items()
        },
        curves={
            name: _read_curve(curve, f"curves[{name!r}]")
            for name, curve in _expect(content["curves"], dict, "curves").items()
        },
        outcomes=_all_unpacked(_expect(content["outcomes"], dict, "outcomes")),
        seconds=content["seconds"],
        environment=content["environment"],
        is_verified=is_verified,
        diverged=_read_divergence(content["diverged"]) if "diverged" in content else None,
    )


def _checksum(content: Mapping[str, Any]) -> str:
    """Return a digest of the content. The order of keys and blanks between do not matter."""
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:CHECKSUM_LENGTH]


def _expect(value: object, kind: type[Kind], where: str) -> Kind:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RecordError(f"expected {_KINDS[kind]} as `{where}`, got {reprlib.repr(value)}")
    return value


def _written(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _read(value: float | str) -> float:
    if not isinstance(value, str):
        return value
    if value not in _NUMBERS:
        names = ", ".join(_NUMBERS)
        raise RecordError(f"expected a number or one of {names}, got {reprlib.repr(value)}")
    return _NUMBERS[value]


def _read_curve(value: object, where: str) -> Curve:
    curve = _expect(value, dict, where)
    epochs = _expect(curve.get("epochs"), list, f"{where}['epochs']")
    values = _expect(curve.get("values"), list, f"{where}['values']")
    return Curve(epochs, [_read(value) for value in values])


def _read_divergence(value: object) -> Divergence:
    content = _expect(value, dict, "diverged")
    if content.keys() != {"epoch", "not_finite"}:
        raise RecordError(
            "expected the keys epoch and not_finite in `diverged`, found "
            f"{reprlib.repr(sorted(content))}"
        )
    names = _expect(content["not_finite"], list, "diverged['not_finite']")
    return Divergence(content["epoch"], names)


def _all_packed(outcomes: Mapping[str, Outcomes]) -> dict[str, dict[str, Any]]:
    found = {}
    before: dict[str, Outcomes] = {}
    for name, array in outcomes.items():
        forms = [_packed(array)]
        if array.dtype == np.bool_:
            forms += [
                {**_packed(array ^ other), "kind": "differences", "from": other_name}
                for other_name, other in before.items()
                if len(other) == len(array)
            ]
            before[name] = array
        found[name] = min(forms, key=lambda form: len(json.dumps(form)))
    return found


def _all_unpacked(packed: Mapping[str, object]) -> dict[str, Outcomes]:
    found: dict[str, Outcomes] = {}
    room = MOST_OUTCOMES
    for name, value in packed.items():
        where = f"outcomes[{name!r}]"
        form = _expect(value, dict, where)
        array = _unpacked(form, room, where)
        if form["kind"] == "differences":
            other = found.get(_expect(form.get("from"), str, f"{where}['from']"))
            if other is None or other.dtype != np.bool_ or len(array) != len(other):
                raise RecordError(
                    f"expected `{where}['from']` to name an earlier array of as many Booleans, "
                    "found none"
                )
            array = array ^ other
        found[name] = array
        room -= len(array)
    return found


def _packed(array: Outcomes) -> dict[str, Any]:
    kind, content = ("bits", np.packbits(array)) if array.dtype == np.bool_ else ("bytes", array)
    data = base64.b64encode(zlib.compress(content.tobytes(), 9)).decode("ascii")
    return {"kind": kind, "count": len(array), "data": data}


def _unpacked(packed: dict[str, Any], room: int, where: str) -> Outcomes:
    """Return the outcomes of an array. Never more than `room` are decompressed."""
    kind = _expect(packed.get("kind"), str, f"{where}['kind']")
    count = _expect(packed.get("count"), int, f"{where}['count']")
    if not 0 <= count <= room:
        raise RecordError(
            f"expected from 0 to {MOST_OUTCOMES:,} outcomes in a record, found that `{where}` "
            f"says it has {reprlib.repr(count)}"
        )
    if kind not in ("bits", "differences", "bytes"):
        raise RecordError(
            f"expected bits, differences or bytes as `{where}['kind']`, got {reprlib.repr(kind)}"
        )
    text = _expect(packed.get("data"), str, f"{where}['data']")
    size = count if kind == "bytes" else (count + 7) // 8
    decompressor = zlib.decompressobj()
    try:
        content = decompressor.decompress(base64.b64decode(text, validate=True), size + 1)
    except (ValueError, zlib.error) as error:
        raise RecordError(f"`{where}` cannot be decompressed ({error})") from None
    if len(content) != size or not decompressor.eof or decompressor.unused_data:
        raise RecordError(f"expected `{where}` to have {count} examples, found another number")
    found = np.frombuffer(content, dtype=np.uint8)
    return found if kind == "bytes" else np.unpackbits(found, count=count).astype(np.bool_)


def _refuse(word: str) -> NoReturn:
    raise RecordError(f"expected a line of JSON, found {word}, which JSON does not have")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise RecordError(f"expected numbers that a float can hold, found {reprlib.repr(text)}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RecordError("expected each key of an object once, found one twice")
    return found
