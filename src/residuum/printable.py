"""Text of users made safe to print: invisible characters become escapes.

Labels, names of files and values in records may hold anything: escape sequences that control a
terminal, line breaks, characters that reverse the order of the text after them.
"""

from __future__ import annotations


def printable(given: object) -> str:
    r"""Return a value as one line of text; each invisible character becomes an escape.

    >>> printable("a\x1b[31m\nb\u202ec")
    'a\\x1b[31m\\nb\\u202ec'
    """
    text = str(given)
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def printable_lines(text: str) -> str:
    r"""Return text with its line breaks; each other invisible character becomes an escape.

    >>> printable_lines("a\n\tb")
    'a\n\\tb'
    """
    return "\n".join(map(printable, text.split("\n")))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
