"""Text → phrases: words by the terminals of `grammar.lark`, put together by its rules.

Each word knows at which character it starts, so that a mistake can be shown in its line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import Final, final

from lark import Lark, Token
from lark.exceptions import UnexpectedToken

from residuum.limits import DEEPEST_NESTING, LONGEST_WORD, MOST_WORDS
from residuum.logic.terms import KEYWORDS
from residuum.syntax.mistakes import NO_TERMINAL, Misread, diagnose

LONG: Final = 40
"""The terminal of a word with this many characters or more is not cached."""

QUOTED_OR_COMMENT: Final = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?|#[^\n]*'
"""A quoted label, which ends with its line if it is not closed there, or a comment.

`*+` never backtracks, so that matching a long label takes no memory.
"""

_WORD: Final = re.compile(
    QUOTED_OR_COMMENT
    + r"|[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)?"
    + r"|(?:exists|∃)!(?!=)|[^\W\d]\w*|<->|<=>|->|=>|!=|<=|>=|&&|\|\||\.\.|\S"
)
_ENDINGS: Final = {
    "hidden": "HIDDEN", "sigmoid": "INDEPENDENT", "exclusive": "EXCLUSIVE", "softmax": "EXCLUSIVE",
}  # fmt: skip
_SMOOTHINGS: Final = frozenset({"logistic", "ramp"})
_NAMES_OR_NOT: Final = frozenset(
    {"exactly", "at", "of", "div", "scale", "over", *_ENDINGS, *_SMOOTHINGS}
)
_BOUNDS: Final = frozenset({"least", "most"})
_CLOSED: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')


@final
class Phrase:
    """A node of the concrete syntax tree. It is folded like a formula, and compared by identity.

    `parts` are the phrases directly below this one, and `words` stand in it outside of its parts.
    """

    __slots__ = ("children", "kind", "parts", "words")

    def __init__(self, kind: str, children: list[Phrase | Token]) -> None:
        self.kind = str(kind)  # Lark may give a token, which compares more slowly
        self.children = children  # Lark reads them
        # Lark makes a phrase of every beginning of a list, and puts its children into the next one.
        kept = [] if self.kind.startswith("_") else children
        self.parts = [child for child in kept if isinstance(child, Phrase)]
        self.words = [child for child in kept if isinstance(child, Token)]


def read_phrase(text: str, symbol: str, start: int = 0, end: int | None = None) -> Phrase:
    """Return the phrase that a part of a text spells, or raise `Misread`."""
    end = len(text) if end is None else end
    words = words_of(text, start, end)
    if end - start > LONGEST_WORD:  # fewer characters exceed no limit
        refuse_excess(text, words)
    parser = grammar().parse_interactive(start=symbol)
    feed = parser.parser_state.feed_token
    try:
        for word in words:
            feed(word)
        phrase = parser.feed_eof()  # type: ignore[no-untyped-call]
    except UnexpectedToken as error:
        refuse_excess(text, words)  # its messages are more exact than those below
        part, at_fault = text[start:end], error.token
        is_end = at_fault.type == "$END"
        offset = len(part.rstrip()) if is_end else place_of(at_fault) - start
        accepted = parser.accepts() or error.expected  # type: ignore[no-untyped-call]
        message = diagnose(part, offset, at_fault, accepted)
        raise Misread(start + offset, message) from None
    assert isinstance(phrase, Phrase)
    return phrase


def words_of(text: str, start: int, end: int) -> list[Token]:
    """Return the words, symbols and quoted labels of a part of a text, at most MOST_WORDS + 1."""
    words: list[Token] = []
    for match in _WORD.finditer(text, start, end):
        written = match[0]
        if written[0] == "#":
            continue
        word = str.__new__(Token, written)  # Token(...) itself takes far longer
        word.type = _terminal_of(written) if len(written) < LONG else _match_terminal(written)
        word.start_pos = match.start()
        words.append(word)
        if len(words) > MOST_WORDS:
            break
    _tell_names(words)
    _tell_brackets(words)
    return words


_STARTS_TERM: Final = frozenset({"NAME", "INTEGER", "DECIMAL", "STRING", "LPAR", "MINUS"})
_ENDS_TERM: Final = frozenset({"NAME", "INTEGER", "DECIMAL", "STRING", "RPAR"})
_CONTINUES_TERM: Final = frozenset({"PLUS", "MINUS", "MULTIPLICATIVE", "EQUAL", "COMPARISON"})
_HAS_ARGUMENTS: Final = frozenset({"NAME", "_OF"})
_ENDS_PREDICATE: Final = frozenset({"RPAR", "INDEPENDENT", "EXCLUSIVE"})


def _tell_names(words: Sequence[Token]) -> None:
    """Change the types of the words of counting, `div` and `hidden` or so, where they are no names.

    A name is never followed by an integer, nor is a term by a term. A variable in a quantifier is
    followed by `,` or `in`. `hidden` and its like end the declaration of a predicate, and `scale`
    and a smoothing that of a quantity. `over` follows the name or the weight of a rule.
    """
    earlier = before = ""
    for number, word in enumerate(words):
        if word.type == "NAME" and word in _NAMES_OR_NOT:
            after = [one.type for one in words[number + 1 : number + 3]]
            if word == "div" and before in _ENDS_TERM and after and after[0] in _STARTS_TERM:
                word.type = "MULTIPLICATIVE"
            elif word == "of" and before == "INTEGER" and after[:1] == ["LPAR"]:
                word.type = "_OF"
            elif word in _ENDINGS and (before in _ENDS_PREDICATE or earlier == "_PREDICATE"):
                word.type = _ENDINGS[word]
            elif word == "scale" and (before == "RPAR" or earlier == "_QUANTITY"):
                word.type = "_SCALE"
            elif word == "over" and earlier in ("_RULE", "_WEIGHT"):
                word.type = "_OVER"
            elif word in _SMOOTHINGS and earlier == "_SCALE":
                word.type = "SMOOTHING"
            elif word == "exactly" and after[:1] == ["INTEGER"]:
                word.type = "COUNTING"
            elif word == "at" and after[1:] == ["INTEGER"] and words[number + 1] in _BOUNDS:
                word.type, words[number + 1].type = "_AT", "COUNTING"
        earlier, before = before, word.type


def _tell_brackets(words: Sequence[Token]) -> None:
    """Change the types of brackets around terms, after which the term goes on or is compared.

    One word ahead a parser cannot tell `(x) < 3` from `(P) & Q`.
    """
    opened: list[int] = []
    for number, word in enumerate(words):
        if word.type == "LPAR":
            opened.append(number)
        elif word.type == "RPAR" and opened:
            start = opened.pop()
            is_call = start > 0 and words[start - 1].type in _HAS_ARGUMENTS
            after = words[number + 1].type if number + 1 < len(words) else ""
            if after in _CONTINUES_TERM and not is_call:
                words[start].type = "_TERM_BRACKET"


def place_of(word: Token) -> int:
    """Return the offset in the text at which a word starts."""
    assert word.start_pos is not None
    return word.start_pos


def refuse_excess(text: str, words: Sequence[Token]) -> None:
    """Raise `Misread` for words that are too many, too long, nested too deep or unbalanced.

    One pass over the words finds these before the slower parser meets them.
    """
    opened: list[Token] = []
    for count, word in enumerate(words):
        if count >= MOST_WORDS:
            raise _misread(
                word, f"expected at most {MOST_WORDS:,} words and symbols, got more. Shorten it."
            )
        if word.startswith('"'):
            if not _CLOSED.fullmatch(word):
                raise _misread(word, 'this quoted label is never closed on its line. Add a `"`.')
        elif len(word) > LONGEST_WORD:
            raise _misread(
                word,
                f"expected a word of at most {LONGEST_WORD:,} characters, got {len(word):,}. "
                "Shorten it.",
            )
        elif word == "(":
            opened.append(word)
            if len(opened) > DEEPEST_NESTING:
                raise _misread(
                    word,
                    f"expected brackets nested at most {DEEPEST_NESTING:,} deep, got deeper ones. "
                    "Nest less.",
                )
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


def _match_terminal(word: str) -> str:
    """Return the name of the grammar's terminal that matches a whole word."""
    found = _terminals().fullmatch(word)
    return (found and found.lastgroup) or NO_TERMINAL


_terminal_of = lru_cache(maxsize=4096)(_match_terminal)
