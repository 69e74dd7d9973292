"""Mistakes in a text: what is wrong, in words a person can act on, and the line with a caret."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from lark import Token

from residuum.errors import Problem, clipped, suggest
from residuum.limits import MOST_SHOWN
from residuum.logic.terms import KEYWORDS

NO_TERMINAL: Final = "NO_TERMINAL"
"""The type of a word that the grammar does not have."""

WIDEST_EXCERPT: Final = 76
"""The most characters of a line that an excerpt shows."""

# Symbols and words of other languages → ours. Longer symbols first, because `<=>` contains `=>`.
_FOREIGN: Final = {
    "<==>": "<->", "==>": "->", "⇒": "->", "⇔": "<->", "⊃": "->",
    "/\\": "&", "\\/": "|", "^": "&", "−": "-", "%": "mod",
    "//": "div", "'": '"', ".": ":", "[": "(", "]": ")", "{": "(", "}": ")",
}  # fmt: skip
_FOREIGN_WORDS: Final = {
    "xor": "~(P <-> Q)", "then": "->", "if": "P -> Q", "all": "forall", "some": "exists",
    "any": "exists", "v": "|", "such": "where", "suchthat": "where",
}  # fmt: skip

_READABLE: Final = {
    "_IFF": "`<->`", "_IMPLIES": "`->`", "_OR": "`|`", "_AND": "`&`", "_NOT": "`~`",
    "_AT": "`at`", "COUNTING": "`exactly`", "_OF": "`of`", "_EXISTS_ONE": "`exists!`",
    "_FORALL": "`forall`", "_EXISTS": "`exists`", "_IN": "`in` with a domain", "_WHERE": "`where`",
    "TRUE": "`true`", "FALSE": "`false`", "NAME": "a name", "INTEGER": "an integer",
    "STRING": "a quoted label", "DECIMAL": "a number", "EQUAL": "`=`", "PLUS": "`+`",
    "MINUS": "`-`", "MULTIPLICATIVE": "`*`, `/`, `mod` or `div`", "COMPARISON": "a comparison",
    "LPAR": "`(`", "RPAR": "`)`", "COMMA": "`,`", "COLON": "`:`", "__ANON_0": "`..`",
    "SEQUENCE": "`sequence`", "INDEPENDENT": "`independent`", "HIDDEN": "`hidden`",
    "EXCLUSIVE": "`exclusive`", "_WEIGHT": "`weight`", "_SCALE": "`scale`", "_OVER": "`over`",
    "PERCENT": "`%`",
    "SMOOTHING": "`logistic` or `ramp`", "$END": "the end",
}  # fmt: skip
_STARTS_FORMULA: Final = {
    "NAME", "LPAR", "_NOT", "_FORALL", "_EXISTS", "_EXISTS_ONE", "_AT", "COUNTING", "TRUE", "FALSE",
}  # fmt: skip
_STARTS_TERM: Final = {"NAME", "_TERM_BRACKET", "INTEGER", "DECIMAL", "STRING", "MINUS"}
_CONTINUES_TERM: Final = {"PLUS", "MINUS", "MULTIPLICATIVE", "EQUAL", "COMPARISON"}
_CONNECTIVES: Final = {"_IFF", "_IMPLIES", "_OR", "_AND"}


class Mistake(NamedTuple):
    """One mistake in a text: the offset of a character, and a message."""

    offset: int
    message: str


class Misread(Exception):  # noqa: N818  # never reaches a user: it becomes an error in words
    """A mistake after which a text cannot be read any further."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.mistake = Mistake(offset, message)


def diagnose(text: str, offset: int, word: Token, accepted: Collection[str]) -> str:
    """Return a message for a word that does not fit: what was expected, what was found, advice.

    `accepted` are the terminals that fit in its place.
    """
    if word.type == NO_TERMINAL:
        message = f"{_shown(text[offset])} means nothing here."
    else:
        found = "the end" if word.type == "$END" else f"`{clipped(str(word))}`"
        message = f"expected {_expected(accepted)}, got {found}."
    return message + _advice(text, offset)


