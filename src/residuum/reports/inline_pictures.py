"""Figures as part of a page: SVG that takes the page's ink and brings no names that clash."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

from residuum.printable import printable
from residuum.reports.figures import INK, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What a file of its own needs, and what the page says for all its parts.
_PREAMBLE: Final = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)
# Words of a picture stand between its tags, and stay as they are.
_TAG: Final = re.compile(r"<[^>]*>")
_FONT: Final = re.compile(r"font-family: [^;]*; ")
# Coordinates to a hundredth of a point; smaller numbers are factors, and stay.
_DIGITS: Final = re.compile(r"([1-9]\d*\.\d\d)\d+")
_NAME: Final = re.compile(r'\bid="|\bhref="#|\burl\(#')
_SIZE: Final = re.compile(r'(<svg[^>]*?) width="[^"]*" height="[^"]*"')
REMS_AN_INCH: Final = 8.0
"""How large a figure is shown where there is room: its letters are nearly as large as others."""


def inline_svg(figure: Figure, name: str, description: str) -> str:
    """Return a figure as an element of HTML; `name` makes its ids unique on the page.

    `name` is one of `with_safe_names`: it has no colon, which stands between it and each id.
    Letters and lines have the colour of the text around it, and the background is the page's.
    """
    svg = _PREAMBLE.sub("", picture(figure, "svg", is_inline=True).decode("utf-8"))
    svg = re.sub(r" *\n *", " ", _TAG.sub(lambda tag: _fitted(tag[0], name), svg))
    width = f"--width: {REMS_AN_INCH * figure.get_figwidth():.1f}rem"
    words = f'role="img" aria-label="{escape(printable(description))}" style="{width}"'
    return _SIZE.sub(lambda found: f"{found[1]} {words}", svg, count=1)


def _fitted(tag: str, name: str) -> str:
    tag = _DIGITS.sub(r"\1", _FONT.sub("", tag)).replace(INK, "currentColor")
    return _NAME.sub(lambda found: f"{found[0]}{name}:", tag)
