"""Records that tables and reports cannot use, and the reasons in words.

A store takes any record. A record that lacks what a study computes with is skipped, and named.
"""

from __future__ import annotations

import math
import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from types import NoneType
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin, get_type_hints

from residuum.errors import ResiduumError
from residuum.results import Curve, Record
from residuum.study.common_settings import is_optional

MOST_NAMED: Final = 3
"""The most skipped records that a message names; it counts the others."""

LARGEST: Final = 1e100
"""Settings with a larger absolute value, or nearer to 0 than its inverse, are refused."""

LARGEST_WHOLE: Final = 2**63
"""Whole numbers from this on are refused as settings."""

_WORDS: Final[Mapping[Any, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    NoneType: "nothing",
}


class Skipped(NamedTuple):
    """A record that is left out, and the reason, as the end of a sentence about the record."""

    study: str
    id: str
    reason: str


class Sifted(NamedTuple):
    """The records that can be used, and the records that are skipped."""

    records: list[Record]
    skipped: list[Skipped]


class MeasuredOn(NamedTuple):
    """The test set of a run: its name, and the number of examples that were measured."""

    name: str
    examples: int


def separate_usable(
    records: Iterable[Record],
    fault_of: Callable[[Record], str],
    tested_on: Callable[[Record], MeasuredOn | None],
) -> Sifted:
    """Separate the records that can be used from the others.

    `fault_of` returns what is wrong with a single record, or an empty text. Runs on the same test
    set must have the same number of outcomes: if they differ, the most frequent number counts.
    """
    sound, skipped = [], []
    for record in records:
        if fault := fault_of(record):
            skipped.append(Skipped(record.study, record.id, fault))
        else:
            sound.append(record)
    sizes: dict[str, Counter[int]] = {}
    for record in sound:
        if tested := tested_on(record):
            sizes.setdefault(tested.name, Counter())[tested.examples] += 1
    usual = {
        name: max(found, key=lambda size: (found[size], size)) for name, found in sizes.items()
    }
    kept = []
    for record in sound:
        tested = tested_on(record)
        if tested is None or tested.examples == usual[tested.name]:
            kept.append(record)
        else:
            reason = (
                f"has outcomes of {tested.examples:,} test examples, where most runs on "
                f"{tested.name} have {usual[tested.name]:,}"
            )
            skipped.append(Skipped(record.study, record.id, reason))
    return Sifted(kept, skipped)


def tell_skipped(skipped: Sequence[Skipped]) -> str:
    """Say how many records are skipped, and why the first of them are; empty if none is.

    >>> tell_skipped([Skipped("digits", "0123456789abcdef", "lacks the setting `seed`")])
    '1 record of digits is skipped: 0123456789abcdef lacks the setting `seed`'
    """
    if not skipped:
        return ""
    studies = " and ".join(sorted({one.study for one in skipped}))
    count = f"{len(skipped):,} record{'s' if len(skipped) > 1 else ''} of {studies}"
    named = [f"{one.id} {one.reason}" for one in skipped[:MOST_NAMED]]
    if len(skipped) > MOST_NAMED:
        named.append(f"and {len(skipped) - MOST_NAMED:,} more")
    return f"{count} {'are' if len(skipped) > 1 else 'is'} skipped: {'; '.join(named)}"


def fault_of_settings(record: Record, settings: type, scheme: int) -> str:
    """Say why a record's configuration cannot be the settings of a run; empty if it can."""
    if record.scheme != scheme:
        return f"is of another version of the study (scheme {record.scheme}, not {scheme})"
    known = record.configuration
    hints = _hints(settings)
    required = {setting.name for setting in fields(settings) if not is_optional(setting)}
    if lacking := [name for name in hints if name in required and name not in known]:
        return f"lacks {_listed('setting', lacking)}"
    given = {name: known[name] for name in hints if name in known}
    for name, value in given.items():
        if not _is_one(value, hints[name]):
            found = reprlib.repr(value)
            return f"has {found} as the setting `{name}`, where {_in_words(hints[name])} belongs"
    try:
        settings(**given)
    except ResiduumError as error:
        return f"has impossible settings: {error}"
    return ""


def fault_of_measures(record: Record, names: Iterable[str]) -> str:
    """Say which measures a record lacks, or which measure is not finite; empty if all is well."""
    if lacking := [name for name in names if name not in record.measures]:
        return f"lacks {_listed('measure', lacking)}"
    for name in names:
        if not math.isfinite(record.measures[name]):
            return f"has {record.measures[name]} as the measure `{name}`"
    return ""


def fault_of_outcomes(record: Record, names: Iterable[str]) -> str:
    """Say which outcomes of test examples a record lacks; empty if it has all."""
    lacking = [name for name in names if name not in record.outcomes]
    return f"lacks {_listed('array of outcomes', lacking, 'arrays of outcomes')}" if lacking else ""


def fault_of_scores(record: Record, names: Iterable[str]) -> str:
    """Say which curves a record lacks, or which holds no score; empty if all is well.

    A score of -inf is allowed: it marks an unusable state.
    """
    if lacking := [name for name in names if name not in record.curves]:
        return f"lacks {_listed('curve', lacking)}"
    for name in names:
        if not _are_scores(record.curves[name]):
            return f"has a curve `{name}` that is empty, NaN or infinite"
    return ""


def _are_scores(curve: Curve) -> bool:
    return bool(curve.values) and all(value < math.inf for value in curve.values)


@cache
def _hints(settings: type) -> dict[str, Any]:
    return get_type_hints(settings)


def _is_one(value: object, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return isinstance(value, str)  # `Settings` checks which one
    if options := get_args(hint):
        return any(_is_one(value, one) for one in options)
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return value == 0 or 1 / LARGEST <= abs(value) <= LARGEST
    if hint is int and isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < LARGEST_WHOLE
    return isinstance(value, hint)


def _in_words(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return _WORDS[str]
    return " or ".join(map(_in_words, get_args(hint))) or _WORDS[hint]


def _listed(noun: str, names: Sequence[str], plural: str = "") -> str:
    if len(names) == 1:
        return f"the {noun} `{names[0]}`"
    shown = ", ".join(f"`{name}`" for name in names[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"the {plural or noun + 's'} {shown}{more}"
