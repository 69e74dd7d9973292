"""What a report is made of: sections of text, tables, pictures, claims and commands.

A study is reported by a function that returns a `Section`; the page, and the files of tables and
pictures, follow from that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Status = Literal["confirmed", "refuted", "open"]

LONGEST_NAME: Final = 100
"""Characters; file systems take 255 bytes, with an ending."""

_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
"""Names that Windows keeps for devices, whatever their ending."""


@dataclass(frozen=True)
class Entry:
    """A cell of a table: its text, whether it stands out, what more there is to say of it.

    `degree` is a number from 0 to 1 that is shown as colour. A `minor` cell is said quietly.
    """

    text: str
    stands_out: bool = False
    title: str = ""
    degree: float | None = None
    minor: bool = False


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar = "text"
    words: str


@dataclass(frozen=True)
class Heading:
    """What the blocks below it are about; `name` is unique, as that of a section."""

    kind: ClassVar = "heading"
    name: str
    title: str


@dataclass(frozen=True)
class Table:
    """Rows of cells, the first of each its name; `numbers` are the same as data, unrounded."""

    kind: ClassVar = "table"
    name: str
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    numbers: Sequence[Mapping[str, object]]
    command: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Picture:
    """A figure, and the same in words for who cannot see it."""

    kind: ClassVar = "picture"
    name: str
    title: str
    description: str
    figure: Figure
    command: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim of the paper, where it stands, what decides it, and how it was decided."""

    status: Status
    place: str
    claim: str
    test: str
    evidence: str


@dataclass(frozen=True)
class Claims:
    """Claims, one below the other."""

    kind: ClassVar = "claims"
    judged: Sequence[Judged]

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each status."""
        statuses: tuple[Status, ...] = ("confirmed", "refuted", "open")
        return {name: sum(one.status == name for one in self.judged) for name in statuses}


@dataclass(frozen=True)
class Commands:
    """Lines to type, as they stand."""

    kind: ClassVar = "commands"
    lines: Sequence[str]


@dataclass(frozen=True)
class Fold:
    """Blocks that are shown when asked for."""

    kind: ClassVar = "fold"
    title: str
    blocks: Sequence[Block]


Block: TypeAlias = Text | Heading | Table | Picture | Claims | Commands | Fold
Kind = TypeVar("Kind", Table, Picture)


@dataclass(frozen=True)
class Section:
    """A part of the report with a heading; `name` is unique, and where links lead.

    `warnings` say what is wrong with the data; they stand below the heading.
    """

    name: str
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)
    warnings: Sequence[str] = ()

    def all(self, kind: type[Kind]) -> Iterator[Kind]:
        """Yield all tables, or all pictures, wherever they stand."""
        yield from _all(self.blocks, kind)


def with_safe_names(sections: Sequence[Section]) -> list[Section]:
    """Return sections whose names, and those of their blocks, can be ids and names of files.

    They have letters, digits, `.`, `_` and `-` only, and differ in more than the case of letters.
    A name that does so already stays, unless one before it is the same.
    """
    taken: set[str] = set()
    ones = [replace(one, name=_safe(one.name, taken)) for one in sections]
    return [replace(one, blocks=_renamed(one.blocks, taken)) for one in ones]


def _renamed(blocks: Sequence[Block], taken: set[str]) -> list[Block]:
    renamed: list[Block] = []
    for block in blocks:
        match block:
            case Heading() | Table() | Picture():
                renamed.append(replace(block, name=_safe(block.name, taken)))
            case Fold():
                renamed.append(replace(block, blocks=_renamed(block.blocks, taken)))
            case _:
                renamed.append(block)
    return renamed


def _safe(name: str, taken: set[str]) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:LONGEST_NAME].strip(".-") or "unnamed"
    if _RESERVED.match(plain):
        plain = f"the-{plain}"
    found, number = plain, 1
    while found.lower() in taken:
        number += 1
        found = f"{plain}-{number}"
    taken.add(found.lower())
    return found


def count_of(number: int, noun: str) -> str:
    """Return a number and what it counts, as words.

    >>> count_of(1, "run"), count_of(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _all(blocks: Sequence[Block], kind: type[Kind]) -> Iterator[Kind]:
    for block in blocks:
        if isinstance(block, kind):
            yield block
        elif isinstance(block, Fold):
            yield from _all(block.blocks, kind)
