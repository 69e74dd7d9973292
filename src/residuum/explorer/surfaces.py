"""The degree of a formula over two of its atoms, as numbers that the page draws."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from residuum.analysis.gradients import gradient_at
from residuum.errors import ResiduumError, UnknownRelaxationError
from residuum.explorer.degrees import read_point
from residuum.explorer.given import as_json_number, read_integer, read_names
from residuum.relaxations import relaxation, truth

POINTS: Final = 33
"""The points along each side of a surface."""

ARROWS: Final = 11
"""The arrows along each side of a gradient field."""


def draw_surfaces(given: dict[str, Any]) -> dict[str, Any]:
    """Return degrees and gradients over a grid of two atoms, under each relaxation.

    The rows of `degrees` are those of the second atom. Other atoms keep the degrees of the sliders.
    Arrows are given in the middle of cells, where corners do not matter.
    """
    formula, degrees = read_point(given)
    atoms = [*degrees]
    if not atoms:
        raise ResiduumError("expected a formula with an atom or more, got none; add one")
    along, across = (read_integer(given, name, 0, len(atoms) - 1) for name in ("x", "y"))
    grid = np.linspace(0, 1, POINTS)
    middles = (np.arange(ARROWS) + 0.5) / ARROWS
    surfaces: list[dict[str, Any]] = []
    for name in read_names(given):
        try:
            chosen = relaxation(name)
        except UnknownRelaxationError as error:
            surfaces.append({"relaxation": name, "problem": str(error)})
            continue
        on_grid = dict(zip(atoms, _sample([*degrees.values()], along, across, grid), strict=True))
        gradient = gradient_at(
            formula, atoms, chosen, _sample([*degrees.values()], along, across, middles)
        )
        rising = [_listed(gradient[along])]
        rising.append([0.0] * len(rising[0]) if along == across else _listed(gradient[across]))
        surfaces.append(
            {
                "relaxation": name,
                "degrees": np.round(truth(formula, on_grid, chosen), 5).tolist(),
                "gradient": rising,
            }
        )
    return {"points": POINTS, "arrows": ARROWS, "surfaces": surfaces}


def _sample(degrees: list[float], along: int, across: int, grid: Any) -> Any:
    """Return the degrees of each atom, a row, at all points of a grid over two of them."""
    second, first = (one.ravel() for one in np.meshgrid(grid, grid, indexing="ij"))
    sample = np.repeat(np.array(degrees)[:, None], first.size, axis=1)
    sample[across] = second
    sample[along] = first
    return sample


def _listed(derivatives: Any) -> list[float | str | None]:
    return [as_json_number(round(float(one), 4)) for one in derivatives]
