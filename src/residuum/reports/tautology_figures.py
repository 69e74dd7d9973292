"""The picture of the table of tautologies: a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from residuum.analysis import Cell
from residuum.logic import render
from residuum.reports.figures import (
    COLOUR_MAP,
    caption,
    house_style,
    new_figure,
    rounded,
    settle,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH: Final = 0.95
HEIGHT: Final = 0.23
"""The width and height of a cell in inches."""

LONGEST_UPRIGHT: Final = 13
"""The longest name in characters that fits above a cell. Longer names are slanted."""

MARKS: Final = {
    "≠": "differs beyond rounding from the figure printed in the paper, which follows",
    "†": "is no tautology as printed",
    "≈": "the last decimal is not certain",
}
"""The marks in the table, and what they mean."""


def draw_tautologies(rows: Sequence[Sequence[Cell]]) -> Figure:
    """Draw the rows of `tautology_table` as a heat map, by section of the paper's table."""
    sections = [list(group) for _, group in groupby(rows, lambda cells: cells[0].row.section)]
    columns, lines = len(rows[0]), len(rows) + len(sections)  # the name of a section has a line
    with house_style():
        figure = new_figure(WIDTH * columns + 3.8, HEIGHT * lines + 0.8)
        place = figure.add_subplot(xlim=(0, columns), ylim=(lines, 0), frame_on=False)
        top = 0
        for section in sections:
            _write(place, -0.08, top + 0.65, section[0][0].row.section, "bold")
            _fill(place, top + 1, section)
            top += 1 + len(section)
        _name_columns(place, [short(cell.relaxation) for cell in rows[0]])
        place.set_yticks(())
        place.tick_params(length=0, labeltop=True, labelbottom=False)
        figure.colorbar(
            place.collections[0], ax=place, label="mean degree", pad=0.02, shrink=0.5, aspect=30
        )
        caption(figure, *_legend(place))
        return settle(figure)


def _name_columns(place: Axes, names: Sequence[str]) -> None:
    slanted: dict[str, Any] = (
        {"rotation": 30, "ha": "left"} if max(map(len, names)) > LONGEST_UPRIGHT else {}
    )
    place.set_xticks(np.arange(len(names)) + 0.5, names, **slanted)


def _write(place: Axes, x: float, y: float, text: str, weight: str = "normal") -> None:
    place.text(x, y, text, ha="right", va="center", weight=weight)


def _fill(place: Axes, top: int, section: Sequence[Sequence[Cell]]) -> None:
    values = np.array([[cell.computed.value for cell in cells] for cells in section])
    place.pcolormesh(
        np.arange(values.shape[1] + 1),
        np.arange(values.shape[0] + 1) + top,
        values,
        vmin=0,
        vmax=1,
        cmap=COLOUR_MAP,
        edgecolors="white",
    )
    for y, cells in enumerate(section, top):
        formula = render(cells[0].row.formula, "unicode")
        mark = "" if cells[0].row.is_tautology else " †"
        _write(place, -0.08, y + 0.5, cells[0].row.name)
        _write(place, -0.55, y + 0.5, formula + mark)
        for x, cell in enumerate(cells):
            place.text(
                x + 0.5,
                y + 0.5,
                _cell_text(cell),
                ha="center",
                va="center",
                color="white" if cell.computed.value < 0.5 else "black",
                weight="bold" if cell.disagrees else "normal",
            )


def _cell_text(cell: Cell) -> str:
    value = rounded(cell.computed)
    return f"{value} ≠ {cell.printed:g}" if cell.disagrees else value


def _legend(place: Axes) -> list[str]:
    """Return an explanation of each mark that occurs."""
    written = "".join(text.get_text() for text in place.texts)
    return [f"{mark}  {meaning}" for mark, meaning in MARKS.items() if mark in written]
