"""What a section of the report is made of: text, tables, pictures, claims and commands.

The page (`page.py`) and the files of tables and pictures (`exports.py`) are made from these blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias, TypeVar, get_args

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Status = Literal["confirmed", "refuted", "open", "undecidable"]

LONGEST_NAME: Final = 100
"""The longest name of a block in characters. File systems take 255 bytes, with the ending."""

_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
"""Names of devices on Windows, which no file can have, whatever its ending."""


@dataclass(frozen=True)
class Entry:
    """A cell of a table.

    A cell that `stands_out` is bold, and `title` is shown when the pointer rests on it. `degree`,
    from 0 to 1, becomes the colour of the cell; `bar`, from 0 to 1, the length of a bar in it. A
    row is less prominent if its first cell is `minor`.
    """

    text: str
    stands_out: bool = False
    title: str = ""
    degree: float | None = None
    bar: float | None = None
    minor: bool = False


@dataclass(frozen=True)
class Text:
    """A paragraph of text in a section."""

    kind: ClassVar = "text"
    words: str


@dataclass(frozen=True)
class Answer:
    """A paragraph that answers the question of the page, in larger letters."""

    kind: ClassVar = "answer"
    words: str


@dataclass(frozen=True)
class Items:
    """A list of sentences or phrases."""

    kind: ClassVar = "items"
    lines: Sequence[str]


@dataclass(frozen=True)
class StatedRule:
    """A rule in mathematical notation, with remarks below it. `name` is the target of links."""

    kind: ClassVar = "rule"
    name: str
    title: str
    formula: str
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Heading:
    """A heading of the blocks below it. `name` is the target of links."""

    kind: ClassVar = "heading"
    name: str
    title: str


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first cell of a row is its name. `numbers` are the unrounded data."""

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
    """A figure. `description` says the same in words, for readers who cannot see it."""

    kind: ClassVar = "picture"
    name: str
    title: str
    description: str
    figure: Figure
    command: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim, its section of the paper, the test that decides it, and the evidence."""

    status: Status
    place: str
    claim: str
    test: str
    evidence: str


@dataclass(frozen=True)
class Claims:
    """A list of claims."""

    kind: ClassVar = "claims"
    judged: Sequence[Judged]

    @property
    def counts(self) -> dict[str, int]:
        """The number of claims of each status."""
        statuses = get_args(Status)
        return {name: sum(one.status == name for one in self.judged) for name in statuses}


@dataclass(frozen=True)
class Commands:
    """Command lines to copy."""

    kind: ClassVar = "commands"
    lines: Sequence[str]


@dataclass(frozen=True)
class Fold:
    """Blocks below a title that a click unfolds."""

    kind: ClassVar = "fold"
    title: str
    blocks: Sequence[Block]


Block: TypeAlias = (
    Text | Answer | Items | Heading | StatedRule | Table | Picture | Claims | Commands | Fold
)
Kind = TypeVar("Kind", Table, Picture)


@dataclass(frozen=True)
class Section:
    """A part of the report with a heading. `name` is the target of links.

    `warnings` say what is wrong with the data, and stand below the heading.
    """

    name: str
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)
    warnings: Sequence[str] = ()

    def all(self, kind: type[Kind]) -> Iterator[Kind]:
        """Yield all tables, or all pictures, folded ones included."""
        yield from _all(self.blocks, kind)


def with_safe_names(sections: Sequence[Section]) -> list[Section]:
    """Return the sections with names that can be ids of HTML and names of files.

    A name then has only letters, digits, `.`, `_` and `-`, and no two names are equal up to case. A
    name that is safe and new stays as it is.
    """
    taken: set[str] = set()
    ones = [replace(one, name=_safe(one.name, taken)) for one in sections]
    return [replace(one, blocks=_renamed(one.blocks, taken)) for one in ones]


def _renamed(blocks: Sequence[Block], taken: set[str]) -> list[Block]:
    renamed: list[Block] = []
    for block in blocks:
        match block:
            case Heading() | StatedRule() | Table() | Picture():
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
    """Return a number with its noun, in the plural unless the number is 1.

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
