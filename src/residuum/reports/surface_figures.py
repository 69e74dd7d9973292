"""Pictures of a formula of one or two atoms: its degree and its gradient under each relaxation.

Two atoms span a square, where colours are degrees and arrows are gradients. One atom spans a line:
the curve of the degree, and the curve of the gradient below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from residuum.analysis import Consistency, consistency
from residuum.analysis.consistency import refuse_what_has_no_cube
from residuum.analysis.gradients import gradient_at
from residuum.errors import PictureError, listed
from residuum.logic import Atom, Formula, atoms_of, render
from residuum.relaxations import PAPER, Relaxation, truth
from residuum.relaxations import relaxation as find_relaxation
from residuum.relaxations.arrays import Array
from residuum.reports.figures import (
    COLOUR_MAP,
    INK,
    caption,
    house_style,
    new_figure,
    rounded,
    settle,
    short,
    title,
)
from residuum.syntax import as_formula

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

PANELS_IN_A_ROW: Final = 5
TICKS: Final = ((0, 0.5, 1), ("0", "½", "1"))

LARGEST_ARROW: Final = 1.5
"""A larger gradient is drawn as long as one of this size, so that arrows do not overlap."""

ARROW_LENGTH: Final = 0.095
"""The length of the longest arrow in units of the axes, a little less than the distance to the
next arrow."""

LARGEST_ON_AXIS: Final = 4.0
"""The axis of the gradient of a curve ends here, even where the gradient is larger."""

ROUNDING: Final = 1e-9
"""A gradient below this is zero up to rounding."""


def _centres(cells: int) -> Array:
    """Return the centres of equal cells of [0, 1]."""
    return (np.arange(cells) + 0.5) / cells


# Powers of two, so that 1 - x is exact and no rounding crosses a jump.
CURVE: Final = _centres(512)
SURFACE: Final = _centres(256)
# Odd sixteenths and odd twentieths. Many gradients do not exist where p = q, p + q = 1, p = 1/2 or
# q = 1/2, and no arrow stands there.
ARROWS: Final = np.stack([side.ravel() for side in np.meshgrid(_centres(8), _centres(10))])


@dataclass(frozen=True)
class Panel:
    """The degrees, gradients and mean degree of a formula under one relaxation.

    For one atom, `degrees` and the one row of `gradients` are over CURVE. For two atoms,
    `degrees[j, i]` belongs to the first atom at `SURFACE[i]` and the second at `SURFACE[j]`, and
    `gradients` has a row for each atom and a column for each of ARROWS.
    """

    relaxation: Relaxation
    degrees: Array
    gradients: Array
    mean: Consistency

    def label(self, place: Axes, atom: Atom) -> None:
        """Write the name of the axis and the mean degree below the panel."""
        exact = self.mean.exact
        is_short = isinstance(exact, Fraction) and exact.denominator < 1000
        mean = exact if is_short else rounded(self.mean)
        place.set_xlabel(f"{short(atom)}\nmean {mean}")
        place.set_xticks(*TICKS)


def draw_surfaces(
    formula: str | Formula, relaxations: Sequence[str | Relaxation] = PAPER
) -> Figure:
    """Draw the degree and the gradient of a formula of one or two atoms, a panel per relaxation."""
    read = as_formula(formula)
    refuse_what_has_no_cube(read)
    atoms = atoms_of(read)
    _refuse_what_has_no_axes(atoms)
    if not relaxations:
        raise PictureError("expected at least one relaxation, got none; name one")
    panels = [_compute_panel(read, find_relaxation(one)) for one in relaxations]
    with house_style():
        figure = _draw_squares(atoms, panels) if len(atoms) == 2 else _draw_curves(atoms[0], panels)
        title(figure, render(read, "unicode"))
        return settle(figure)


def _refuse_what_has_no_axes(atoms: Sequence[Atom]) -> None:
    expected = "expected a formula of one or two atoms, one for each axis"
    if not atoms:
        raise PictureError(
            f"{expected}, got one without atoms, whose degree is the same everywhere; "
            "`residuum truth` prints it"
        )
    if len(atoms) > 2:
        names = listed(f"`{atom}`" for atom in atoms)
        raise PictureError(
            f"{expected}, got {len(atoms)} ({names}); put `true` or `false` in place of the others"
        )


def _compute_panel(formula: Formula, relaxation: Relaxation) -> Panel:
    atoms = atoms_of(formula)
    is_square = len(atoms) == 2
    grid = np.meshgrid(SURFACE, SURFACE) if is_square else [CURVE]
    degrees = truth(formula, dict(zip(atoms, grid, strict=True)), relaxation)
    gradients = gradient_at(formula, atoms, relaxation, ARROWS if is_square else CURVE[None])
    mean = consistency(formula, relaxation, seconds=0.2)  # enough for the three decimals shown
    return Panel(relaxation, degrees, gradients, mean)


def _draw_squares(atoms: Sequence[Atom], panels: Sequence[Panel]) -> Figure:
    columns = min(len(panels), PANELS_IN_A_ROW)
    rows = -(-len(panels) // columns)
    figure = new_figure(1.95 * columns + 0.8, 2.4 * rows + 0.6)
    places = [figure.add_subplot(rows, columns, number + 1) for number in range(len(panels))]
    for place, panel in zip(places, panels, strict=True):
        image = _paint_degrees(place, panel)
        _draw_arrows(place, panel)
        place.set_title(short(panel.relaxation))
        place.set_yticks(*TICKS)
        panel.label(place, atoms[0])
    for place in places[::columns]:
        place.set_ylabel(short(atoms[1]))
    figure.colorbar(image, ax=places, label="degree", pad=0.02, shrink=0.85, aspect=20 * rows)
    arrows = f"Arrows: the gradient, the longest of size {LARGEST_ARROW:g} or more."
    caption(figure, f"{arrows} Dots: the gradient is zero.")
    return figure


def _paint_degrees(place: Axes, panel: Panel) -> AxesImage:
    return place.imshow(
        panel.degrees,
        origin="lower",
        extent=(0, 1, 0, 1),
        vmin=0,
        vmax=1,
        cmap=COLOUR_MAP,
        interpolation="nearest",  # a jump stays a jump
    )


def _draw_arrows(place: Axes, panel: Panel) -> None:
    """Draw an arrow where there is a gradient, and a dot where it is zero."""
    sizes = np.hypot(*panel.gradients)
    moving, still = np.isfinite(sizes) & (sizes > ROUNDING), sizes <= ROUNDING
    edged: dict[str, Any] = {"facecolor": "white", "edgecolor": "black", "linewidth": 0.4}
    place.quiver(
        *ARROWS[:, moving],
        *(panel.gradients[:, moving] * np.minimum(1, LARGEST_ARROW / sizes[moving])),
        angles="xy",
        scale_units="xy",
        scale=LARGEST_ARROW / ARROW_LENGTH,
        pivot="mid",
        width=0.011,
        headwidth=3.6,
        headlength=3.6,
        headaxislength=3.2,
        minlength=0,  # Matplotlib would draw a short arrow as a dot
        **edged,
    )
    place.scatter(ARROWS[0, still], ARROWS[1, still], s=7, **edged)


def _draw_curves(atom: Atom, panels: Sequence[Panel]) -> Figure:
    columns = min(len(panels), PANELS_IN_A_ROW)
    rows = -(-len(panels) // columns)
    figure = new_figure(1.95 * columns + 0.6, 3.4 * rows + 0.4)
    reach = 1.1 * _largest_gradient(panels)
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        index = 2 * row * columns + column + 1
        upper = figure.add_subplot(2 * rows, columns, index, ylim=(-0.05, 1.05))
        lower = figure.add_subplot(2 * rows, columns, index + columns, ylim=(-reach, reach))
        upper.set_title(short(panel.relaxation))
        upper.plot(CURVE, cut_at_jumps(panel.degrees), color=INK)
        upper.set_xticks(TICKS[0], [])
        upper.set_yticks(*TICKS)
        lower.axhline(0, color="grey", linewidth=0.5)
        lower.plot(CURVE, cut_at_jumps(panel.gradients[0]), color=INK)
        panel.label(lower, atom)
        if column == 0:
            upper.set_ylabel("degree")
            lower.set_ylabel("gradient")
    return figure


def _largest_gradient(panels: Sequence[Panel]) -> float:
    """Return the size of the largest gradient, but at least 1 and at most LARGEST_ON_AXIS."""
    sizes = np.abs([panel.gradients[0] for panel in panels])
    return float(np.clip(sizes[np.isfinite(sizes)].max(initial=0), 1, LARGEST_ON_AXIS))


def cut_at_jumps(values: Array) -> Array:
    """Return the values of a curve, with NaN where one step dwarfs the steps beside it.

    Matplotlib draws a gap there instead of a vertical line.
    """
    steps = np.abs(np.diff(values, prepend=values[0], append=values[-1]))
    jumps = steps[1:-1] > 4 * np.maximum(steps[:-2], steps[2:]) + 1e-9
    return np.where(np.append(jumps, False), np.nan, values)
