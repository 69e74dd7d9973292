"""Text → words, each with the terminal of the grammar that it is and the place where it starts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from lark import Token

from residuum.limits import DEEPEST_NESTING, LONGEST_WORD, MOST_WORDS
from residuum.logic.names import KEYWORDS
from residuum.syntax.excerpts import Misread
from residuum.syntax.grammar import kind_of, kind_of_long

LONG: Final = 40
"""The characters of a word whose kind is not remembered."""

QUOTED_OR_COMMENT: Final = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?|#[^\n]*'
"""A quoted label, which ends with its line if it is not closed there, or a comment.

`*+` gives nothing back, so that a label takes no memory for ways of matching it otherwise.
"""

_WORD: Final = re.compile(
    QUOTED_OR_COMMENT
    + r"|[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)?"
    + r"|[^\W\d]\w*|<->|->|!=|<=|>=|\.\.|\S"
)
_CLOSED: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')


def words_of(text: str, start: int, end: int) -> list[Token]:
    """Return the words, symbols and quoted labels of a part of a text, up to one too many."""
    words: list[Token] = []
    for match in _WORD.finditer(text, start, end):
        written = match[0]
        if written[0] == "#":
            continue
        word = str.__new__(Token, written)  # Token(...) itself takes far longer
        word.type = kind_of(written) if len(written) < LONG else kind_of_long(written)
        word.start_pos = match.start()
        words.append(word)
        if len(words) > MOST_WORDS:
            break
    return words


def place_of(word: Token) -> int:
    """Return where in the text a word starts."""
    assert word.start_pos is not None
    return word.start_pos


def refuse_excess(text: str, words: Sequence[Token]) -> None:
    """Refuse in linear time what the parser would choke on: too long, too deep, unbalanced."""
    opened: list[Token] = []
    for count, word in enumerate(words):
        if count >= MOST_WORDS:
            raise _misread(word, f"a formula has at most {MOST_WORDS:,} words and symbols.")
        if word.startswith('"'):
            if not _CLOSED.fullmatch(word):
                raise _misread(word, "this quoted label is never closed on its line.")
        elif len(word) > LONGEST_WORD:
            raise _misread(word, f"a word has at most {LONGEST_WORD:,} characters.")
        elif word == "(":
            opened.append(word)
            if len(opened) > DEEPEST_NESTING:
                raise _misread(word, f"brackets nest at most {DEEPEST_NESTING:,} deep.")
        elif word == ")":
            if not opened:
                raise _misread(word, "this `)` closes nothing. Remove it, or open it with `(`.")
            opened.pop()
    if opened:
        place = place_of(opened[-1])
        before = re.search(r"\w+\s*$", text[max(0, place - 80) : place])
        name = before[0].strip() if before else ""
        opener = "(" if name in KEYWORDS else f"{name}("
        raise _misread(opened[-1], f"`{opener}` is never closed. Add the missing `)`.")


def _misread(word: Token, message: str) -> Misread:
    return Misread(place_of(word), message)