def _shown(character: str) -> str:
    return f"`{character}`" if character.isprintable() else f"the character U+{ord(character):04X}"


def _expected(terminals: Collection[str]) -> str:
    accepted = set(terminals)
    named = []
    if accepted >= _STARTS_FORMULA:
        named.append("a formula")
        accepted -= _STARTS_FORMULA | _STARTS_TERM
    elif accepted >= _STARTS_TERM:
        named.append("a term")
        accepted -= _STARTS_TERM | {"LPAR"}
    if accepted >= _CONNECTIVES:
        named.append("a connective")
        accepted -= _CONNECTIVES | _CONTINUES_TERM  # a name is seldom meant as a quantity
    elif accepted >= _CONTINUES_TERM:
        named.append("a comparison")
        accepted -= _CONTINUES_TERM
    named += sorted(_READABLE.get(kind, f"`{kind.strip('_').lower()}`") for kind in accepted)
    return " or ".join(filter(None, (", ".join(named[:-1]), named[-1] if named else "")))


def _advice(text: str, offset: int) -> str:
    for foreign, ours in _FOREIGN.items():
        # The parser may have read the first character of a foreign symbol as one of ours.
        start = text.rfind(foreign, max(0, offset - len(foreign) + 1), offset + len(foreign))
        if start >= 0 and not text.startswith("!=", start):
            return f" Did you mean `{ours}`?"
    if text[max(0, offset - 1) : offset + 1] == "==":
        return " Did you mean `=`? One `=` is enough. Formulas are equivalent by `<->`."
    if text.startswith(("=", "!=", "<", ">", "≠", "≤", "≥"), offset):
        equivalence = " Did you mean `<->`?" if text[offset] == "=" else ""
        return equivalence + " Only quantities are compared outside a `where` guard."
    # The mistake may be in the word before: `Foral x …` does not fit at x.
    here = re.compile(r"\w+").match(text, offset)
    before = re.search(r"(\w+)\s*$", text[max(0, offset - 80) : offset])
    words = (here[0] if here else "", before[1] if before else "")
    is_negative = re.search(r"\b(?:exactly|least|most)\s*-\s*\d+\s*$", text[:offset][-80:])
    if is_negative or any(word in ("exactly", "least", "most", "at") for word in words):
        return " Counts are written `at least 2 x in D: P(x)` or `at least 2 of (P, Q)`."
    for word in words:
        if word and word.lower() in _FOREIGN_WORDS:
            return f" Did you mean `{_FOREIGN_WORDS[word.lower()]}`?"
        if word and word not in KEYWORDS:
            advice = suggest(word, KEYWORDS, alike=0.8)
            if advice:
                return advice
    return ""


def explain(text: str, mistakes: Iterable[Mistake]) -> list[tuple[Problem, str]]:
    """Return each mistake once, in the order of the text, with its line, column and excerpt.

    An error message shows only the first mistakes. The others get an empty excerpt.

    >>> [(problem, _)] = explain("a\\nbc", [Mistake(3, "no")])
    >>> print(problem)
    line 2, column 2: no
    """
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    explained: list[tuple[Problem, str]] = []
    for offset, message in sorted(set(mistakes)):
        line = bisect_right(starts, offset)
        problem = Problem(line, offset - starts[line - 1] + 1, message)
        is_shown = len(explained) < MOST_SHOWN
        explained.append((problem, excerpt(lines, problem) if is_shown else ""))
    return explained


def excerpt(lines: Sequence[str], problem: Problem) -> str:
    """Return the line of a problem and a caret under its column, cut to a readable width.

    >>> print(excerpt(["P =>", "  Q Q"], Problem(2, 5, "")))
          Q Q
            ^
    """
    line = lines[problem.line - 1] if problem.line <= len(lines) else ""
    column = problem.column - 1
    start = max(0, column - WIDEST_EXCERPT // 2) if len(line) > WIDEST_EXCERPT else 0
    shown = "".join(_visible(character) for character in line[start : start + WIDEST_EXCERPT])
    dots = "…" if start else ""
    return f"    {dots}{shown.rstrip()}\n    {' ' * (len(dots) + column - start)}^"


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"
