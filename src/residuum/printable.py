"""Text from outside, made safe to show: one line of visible characters.

Labels, names of files and values in records may hold anything: escape sequences that control a
terminal, line breaks, characters that reverse the order of the text after them.
"""

from __future__ import annotations


def printable(given: object) -> str:
    r"""Return text, or the path of a file, with each character that cannot be seen as an escape.

    >>> printable("a\x1b[31m\nb\u202ec")
    'a\\x1b[31m\\nb\\u202ec'
    """
    text = str(given)
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def printable_lines(text: str) -> str:
    r"""Return the same of each line: line breaks stay.

    >>> printable_lines("a\n\tb")
    'a\n\\tb'
    """
    return "\n".join(map(printable, text.split("\n")))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
