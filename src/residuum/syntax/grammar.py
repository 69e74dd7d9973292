"""The grammar of `grammar.lark`: which terminal a word is, and the phrases that words make."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import resources
from typing import Final, final

from lark import Lark, Token

NO_TERMINAL: Final = "NO_TERMINAL"
"""The kind of a word that the grammar does not have."""


@final
class Phrase:
    """A node of the concrete syntax tree, folded like a formula; compared by identity."""

    __slots__ = ("children", "kind")

    def __init__(self, kind: str, children: list[Phrase | Token]) -> None:
        self.kind = str(kind)  # Lark may give a token, which compares more slowly
        self.children = children

    @property
    def parts(self) -> list[Phrase]:
        """The phrases directly below."""
        return [child for child in self.children if isinstance(child, Phrase)]

    @property
    def words(self) -> list[Token]:
        """The words that stand in the phrase itself."""
        return [child for child in self.children if isinstance(child, Token)]


@cache
def grammar() -> Lark:
    """Return the parser that words are fed to."""
    text = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        text,
        start=["formula", "declaration"],
        parser="lalr",
        lexer="basic",
        tree_class=Phrase,
        maybe_placeholders=False,
    )


@cache
def _terminals() -> re.Pattern[str]:
    ordered = sorted(grammar().terminals, key=lambda one: -one.priority)
    return re.compile("|".join(f"(?P<{one.name}>{one.pattern.to_regexp()})" for one in ordered))


@lru_cache(maxsize=4096)
def kind_of(word: str) -> str:
    """Return the name of the terminal that a whole word is; it is remembered."""
    return kind_of_long(word)


def kind_of_long(word: str) -> str:
    """Return the same of a word that is too long to be worth the memory."""
    found = _terminals().fullmatch(word)
    return (found and found.lastgroup) or NO_TERMINAL
