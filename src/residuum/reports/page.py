"""Sections as one HTML page: no script, and nothing that is fetched from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from residuum.errors import PictureError
from residuum.printable import printable
from residuum.reports.blocks import Picture, Section, with_safe_names
from residuum.reports.colours import DARK, LIGHT, SERIES, heat
from residuum.reports.figures import INK, house_style, picture, write_whole

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure

TITLE: Final = "Relaxations of logic for learning: what was found"


def check_page(path: Path) -> None:
    """Raise now what would make the page fail after a long computation."""
    if not path.absolute().parent.is_dir():
        raise PictureError(f"`{path}`: there is no folder `{path.parent}`; make it first")
    _template()
    with house_style():  # raises if Matplotlib is missing
        pass


def render_page(sections: Sequence[Section], title: str = TITLE) -> str:
    """Return sections as one page of HTML.

    All that the sections hold is text: it is made printable, and the template escapes it.
    """
    template = _template()
    from markupsafe import Markup

    def drawn(block: Picture) -> Markup:
        return Markup(inline_svg(block.figure, block.name, block.description))

    return template.render(
        title=title,
        sections=with_safe_names(sections),
        drawn=drawn,
        heat=heat,
        light=LIGHT,
        dark=DARK,
        bar=SERIES[0],
    )


def _shown(value: object) -> object:
    """Return a value as the template shows it, before it is escaped."""
    return printable(value) if type(value) is str else value  # Markup is HTML already


# What only a separate file needs, and what the style sheet says for all pictures of the page.
_PREAMBLE: Final = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)
# Only tags are changed. The words of a picture stand between them.
_TAG: Final = re.compile(r"<[^>]*>")
_FONT: Final = re.compile(r"font-family: [^;]*; ")
# Coordinates keep a hundredth of a point. Numbers below 1 are factors, and keep all digits.
_DIGITS: Final = re.compile(r"([1-9]\d*\.\d\d)\d+")
_NAME: Final = re.compile(r'\bid="|\bhref="#|\burl\(#')
_SIZE: Final = re.compile(r'(<svg[^>]*?) width="[^"]*" height="[^"]*"')
REMS_AN_INCH: Final = 8.0
"""The width of a picture on the page. Its letters are then nearly as large as those around it."""


def inline_svg(figure: Figure, name: str, description: str) -> str:
    """Return a figure as an element of HTML, in the colour of the text around it.

    `name` comes before each id in the picture, with a colon between, so that ids are unique on the
    page. It is a name from `with_safe_names`, which has no colon.
    """
    svg = _PREAMBLE.sub("", picture(figure, "svg", is_inline=True).decode("utf-8"))
    svg = re.sub(r" *\n *", " ", _TAG.sub(lambda tag: _fitted(tag[0], name), svg))
    width = f"--width: {REMS_AN_INCH * figure.get_figwidth():.1f}rem"
    words = f'role="img" aria-label="{escape(printable(description))}" style="{width}"'
    return _SIZE.sub(lambda found: f"{found[1]} {words}", svg, count=1)


def _fitted(tag: str, name: str) -> str:
    tag = _DIGITS.sub(r"\1", _FONT.sub("", tag)).replace(INK, "currentColor")
    return _NAME.sub(lambda found: f"{found[0]}{name}:", tag)


def write_page(path: Path, page: str) -> None:
    """Write the report, whole, in the place of a file that was there."""
    write_whole(path, page.encode("utf-8"))


def _template() -> Template:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise PictureError(
            "expected Jinja2 to write the report, and it is not installed; "
            "run: pip install 'residuum[report]'"
        ) from None
    environment = Environment(
        loader=PackageLoader("residuum.reports"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html")
