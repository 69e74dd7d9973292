"""The picture of a sweep: a dot for each trial, and a line for the best so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from residuum.errors import PictureError
from residuum.reports.figures import INK, caption, house_style, new_figure, settle, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from residuum.sweeps.progress import Progress

PANELS_IN_A_ROW: Final = 3
DOT: Final = "#2563a8"


def draw_sweep(found: Sequence[Progress], measure: str) -> Figure:
    """Draw a panel for each configuration with a finished trial."""
    panels = [one for one in found if one.values]
    if not panels:
        raise PictureError(
            "expected a finished trial to draw, got none; leave out --output, or "
            "run the sweep first"
        )
    columns = min(len(panels), PANELS_IN_A_ROW)
    rows = -(-len(panels) // columns)
    with house_style():
        figure = new_figure(2.6 * columns + 0.8, 2.2 * rows + 0.6)
        for number, one in enumerate(panels):
            first = figure.axes[0] if number else None
            place = figure.add_subplot(rows, columns, number + 1, sharey=first)
            numbers = sorted(one.values)
            values = [one.values[trial] for trial in numbers]
            place.scatter(numbers, values, s=9, color=DOT)
            place.step(numbers, list(accumulate(values, max)), where="post", color=INK, lw=0.8)
            place.set_title(_title(one.configuration))
            place.set_xlabel("trial")
            if number % columns == 0:
                place.set_ylabel(f"{short(measure)} on DEV, %")
        caption(figure, "Each dot is a trial that went all the way; the line is the best so far.")
        return settle(figure)


def _title(configuration: Mapping[str, object]) -> str:
    return short(", ".join(map(str, configuration.values())) or "all trials")
