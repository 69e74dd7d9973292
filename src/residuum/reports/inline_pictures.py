"""Figures as part of a page: SVG that takes the page's ink and brings no names that clash."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

from residuum.reports.figures import INK, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What a file of its own needs, and what the page says for all its parts.
_PREAMBLE: Final = re.compile(
    r"^.*?(?=<svg)|<metadata>.*?</metadata>|<style.*?</style>|font-family: [^;]*; ", re.DOTALL
)
# Coordinates to a hundredth of a point; smaller numbers are factors, and stay.
_DIGITS: Final = re.compile(r"([1-9]\d*\.\d\d)\d+")
_SIZE: Final = re.compile(r'(<svg[^>]*?) width="[^"]*" height="[^"]*"')
REMS_AN_INCH: Final = 8.0
"""How large a figure is shown where there is room: its letters are nearly as large as others."""


def inline_svg(figure: Figure, name: str, description: str) -> str:
    """Return a figure as an element of HTML; `name` makes its ids unique on the page.

    Letters and lines have the colour of the text around it, and the background is the page's.
    """
    svg = _PREAMBLE.sub("", picture(figure, "svg", is_inline=True).decode("utf-8"))
    width = f"--width: {REMS_AN_INCH * figure.get_figwidth():.1f}rem"
    words = f'role="img" aria-label="{escape(description)}" style="{width}"'
    svg = _SIZE.sub(lambda found: f"{found[1]} {words}", svg, count=1)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = svg.replace('href="#', f'href="#{name}-').replace("url(#", f"url(#{name}-")
    svg = re.sub(r" *\n *", " ", _DIGITS.sub(r"\1", svg))
    return svg.replace(INK, "currentColor")
