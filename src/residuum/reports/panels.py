"""What a picture shows of a formula of one or two atoms under one relaxation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from residuum.analysis import Consistency, consistency
from residuum.analysis.gradients import gradient_at
from residuum.logic import Atom, Formula, atoms_of
from residuum.relaxations import Relaxation, truth
from residuum.relaxations.arrays import Array
from residuum.reports.figures import short
from residuum.reports.roundings import rounded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS_IN_A_ROW: Final = 5
TICKS: Final = ((0, 0.5, 1), ("0", "½", "1"))


def _centres(cells: int) -> Array:
    """Return the middles of equal cells of [0, 1]."""
    return (np.arange(cells) + 0.5) / cells


# Powers of two, so that 1 - x is exact and no rounding crosses a jump.
CURVE: Final = _centres(512)
SURFACE: Final = _centres(256)
# Odd sixteenths and odd twentieths: no arrow stands where p = q, p + q = 1, p = 1/2 or q = 1/2,
# the places where many gradients do not exist.
ARROWS: Final = np.stack([side.ravel() for side in np.meshgrid(_centres(8), _centres(10))])


@dataclass(frozen=True)
class Panel:
    """The degrees, slopes and mean degree of a formula under one relaxation.

    For one atom, `degrees` and the one row of `slopes` are over CURVE. For two, `degrees[j, i]`
    belongs to the first atom at `SURFACE[i]` and the second at `SURFACE[j]`, and `slopes` has a
    row for each atom and a column for each of ARROWS.
    """

    relaxation: Relaxation
    degrees: Array
    slopes: Array
    mean: Consistency

    def label(self, place: Axes, atom: Atom) -> None:
        """Write the name of the axis and the mean degree below the panel."""
        exact = self.mean.exact
        is_short = isinstance(exact, Fraction) and exact.denominator < 1000
        mean = exact if is_short else rounded(self.mean)
        place.set_xlabel(f"{short(atom)}\nmean {mean}")
        place.set_xticks(*TICKS)


def compute_panel(formula: Formula, relaxation: Relaxation) -> Panel:
    """Compute what is drawn of a formula of one or two atoms."""
    atoms = atoms_of(formula)
    is_surface = len(atoms) == 2
    grid = np.meshgrid(SURFACE, SURFACE) if is_surface else [CURVE]
    degrees = truth(formula, dict(zip(atoms, grid, strict=True)), relaxation)
    slopes = gradient_at(formula, atoms, relaxation, ARROWS if is_surface else CURVE[None])
    mean = consistency(formula, relaxation, seconds=0.2)  # enough for the three decimals shown
    return Panel(relaxation, degrees, slopes, mean)
