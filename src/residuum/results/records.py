"""One training run as plain data: its configuration, its measures, and its outcomes by example."""

from __future__ import annotations

import hashlib
import json
import math
import numbers
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeGuard, TypeVar, final

import numpy as np
import numpy.typing as npt

from residuum.errors import RecordError

Scalar: TypeAlias = bool | int | float | str | None
Outcomes: TypeAlias = npt.NDArray[np.bool_] | npt.NDArray[np.uint8]
Kept = TypeVar("Kept")

ID_LENGTH: Final = 16
"""Hexadecimal digits of an id: 64 bits, so that a million runs collide with a chance of 10⁻⁷."""

LARGEST_INTEGER: Final = 2**1024
"""Integers must be smaller. No float is larger, and Python refuses to print very long integers."""

MOST_OUTCOMES: Final = 2**24
"""The most outcomes of one record, all arrays together. Each takes a byte of memory."""


@final
@dataclass(frozen=True)
class Curve:
    """A quantity over training: its values, and their epochs in ascending order."""

    epochs: Sequence[int]
    values: Sequence[float]

    def __post_init__(self) -> None:
        epochs, values = tuple(self.epochs), tuple(self.values)
        is_ascending = all(
            _is_whole(epoch) and before < epoch < LARGEST_INTEGER
            for before, epoch in zip((-1, *epochs), epochs, strict=False)
        )
        if not is_ascending or len(epochs) != len(values):
            raise RecordError(
                "expected one epoch for each value, whole numbers from 0 in ascending order, got "
                f"{len(values)} values and the epochs {reprlib.repr(epochs)}; correct the epochs"
            )
        object.__setattr__(self, "epochs", epochs)
        checked = tuple(_number(value, "a value of a curve") for value in values)
        object.__setattr__(self, "values", checked)


@final
@dataclass(frozen=True)
class Divergence:
    """The epoch after which a run was stopped, and what was then infinite or NaN.

    `not_finite` names curves of losses, such as `joint: loss/labels`, and `parameters`.
    """

    epoch: int
    not_finite: Sequence[str]

    def __post_init__(self) -> None:
        if not _is_whole(self.epoch) or not 0 < self.epoch < LARGEST_INTEGER:
            raise RecordError(
                "expected the `epoch` of a divergence to be a whole number from 1 on, got "
                f"{reprlib.repr(self.epoch)}; correct it"
            )
        if isinstance(self.not_finite, str) or not isinstance(self.not_finite, Sequence):
            raise RecordError(
                "expected `not_finite` to be a list of names, got "
                f"{reprlib.repr(self.not_finite)}; give a list"
            )
        names = tuple(_name(name, "a name in not_finite") for name in self.not_finite)
        if not names:
            raise RecordError("expected `not_finite` to name something, got nothing; name it")
        object.__setattr__(self, "not_finite", names)

    def __str__(self) -> str:
        return f"diverged in epoch {self.epoch}: {', '.join(self.not_finite)} not finite"


@final
@dataclass(frozen=True, eq=False)
class Record:
    """One run of a study. All values are checked, copied and read-only.

    `configuration` is all that the run depends on, its seed included. A study raises `scheme` when
    the same configuration comes to mean something else. `measures` are in percent. `outcomes` hold
    one entry per test example: Booleans (right or wrong), or counts up to 255 as `uint8` (the
    chunks found in a sentence). A run that `diverged` was stopped and not measured: it has neither
    measures nor outcomes. `is_verified` is False if the record was read without a checksum, because
    an older residuum wrote it; damage to it is not noticed. Equality ignores it.
    """

    study: str
    scheme: int
    configuration: Mapping[str, Scalar]
    measures: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, Curve] = field(default_factory=dict)
    outcomes: Mapping[str, Outcomes] = field(default_factory=dict)
    seconds: float = 0.0
    environment: Mapping[str, Scalar] = field(default_factory=dict)
    is_verified: bool = True
    diverged: Divergence | None = None

    def __post_init__(self) -> None:
        seconds = _number(self.seconds, "seconds")
        if not 0 <= seconds < math.inf:
            raise RecordError(f"expected finite `seconds` from 0 on, got {seconds!r}; correct it")
        checked: dict[str, Any] = {
            "study": _name(self.study, "study"),
            "scheme": _scheme(self.scheme),
            "configuration": canonical(self.configuration, "configuration"),
            "measures": {
                name: _number(value, f"measures[{name!r}]")
                for name, value in _entries(self.measures, "measures")
            },
            "curves": {
                name: _checked_curve(curve, name) for name, curve in _entries(self.curves, "curves")
            },
            "outcomes": {
                name: _checked_outcomes(array, name)
                for name, array in _entries(self.outcomes, "outcomes")
            },
            "seconds": seconds,
            "environment": canonical(self.environment, "environment"),
        }
        count = sum(map(len, checked["outcomes"].values()))
        if count > MOST_OUTCOMES:
            raise RecordError(
                f"expected at most {MOST_OUTCOMES:,} outcomes in a record, got {count:,}; "
                "record fewer examples"
            )
        if self.diverged is not None:
            _check_divergence(self.diverged, checked)
        for name, value in checked.items():
            kept = MappingProxyType(value) if isinstance(value, dict) else value
            object.__setattr__(self, name, kept)

    @cached_property
    def id(self) -> str:
        """The id of the run: the same for equal configurations under the same scheme."""
        return run_id(self.study, self.configuration, self.scheme)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self.id)

    def __reduce__(self) -> tuple[Any, ...]:
        values = (getattr(self, entry.name) for entry in fields(self))
        return Record, tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)

    def _content(self) -> tuple[Any, ...]:
        """Return the content in a form where NaN equals NaN, and 0.0 differs from -0.0."""
        curves = {name: (curve.epochs, curve.values) for name, curve in self.curves.items()}
        outcomes = {name: (a.dtype, a.tobytes()) for name, a in self.outcomes.items()}
        described = (dict(self.measures), curves, self.seconds, self.diverged)
        kept = (dict(self.configuration), dict(self.environment))
        return self.study, self.scheme, repr(described), json.dumps(kept), outcomes


