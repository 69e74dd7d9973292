"""Lists of clauses, one on each line: `a or not b`, or `a :- b, not c`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, NoReturn

from residuum.errors import clipped
from residuum.limits import LONGEST_WORD, MOST_LABELS, MOST_WORDS
from residuum.logic.terms import Label
from residuum.syntax.clauses import Clause, ClauseFile, Literal
from residuum.syntax.mistakes import Misread, Mistake

COMMENT: Final = re.compile(r"[#%].*")
_WORD: Final = re.compile(r":-|\.(?=\s*$)|\w[\w-]*|\S")
_NAME: Final = re.compile(r"\w[\w-]*")
_NUMBERED: Final = re.compile(r"(.*?)(0|[1-9][0-9]*)")


class _Word(NamedTuple):
    offset: int
    text: str


def read_clause_list(text: str) -> tuple[ClauseFile, list[Mistake]]:
    """Return the clauses of a list, and all mistakes in it."""
    clauses: list[Clause] = []
    mistakes: list[Mistake] = []
    places: dict[str, int] = {}  # of the variables, in the order of their first mention
    count = 0
    for line, words in _lines(text):
        count += len(words)
        if count > MOST_WORDS:
            message = f"expected at most {MOST_WORDS:,} words, got more. Split the file."
            mistakes.append(Mistake(words[0].offset, message))
            break
        try:
            clauses.append(_clause(line, words, places))
        except Misread as error:
            mistakes.append(error.mistake)
    numbers = _numbers(places)
    if numbers is None:
        return ClauseFile(clauses, tuple(places), "named"), mistakes
    prefix, largest = numbers
    if largest >= MOST_LABELS:
        first = next(iter(places.values()))
        message = (
            f"expected variables numbered from 0 to {MOST_LABELS - 1:,}, got a larger number in "
            f"this file. Number them without gaps."
        )
        return ClauseFile([], (), "numbered"), [*mistakes, Mistake(first, message)]
    return _numbered(clauses, prefix, largest), mistakes


def _lines(text: str) -> Iterator[tuple[int, list[_Word]]]:
    """Yield the number and the words of each line that has some."""
    offset = 0
    for number, line in enumerate(text.split("\n"), start=1):
        words = [
            _Word(offset + found.start(), found[0])
            for found in _WORD.finditer(COMMENT.sub("", line))
        ]
        if words and words[-1].text == "." and len(words) > 1:  # as in Prolog
            words.pop()
        if words:
            yield number, words
        offset += len(line) + 1


def _clause(line: int, words: Sequence[_Word], places: dict[str, int]) -> Clause:
    arrows = [number for number, word in enumerate(words) if word.text == ":-"]
    if not arrows:
        return Clause(line, 1, _literals(words, "or", places))
    if len(arrows) > 1:
        raise Misread(words[arrows[1]].offset, "expected one `:-` in a line, got two. Remove one.")
    before, after = words[: arrows[0]], words[arrows[0] + 1 :]
    head = _literals(before, "or", places) if before else ()
    return Clause(line, 1, head, _literals(after, ",", places) if after else ())


def _literals(
    words: Sequence[_Word], separator: str, places: dict[str, int]
) -> tuple[Literal, ...]:
    found: list[Literal] = []
    is_positive, wants_name = True, True
    for word in words:
        if not wants_name:
            if word.text != separator:
                _refuse(word, f"`{separator}` or the end of the line")
            is_positive, wants_name = True, True
        elif word.text == "not" and is_positive:
            is_positive = False
        else:
            found.append(Literal(_name(word, places), is_positive))
            wants_name = False
    if wants_name:
        last = words[-1]
        message = f"expected a name after `{clipped(last.text)}`, got nothing. Add it."
        raise Misread(last.offset, message)
    return tuple(found)


def _name(word: _Word, places: dict[str, int]) -> str:
    if word.text in ("or", "not") or not _NAME.fullmatch(word.text):
        _refuse(word, "a name")
    if len(word.text) > LONGEST_WORD:
        message = f"expected a name of at most {LONGEST_WORD:,} characters, got {len(word.text):,}."
        raise Misread(word.offset, message + " Shorten it.")
    places.setdefault(word.text, word.offset)
    return word.text


def _refuse(word: _Word, expected: str) -> NoReturn:
    message = f"expected {expected}, got `{clipped(word.text)}`."
    advice = " Write a clause as `a or not b`, or as `a :- b, not c`."
    raise Misread(word.offset, message + advice)


def _numbers(names: dict[str, int]) -> tuple[str, int] | None:
    """Return the prefix and the largest number if all names are one prefix and a number."""
    matches = [_NUMBERED.fullmatch(name) for name in names]
    found = [(match[1], match[2]) for match in matches if match is not None]
    if not found or len(found) < len(matches) or len({prefix for prefix, _ in found}) > 1:
        return None
    longest = max(len(digits) for _, digits in found)
    # Converting very many digits takes long.
    largest = max(int(digits) for _, digits in found) if longest < 20 else MOST_LABELS
    return found[0][0], largest


def _numbered(clauses: Sequence[Clause], prefix: str, largest: int) -> ClauseFile:
    """Return a file in which variable k, such as `y_7`, is output k of a network, from 0."""
    if prefix:
        names: Sequence[Label] = [f"{prefix}{number}" for number in range(largest + 1)]
        return ClauseFile(clauses, names, "numbered")
    renumbered = [
        clause._replace(head=_as_integers(clause.head), body=_as_integers(clause.body))
        for clause in clauses
    ]
    return ClauseFile(renumbered, range(largest + 1), "numbered")


def _as_integers(literals: Sequence[Literal]) -> tuple[Literal, ...]:
    return tuple(literal._replace(variable=int(literal.variable)) for literal in literals)
