"""Matplotlib in one place: figures without global state, and files that come out the same twice."""

from __future__ import annotations

import os.path
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from residuum.errors import PictureError
from residuum.files import replacing
from residuum.printable import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What a format would otherwise stamp into the file: the time it was made.
_NO_DATE: Final[dict[str, dict[str, Any]]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
COLOURS: Final = "cividis"
"""Perceptually uniform, the same to colour-blind eyes, and monotone in greyscale."""

INK: Final = "#010101"
"""Lines and letters: black to the eye, and told from what must stay black on a dark page."""

_STYLE: Final[dict[str, Any]] = {
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK
    ),
    "text.parse_math": False,  # a name with two dollars in it is no formula
    "font.size": 8,
    "axes.titlesize": 9,
    "figure.titlesize": 11,
    "figure.constrained_layout.h_pad": 0.08,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,  # publishers refuse the default, Type 3
    "svg.hashsalt": "residuum",  # otherwise ids in the file are random
}


@contextmanager
def house_style(also: Mapping[str, Any] = MappingProxyType({})) -> Iterator[None]:
    """Draw and save in one style, whatever the user's own settings of Matplotlib."""
    try:
        from matplotlib import style
    except ImportError:
        raise PictureError(
            "pictures are drawn by Matplotlib, which is not installed; "
            "run: pip install 'residuum[report]'"
        ) from None
    with style.context(["default", {**_STYLE, **also}]):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of so many inches that no window and no other figure knows of."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="compressed")


def short(name: object) -> str:
    """Return a name, made printable and cut to what fits beside its neighbours."""
    text = printable(str(name))
    return text if len(text) <= 24 else f"{text[:23]}…"


def title(figure: Figure, text: str) -> None:
    """Put words above a figure, as many as three lines hold."""
    figure.suptitle(_lines(text, figure.get_figwidth() * 10, 3))


def caption(figure: Figure, *sentences: str) -> None:
    """Put sentences below a figure, each on a line of its own."""
    lines = [_lines(sentence, figure.get_figwidth() * 14, None) for sentence in sentences]
    figure.supxlabel("\n".join(lines), fontsize="medium")


def _lines(text: str, width: float, most: int | None) -> str:
    return textwrap.fill(printable(text), int(width), max_lines=most, placeholder=" …")


def settle(figure: Figure) -> Figure:
    """Lay a figure out for good: laid out anew at each saving, it would drift a little."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def check_picture(path: Path) -> None:
    """Raise at once what would make `save_picture` fail after the work is done."""
    _format(path)
    if not os.path.isdir(path.parent):
        raise PictureError(f"`{path}`: there is no folder `{path.parent}`; make it first")
    with house_style():  # is Matplotlib there?
        pass


def picture(figure: Figure, form: str, *, is_inline: bool = False) -> bytes:
    """Return a figure as a file of the format `png`, `svg` or `pdf`; the same bytes every time.

    As a part of a page it has no background, and its words are text, which can be searched.
    """
    if form not in _NO_DATE:
        raise PictureError(f"expected the format png, svg or pdf, got {form!r}")
    buffer = BytesIO()
    with house_style({"svg.fonttype": "none"} if is_inline else {}):
        figure.savefig(buffer, format=form, metadata=_NO_DATE[form], transparent=is_inline)
    return buffer.getvalue()


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure to a file in the format of its suffix."""
    write_whole(path, picture(figure, _format(path)))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of a report: all of it or nothing, so that a full disk leaves no half."""
    try:
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        raise PictureError(
            f"`{path}` cannot be written ({error.strerror}); name another place, or make room there"
        ) from None


def _format(path: Path) -> str:
    form = path.suffix.lower().removeprefix(".")
    if form not in _NO_DATE:
        raise PictureError(
            f"`{path}`: expected a name that ends in .png, .svg or .pdf, "
            f"got {f'`{path.suffix}`' if path.suffix else 'no ending'}"
        )
    return form
