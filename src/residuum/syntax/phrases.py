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

    @property
    def first_word(self) -> Token:
        """The leftmost word, which says where the phrase is."""
        phrase: Phrase = self
        while True:
            for child in phrase.children:
                if isinstance(child, Token):
                    return child
                if isinstance(child, Phrase):
                    phrase = child
                    break


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
        raise FormulaSyntaxError(problem, excerpt(text, problem)) from None
    assert isinstance(phrase, Phrase)
    return phrase


_WORD = re.compile(r'"(?:[^"\\\n]|\\.)*"|#[^\n]*|(\w+|\S)')


def words_of(text: str) -> Iterator[tuple[str, int]]:
    """Yield the words and symbols of a text and where they start; strings are left out."""
    for match in _WORD.finditer(text):
        if match[1] is not None:
            yield match[1], match.start()


def _scan(text: str) -> None:
    """Refuse in linear time what the parser would choke on: too long, too deep, unbalanced."""
    opened: list[int] = []
    for count, (word, offset) in enumerate(words_of(text)):
        if count >= MOST_WORDS:
            _refuse(text, offset, f"a formula has at most {MOST_WORDS:,} words and symbols.")
        if word == '"':
            _refuse(text, offset, "this quoted label is never closed on its line.")
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
        opener = f"{before[0].strip()}(" if before else "("
        _refuse(text, opened[-1], f"`{opener}` is never closed. Add the missing `)`.")


def _refuse(text: str, offset: int, message: str) -> None:
    problem = Problem(*locate(text, offset), message)
    raise FormulaSyntaxError(problem, excerpt(text, problem))
