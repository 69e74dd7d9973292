"""Text → phrases: a concrete syntax tree whose words know where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Final

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from residuum.errors import FormulaSyntaxError, Problem
from residuum.logic.names import KEYWORDS, LONGEST_WORD
from residuum.syntax.diagnosis import diagnose
from residuum.syntax.excerpts import excerpt, locate

MOST_WORDS: Final = 500_000
"""The most words and symbols one formula may have: a few seconds of parsing."""

DEEPEST_NESTING: Final = 150_000
"""The deepest brackets may nest."""


class Phrase(Tree[Token]):
    """A node of the concrete syntax tree, folded like a formula; compared by identity."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    @property
    def kind(self) -> str:
        """The name of its grammar rule."""
        return str(self.data)

    @property
    def parts(self) -> list[Phrase]:
        """The phrases directly below."""
        return [child for child in self.children if isinstance(child, Phrase)]

    @property
    def words(self) -> list[Token]:
        """The words that stand in the phrase itself."""
        return [child for child in self.children if isinstance(child, Token)]


@cache
def _lark() -> Lark:
    grammar = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        start=["formula", "declaration"],
        parser="lalr",
        lexer="basic",
        tree_class=Phrase,
        maybe_placeholders=False,
    )


def read_phrase(text: str, start: str) -> Phrase:
    """Return the phrase a text spells, or raise FormulaSyntaxError."""
    _scan(text)
    try:
        phrase = _lark().parse(text, start=start)
    except UnexpectedInput as error:
        problem = diagnose(text, error)
        raise FormulaSyntaxError(problem, excerpt(text.split("\n"), problem)) from None
    assert isinstance(phrase, Phrase)
    return phrase


_WORD = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|#[^\n]*|\w+|\S')


_CLOSED = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


def words_of(text: str) -> Iterator[tuple[str, int]]:
    """Yield the words, symbols and quoted labels of a text and where they start.

    A quoted label that is not closed on its line comes as far as the line goes.
    """
    for match in _WORD.finditer(text):
        if not match[0].startswith("#"):
            yield match[0], match.start()


def _scan(text: str) -> None:
    """Refuse in linear time what the parser would choke on: too long, too deep, unbalanced."""
    opened: list[int] = []
    for count, (word, offset) in enumerate(words_of(text)):
        if count >= MOST_WORDS:
            _refuse(text, offset, f"a formula has at most {MOST_WORDS:,} words and symbols.")
        if word.startswith('"'):
            if not _CLOSED.fullmatch(word):
                _refuse(text, offset, "this quoted label is never closed on its line.")
        elif len(word) > LONGEST_WORD:
            _refuse(text, offset, f"a word has at most {LONGEST_WORD:,} characters.")
        elif word == "(":
            opened.append(offset)
            if len(opened) > DEEPEST_NESTING:
                _refuse(text, offset, f"brackets nest at most {DEEPEST_NESTING:,} deep.")
        elif word == ")":
            if not opened:
                _refuse(text, offset, "this `)` closes nothing. Remove it, or open it with `(`.")
            opened.pop()
    if opened:
        before = re.search(r"\w+\s*$", text[max(0, opened[-1] - 80) : opened[-1]])
        name = before[0].strip() if before else ""
        opener = "(" if name in KEYWORDS else f"{name}("
        _refuse(text, opened[-1], f"`{opener}` is never closed. Add the missing `)`.")


def _refuse(text: str, offset: int, message: str) -> None:
    problem = Problem(*locate(text, offset), message)
    raise FormulaSyntaxError(problem, excerpt(text.split("\n"), problem))
