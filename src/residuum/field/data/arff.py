"""ARFF files whose classes form a tree, as data sets of hierarchical classification have them.

The header declares numeric and nominal attributes, and one of the type `hierarchical`, which lists
all classes as paths such as `01/03/02`. A line of data has a value for each attribute, `?` if it is
not known, and for the classes one or several paths joined by `@`. A class implies its parents.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from residuum.errors import DataError
from residuum.field.data.published_files import broken
from residuum.printable import printable

Floats: TypeAlias = NDArray[np.float64]
Booleans: TypeAlias = NDArray[np.bool_]

UNKNOWN: Final = "?"

LARGEST_TABLE: Final = 2**28
"""The most features and labels of all examples. The largest published set has 2 million."""

MOST_CLASSES: Final = 20_000

DEEPEST: Final = 64
"""The most levels of a hierarchy."""

_ATTRIBUTE: Final = re.compile(r"""@attribute\s+('[^']*'|"[^"]*"|\S+)\s+(\S.*)""", re.IGNORECASE)
_NUMERIC: Final = ("numeric", "real", "integer")


@dataclass(frozen=True)
class Hierarchy:
    """Classes in a tree, parents before their children. `parents` has −1 where there is none."""

    classes: Sequence[str]
    parents: Sequence[int]


@dataclass(frozen=True)
class Examples:
    """Examples of a data set: features with NaN where one is not known, and labels.

    A nominal attribute has a column for each of its values. A label is true for the classes of an
    example and for all above them.
    """

    features: Floats
    labels: Booleans
    hierarchy: Hierarchy


class _Attribute(NamedTuple):
    """An attribute: the values of a nominal one, None for a number."""

    name: str
    values: tuple[str, ...] | None


class _Header(NamedTuple):
    attributes: list[_Attribute | Hierarchy]
    first_line: int


def read_arff(content: bytes, source: object) -> Examples:
    """Return the examples of an ARFF file; a line of another form raises DataError.

    >>> text = b'''@relation animals
    ... @attribute weight numeric
    ... @attribute kind hierarchical bird,fish,bird/owl
    ... @data
    ... 0.3,bird/owl
    ... ?,fish'''
    >>> found = read_arff(text, "animals.arff")
    >>> found.hierarchy.classes, found.hierarchy.parents
    (('bird', 'fish', 'bird/owl'), (-1, -1, 0))
    >>> found.features.tolist(), found.labels.tolist()
    ([[0.3], [nan]], [[True, False, True], [False, True, False]])
    """
    lines = list(_lines(content, source))
    header = _read_header(lines, source)
    [hierarchy] = [one for one in header.attributes if isinstance(one, Hierarchy)]
    above = _ancestors(hierarchy)
    features: list[list[float]] = []
    labels: list[Booleans] = []
    width = len(above) + sum(map(_columns, header.attributes))
    for number, line in lines[header.first_line :]:
        if (len(features) + 1) * width > LARGEST_TABLE:
            expected = f"at most {LARGEST_TABLE // width:,} examples of {width:,} columns"
            raise broken(source, number, expected, "more")
        row, classes = _read_row(number, line, header.attributes, source)
        features.append(row)
        labels.append(_labels(number, classes, above, source))
    if not features:
        raise DataError(f"`{printable(source)}`: expected lines of data after @data, found none")
    return Examples(np.array(features), np.array(labels), hierarchy)


def _columns(attribute: _Attribute | Hierarchy) -> int:
    """Return how many features an attribute has."""
    if isinstance(attribute, Hierarchy):
        return 0
    return 1 if attribute.values is None else len(attribute.values)


