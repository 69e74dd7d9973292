"""Matplotlib in one place: one style for all figures, and the same bytes for the same figure.

Figures are made without pyplot, so that no global state changes and no window opens.
"""

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

    from residuum.analysis import Consistency

# Matplotlib would write the time into the file, and no two files would be the same.
_NO_DATE: Final[dict[str, dict[str, Any]]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
COLOUR_MAP: Final = "cividis"
"""The colour map of degrees: perceptually uniform, also to colour-blind eyes, monotone in grey."""

INK: Final = "#010101"
"""The colour of lines and letters: black to the eye, but not #000000. The page replaces this colour
by that of its text, and leaves what must stay black."""

_STYLE: Final[dict[str, Any]] = {
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK
    ),
    "text.parse_math": False,  # a name may hold two dollar signs
    "font.size": 8,
    "axes.titlesize": 9,
    "figure.titlesize": 11,
    "figure.constrained_layout.h_pad": 0.08,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,  # publishers refuse the default, Type 3
    "svg.hashsalt": "residuum",  # the default makes random ids
}


@contextmanager
def house_style(also: Mapping[str, Any] = MappingProxyType({})) -> Iterator[None]:
    """Draw and save in one style, whatever the user has set in Matplotlib."""
    try:
        from matplotlib import style
    except ImportError:
        raise PictureError(
            "expected Matplotlib to draw pictures, and it is not installed; "
            "run: pip install 'residuum[report]'"
        ) from None
    with style.context(["default", {**_STYLE, **also}]):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure; width and height are in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="compressed")


def short(name: object) -> str:
    """Return a name, made printable and cut to 24 characters, so that it fits beside others."""
    text = printable(str(name))
    return text if len(text) <= 24 else f"{text[:23]}…"


def rounded(result: Consistency) -> str:
    """Return a result in few characters: three decimals if they are certain, else `≈` and two.

    0 and 1 that are known exactly have no decimals, so that 1 differs from nearly 1, 1.000.
    """
    if result.exact in (0, 1):
        return str(result.exact)
    low, high = f"{result.low:.3f}", f"{result.high:.3f}"
    return low if low == high else f"≈{result.value:.2f}"


def title(figure: Figure, text: str) -> None:
    """Write a title above a figure, in at most three lines."""
    figure.suptitle(_lines(text, figure.get_figwidth() * 10, 3))


def caption(figure: Figure, *sentences: str) -> None:
    """Write sentences below a figure, each from a new line."""
    lines = [_lines(sentence, figure.get_figwidth() * 14, None) for sentence in sentences]
    figure.supxlabel("\n".join(lines), fontsize="medium")


def _lines(text: str, width: float, most: int | None) -> str:
    return textwrap.fill(printable(text), int(width), max_lines=most, placeholder=" …")


def settle(figure: Figure) -> Figure:
    """Lay out a figure once. A layout that is computed at each saving drifts a little."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def check_picture(path: Path) -> None:
    """Raise now what would make `save_picture` fail after a long computation."""
    _format(path)
    if not os.path.isdir(path.parent):
        raise PictureError(f"`{path}`: there is no folder `{path.parent}`; make it first")
    with house_style():  # raises if Matplotlib is missing
        pass


def picture(figure: Figure, form: str, *, is_inline: bool = False) -> bytes:
    """Return the bytes of a file of the format `png`, `svg` or `pdf`, the same every time.

    With `is_inline` the background is transparent and words are text, so that a reader can search
    for them on the page.
    """
    if form not in _NO_DATE:
        raise PictureError(f"expected the format png, svg or pdf, got {form!r}; name one of these")
    buffer = BytesIO()
    with house_style({"svg.fonttype": "none"} if is_inline else {}):
        figure.savefig(buffer, format=form, metadata=_NO_DATE[form], transparent=is_inline)
    return buffer.getvalue()


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure to a file; the ending of the name decides the format."""
    write_whole(path, picture(figure, _format(path)))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of a report: all of it or nothing, so that a full disk leaves no half file."""
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
            f"got {f'`{path.suffix}`' if path.suffix else 'no ending'}; change the ending"
        )
    return form