def run_id(study: str, configuration: Mapping[str, Scalar], scheme: int) -> str:
    """Return the id of a run: a digest of the study, the configuration and the scheme.

    The order of the keys does not matter, nor whether a number is written as 1 or 1.0.

    >>> run_id("digits", {"relaxation": "r-product", "seed": 20}, scheme=1)
    '6f2f2b3459297e06'
    """
    known = canonical(configuration, "configuration")
    text = json.dumps([_name(study, "study"), _scheme(scheme), known], separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:ID_LENGTH]


def canonical(values: Mapping[str, Scalar], what: str) -> dict[str, Scalar]:
    """Return a flat mapping with sorted keys, in which equal numbers have equal types."""
    return {key: _scalar(value, f"{what}[{key!r}]") for key, value in _entries(values, what)}


def _scalar(value: object, where: str) -> Scalar:
    match value:
        case None | bool():
            return value
        case str():
            return _text(value, where)
        case float() if math.isfinite(value):
            return int(value) if value.is_integer() else float(value)
        case int() if abs(value) < LARGEST_INTEGER:
            return int(value)
    raise RecordError(
        f"expected `{where}` to be None, True, False, a finite number or text, as JSON has them, "
        f"got {reprlib.repr(value)} ({type(value).__name__}). Convert it, with float() or int() "
        "or str(), before you record it."
    )


def _text(value: str, where: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise RecordError(
            f"expected `{where}` to be text that UTF-8 can hold, got {value!a}; replace surrogates"
        ) from None
    return str.__str__(value)  # a member of an enumeration becomes plain text


def _name(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise RecordError(
            f"expected `{where}` to be a name, got {reprlib.repr(value)}; give some text"
        )
    return _text(value, where)


def _entries(values: Mapping[str, Kept], what: str) -> list[tuple[str, Kept]]:
    if not isinstance(values, Mapping):
        raise RecordError(
            f"expected `{what}` to be a mapping, got {reprlib.repr(values)}; give a dictionary"
        )
    named = ((_name(key, f"a key of {what}"), value) for key, value in values.items())
    return sorted(named, key=lambda entry: entry[0])


def _scheme(value: object) -> int:
    if not _is_whole(value) or not 0 <= value < LARGEST_INTEGER:
        raise RecordError(
            f"expected `scheme` to be a whole number from 0 on, got {reprlib.repr(value)}; change "
            "it"
        )
    return int(value)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: object, where: str) -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise RecordError(f"expected `{where}` to be a number, got {reprlib.repr(value)}; convert it")


def _checked_curve(value: object, name: str) -> Curve:
    if not isinstance(value, Curve):
        raise RecordError(
            f"expected `curves[{name!r}]` to be a Curve, got {reprlib.repr(value)}; make it a Curve"
        )
    return value


def _check_divergence(value: object, content: Mapping[str, Any]) -> None:
    if not isinstance(value, Divergence):
        raise RecordError(
            f"expected `diverged` to be a Divergence or None, got {reprlib.repr(value)}; "
            "make it a Divergence"
        )
    if content["measures"] or content["outcomes"]:
        raise RecordError(
            "expected no measures and no outcomes of a run that diverged, got "
            f"{len(content['measures'])} and {len(content['outcomes'])}; leave them out"
        )


def _checked_outcomes(value: object, name: str) -> Outcomes:
    if not isinstance(value, np.ndarray):
        found = reprlib.repr(value)
    elif value.ndim != 1 or value.dtype not in (np.bool_, np.uint8):
        found = f"an array of {value.dtype} of shape {value.shape}"
    else:
        kept: Outcomes = value.copy()
        kept.flags.writeable = False
        return kept
    raise RecordError(
        f"expected `outcomes[{name!r}]` to be a NumPy array of Booleans, or of counts as uint8, "
        f"with one axis, got {found}; convert it"
    )
