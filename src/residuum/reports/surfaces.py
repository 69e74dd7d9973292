"""The degree of a formula under several relaxations, side by side, with its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from residuum.analysis.consistency import refuse_what_has_no_cube
from residuum.errors import PictureError
from residuum.logic import Atom, Formula, atoms_of, render
from residuum.relaxations import PAPER, Relaxation
from residuum.relaxations import relaxation as find_relaxation
from residuum.reports.curves import draw_curves
from residuum.reports.figures import COLOURS, caption, house_style, new_figure, settle, short, title
from residuum.reports.panels import ARROWS, PANELS_IN_A_ROW, TICKS, Panel, compute_panel
from residuum.syntax import as_formula

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

STEEPEST: Final = 1.5
"""Steeper gradients are drawn as long as this one, so that they do not run into each other."""

LONGEST: Final = 0.095
"""The length of the longest arrow, a little less than the distance to the next."""

ROUNDING: Final = 1e-9
"""Smaller gradients are zero, but for rounding."""


def draw_surfaces(
    formula: str | Formula, relaxations: Sequence[str | Relaxation] = PAPER
) -> Figure:
    """Draw a formula of one or two atoms: its degree, and its gradient or slope."""
    read = as_formula(formula)
    refuse_what_has_no_cube(read)
    atoms = atoms_of(read)
    _refuse_what_has_no_axes(atoms)
    if not relaxations:
        raise PictureError("expected at least one relaxation, got none")
    panels = [compute_panel(read, find_relaxation(one)) for one in relaxations]
    with house_style():
        figure = _draw(atoms, panels) if len(atoms) == 2 else draw_curves(atoms[0], panels)
        title(figure, render(read, "unicode"))
        return settle(figure)


def _refuse_what_has_no_axes(atoms: Sequence[Atom]) -> None:
    expected = "expected a formula of one or two atoms, one for each axis"
    if not atoms:
        raise PictureError(f"{expected}, got one without atoms: its degree is the same everywhere")
    if len(atoms) > 2:
        listed = ", ".join(f"`{atom}`" for atom in atoms[:6]) + (", …" if len(atoms) > 6 else "")
        raise PictureError(
            f"{expected}, got {len(atoms)} ({listed}); put `true` or `false` in place of others"
        )


def _draw(atoms: Sequence[Atom], panels: Sequence[Panel]) -> Figure:
    columns = min(len(panels), PANELS_IN_A_ROW)
    rows = -(-len(panels) // columns)
    figure = new_figure(1.95 * columns + 0.8, 2.4 * rows + 0.6)
    places = [figure.add_subplot(rows, columns, number + 1) for number in range(len(panels))]
    for place, panel in zip(places, panels, strict=True):
        image = _paint(place, panel)
        _point(place, panel)
        place.set_title(short(panel.relaxation))
        place.set_yticks(*TICKS)
        panel.label(place, atoms[0])
    for place in places[::columns]:
        place.set_ylabel(short(atoms[1]))
    figure.colorbar(image, ax=places, label="degree", pad=0.02, shrink=0.85, aspect=20 * rows)
    arrows = f"Arrows: the gradient, the longest of size {STEEPEST:g} or more."
    caption(figure, f"{arrows} Dots: the gradient is zero.")
    return figure


def _paint(place: Axes, panel: Panel) -> AxesImage:
    return place.imshow(
        panel.degrees,
        origin="lower",
        extent=(0, 1, 0, 1),
        vmin=0,
        vmax=1,
        cmap=COLOURS,
        interpolation="nearest",  # a jump stays a jump
    )


def _point(place: Axes, panel: Panel) -> None:
    """Draw an arrow where there is a gradient, and a dot where it is zero."""
    sizes = np.hypot(*panel.slopes)
    moving, still = np.isfinite(sizes) & (sizes > ROUNDING), sizes <= ROUNDING
    edged: dict[str, Any] = {"facecolor": "white", "edgecolor": "black", "linewidth": 0.4}
    place.quiver(
        *ARROWS[:, moving],
        *(panel.slopes[:, moving] * np.minimum(1, STEEPEST / sizes[moving])),
        angles="xy",
        scale_units="xy",
        scale=STEEPEST / LONGEST,
        pivot="mid",
        width=0.011,
        headwidth=3.6,
        headlength=3.6,
        headaxislength=3.2,
        minlength=0,  # a short arrow stays one: by default it would become a dot
        **edged,
    )
    place.scatter(ARROWS[0, still], ARROWS[1, still], s=7, **edged)