def _lines(content: bytes, source: object) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is neither empty nor a comment."""
    for number, line in enumerate(content.splitlines(), 1):
        try:
            text = line.decode().strip()
        except UnicodeDecodeError as error:
            found = f"the byte {line[error.start]:02x}"
            raise broken(source, number, "text in UTF-8", found) from None
        if text and not text.startswith("%"):
            yield number, text


def _read_header(lines: Sequence[tuple[int, str]], source: object) -> _Header:
    found: list[_Attribute | Hierarchy] = []
    for place, (number, line) in enumerate(lines):
        keyword = line.split(maxsplit=1)[0].lower()
        if keyword == "@data":
            if sum(isinstance(one, Hierarchy) for one in found) != 1:
                raise broken(source, number, "one hierarchical attribute before @data", "none")
            return _Header(found, place + 1)
        if keyword == "@relation":
            continue
        attribute = _ATTRIBUTE.fullmatch(line)
        if attribute is None:
            expected = "@relation, @attribute NAME TYPE or @data"
            raise broken(source, number, expected, f"`{printable(line[:60])}`")
        found.append(_read_attribute(number, *attribute.groups(), source=source))
        if sum(isinstance(one, Hierarchy) for one in found) > 1:
            raise broken(source, number, "one hierarchical attribute", "a second one")
    raise DataError(f"`{printable(source)}`: expected a line @data, found none; replace the file")


def _read_attribute(number: int, name: str, kind: str, *, source: object) -> _Attribute | Hierarchy:
    if kind.lower() in _NUMERIC:
        return _Attribute(name, None)
    if kind.startswith("{") and kind.endswith("}"):
        values = tuple(value.strip() for value in kind[1:-1].split(","))
        if len(set(values)) < len(values):
            raise broken(source, number, "different values", f"`{printable(kind[:60])}`")
        return _Attribute(name, values)
    word, _, listed = kind.partition(" ")
    if word.lower() != "hierarchical":
        expected = "the type numeric, {…} or hierarchical"
        raise broken(source, number, expected, f"`{printable(kind[:60])}`")
    return _read_hierarchy(number, listed, source)


def _read_hierarchy(number: int, listed: str, source: object) -> Hierarchy:
    """Return the tree of listed paths; a parent need not be listed, and a path may be twice."""
    paths = [tuple(path.strip().split("/")) for path in listed.split(",")]
    for path in paths:
        if not all(path) or len(path) > DEEPEST:
            shown = printable("/".join(path)[:60])
            expected = f"classes such as 01/03, of {DEEPEST} levels at most"
            raise broken(source, number, expected, f"`{shown}`")
    each = {path[:depth] for path in paths for depth in range(1, len(path) + 1)}
    if len(each) > MOST_CLASSES:
        raise broken(source, number, f"at most {MOST_CLASSES:,} classes", f"{len(each):,}")
    ordered = sorted(each, key=lambda path: (len(path), path))
    places = {path: place for place, path in enumerate(ordered)}
    parents = tuple(places.get(path[:-1], -1) for path in ordered)
    return Hierarchy(tuple("/".join(path) for path in ordered), parents)


def _read_row(
    number: int, line: str, attributes: Sequence[_Attribute | Hierarchy], source: object
) -> tuple[list[float], str]:
    """Return the numbers of a line of data, and its classes as text."""
    values = [value.strip() for value in line.split("%", 1)[0].split(",")]
    if len(values) != len(attributes):
        raise broken(source, number, f"{len(attributes)} values", f"{len(values)}")
    row: list[float] = []
    classes = ""
    for attribute, value in zip(attributes, values, strict=True):
        if isinstance(attribute, Hierarchy):
            classes = value
        elif attribute.values is None:
            row.append(_number(number, attribute, value, source))
        else:
            row += _one_hot(number, attribute, value, source)
    return row, classes


def _number(number: int, attribute: _Attribute, value: str, source: object) -> float:
    if value == UNKNOWN:
        return math.nan
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        expected = f"a finite number or ? for {printable(attribute.name)}"
        raise broken(source, number, expected, f"`{printable(value[:60])}`")
    return found


def _one_hot(number: int, attribute: _Attribute, value: str, source: object) -> Iterable[float]:
    assert attribute.values is not None
    if value == UNKNOWN:
        return [math.nan] * len(attribute.values)
    if value not in attribute.values:
        expected = f"a value of {printable(attribute.name)} or ?"
        raise broken(source, number, expected, f"`{printable(value[:60])}`")
    return [float(value == one) for one in attribute.values]


def _ancestors(hierarchy: Hierarchy) -> dict[str, list[int]]:
    """Return the places of each class and of all above it."""
    found: dict[str, list[int]] = {}
    for place, (name, parent) in enumerate(zip(hierarchy.classes, hierarchy.parents, strict=True)):
        found[name] = [place, *(found[hierarchy.classes[parent]] if parent >= 0 else ())]
    return found


def _labels(number: int, classes: str, above: dict[str, list[int]], source: object) -> Booleans:
    found = np.zeros(len(above), dtype=np.bool_)
    for name in classes.split("@"):
        if name not in above:
            expected = "classes of the header, joined by @"
            raise broken(source, number, expected, f"`{printable(name[:60])}`")
        found[above[name]] = True
    return found
