"""Formulas of one atom: the curve of the degree, and its slope below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from residuum.logic import Atom
from residuum.relaxations.arrays import Array
from residuum.reports.figures import INK, new_figure, short
from residuum.reports.panels import CURVE, PANELS_IN_A_ROW, TICKS, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEEPEST: Final = 4.0
"""The slope's axis goes no further, however steep the curve."""


def draw_curves(atom: Atom, panels: Sequence[Panel]) -> Figure:
    """Draw the panels of a formula of one atom."""
    columns = min(len(panels), PANELS_IN_A_ROW)
    rows = -(-len(panels) // columns)
    figure = new_figure(1.95 * columns + 0.6, 3.4 * rows + 0.4)
    reach = 1.1 * _steepest(panels)
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        index = 2 * row * columns + column + 1
        upper = figure.add_subplot(2 * rows, columns, index, ylim=(-0.05, 1.05))
        lower = figure.add_subplot(2 * rows, columns, index + columns, ylim=(-reach, reach))
        _draw(upper, lower, panel)
        panel.label(lower, atom)
        if column == 0:
            upper.set_ylabel("degree")
            lower.set_ylabel("slope")
    return figure


def _draw(upper: Axes, lower: Axes, panel: Panel) -> None:
    upper.set_title(short(panel.relaxation))
    upper.plot(CURVE, cut_at_jumps(panel.degrees), color=INK)
    upper.set_xticks(TICKS[0], [])
    upper.set_yticks(*TICKS)
    lower.axhline(0, color="grey", linewidth=0.5)
    lower.plot(CURVE, cut_at_jumps(panel.slopes[0]), color=INK)


def _steepest(panels: Sequence[Panel]) -> float:
    sizes = np.abs([panel.slopes[0] for panel in panels])
    return float(np.clip(sizes[np.isfinite(sizes)].max(initial=0), 1, STEEPEST))


def cut_at_jumps(values: Array) -> Array:
    """Return the values of a curve with a gap wherever one step dwarfs those beside it."""
    steps = np.abs(np.diff(values, prepend=values[0], append=values[-1]))
    jumps = steps[1:-1] > 4 * np.maximum(steps[:-2], steps[2:]) + 1e-9
    return np.where(np.append(jumps, False), np.nan, values)
