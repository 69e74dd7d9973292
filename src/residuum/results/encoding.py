"""A record as one line of JSON, and back: the form in which stores and archives keep it.

Numbers that JSON has no way to write are the texts "NaN", "Infinity" and "-Infinity". Outcomes
are packed (eight Booleans to a byte), compressed, and written in base 64. Where it is shorter,
only the examples are kept in which an array of Booleans differs from one before it: coherence and
accuracy are the same wherever Digit is right.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import numpy as np

from residuum.errors import RecordError
from residuum.results.records import Curve, Outcomes, Record

_WORDS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_line(record: Record) -> str:
    """Return a record as one line of ASCII, the same for equal records."""
    content = {
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
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def from_line(line: str | bytes) -> Record:
    """Return the record of a line; RecordError if it holds none or another than it claims."""
    try:
        content = json.loads(line, parse_constant=_refuse)
        record, claimed = _record(content), content["id"]
    except RecordError:
        raise
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise RecordError(f"this is no record: {type(error).__name__}: {error}") from None
    if record.id != claimed:
        raise RecordError(
            f"this is the record of another run, {record.id}, than it says, {claimed!r}"
        )
    return record


def _record(content: dict[str, Any]) -> Record:
    return Record(
        study=content["study"],
        scheme=content["scheme"],
        configuration=content["configuration"],
        measures={name: _read(value) for name, value in content["measures"].items()},
        curves={
            name: Curve(curve["epochs"], [_read(value) for value in curve["values"]])
            for name, curve in content["curves"].items()
        },
        outcomes=_all_unpacked(content["outcomes"]),
        seconds=content["seconds"],
        environment=content["environment"],
    )


def _written(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _read(value: float | str) -> float:
    return _WORDS[value] if isinstance(value, str) else value


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


def _all_unpacked(packed: Mapping[str, dict[str, Any]]) -> dict[str, Outcomes]:
    found: dict[str, Outcomes] = {}
    for name, form in packed.items():
        array = _unpacked(form)
        if form["kind"] == "differences":
            other = found[form["from"]]
            if other.dtype != np.bool_ or len(array) != len(other):
                raise ValueError(f"expected {name!r} to differ from Booleans of as many examples")
            array = array ^ other
        found[name] = array
    return found


def _packed(array: Outcomes) -> dict[str, Any]:
    kind, content = ("bits", np.packbits(array)) if array.dtype == np.bool_ else ("bytes", array)
    data = base64.b64encode(zlib.compress(content.tobytes(), 9)).decode("ascii")
    return {"kind": kind, "count": len(array), "data": data}


def _unpacked(packed: dict[str, Any]) -> Outcomes:
    kind, count = packed["kind"], packed["count"]
    if not isinstance(count, int) or count < 0:
        raise ValueError(f"expected the number of examples, got {count!r}")
    eighth = (count + 7) // 8
    size = {"bits": eighth, "differences": eighth, "bytes": count}[kind]
    decompressor = zlib.decompressobj()
    try:
        data = base64.b64decode(packed["data"], validate=True)
        content = decompressor.decompress(data, size + 1)
    except zlib.error as error:
        raise ValueError(f"outcomes that cannot be decompressed ({error})") from None
    if len(content) != size or not decompressor.eof or decompressor.unused_data:
        raise ValueError(f"expected outcomes of {count} examples, got other than {size} bytes")
    found = np.frombuffer(content, dtype=np.uint8)
    return found if kind == "bytes" else np.unpackbits(found, count=count).astype(np.bool_)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
