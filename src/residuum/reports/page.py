"""Sections as one HTML file that needs nothing else to be shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from residuum.errors import PictureError
from residuum.printable import printable
from residuum.reports.colours import DARK, LIGHT, heat
from residuum.reports.figures import house_style, write_whole
from residuum.reports.inline_pictures import inline_svg
from residuum.reports.sections import Picture, Section, with_safe_names

if TYPE_CHECKING:
    from jinja2 import Template

TITLE: Final = "Relaxations of logic for learning: what was found"


def check_page(path: Path) -> None:
    """Raise at once what would make the page fail after the work is done."""
    if not path.absolute().parent.is_dir():
        raise PictureError(f"`{path}`: there is no folder `{path.parent}`; make it first")
    _template()
    with house_style():  # is Matplotlib there?
        pass


def render_page(sections: Sequence[Section]) -> str:
    """Return the report as HTML: no script, and no address that is fetched.

    Whatever the sections hold is text: the template escapes it, and here it is made printable.
    """
    template = _template()
    from markupsafe import Markup

    def drawn(picture: Picture) -> Markup:
        return Markup(inline_svg(picture.figure, picture.name, picture.description))

    return template.render(
        title=TITLE,
        sections=with_safe_names(sections),
        drawn=drawn,
        heat=heat,
        light=LIGHT,
        dark=DARK,
    )


def _shown(value: object) -> object:
    """Return what the template puts into the page, before it escapes it."""
    return printable(value) if type(value) is str else value  # not what is HTML already


def write_page(path: Path, page: str) -> None:
    """Write the report, whole, in the place of a file that was there."""
    write_whole(path, page.encode("utf-8"))


def _template() -> Template:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise PictureError(
            "the report is written by Jinja2, which is not installed; "
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
