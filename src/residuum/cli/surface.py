"""`residuum surface`: a picture of a formula under each relaxation."""

from __future__ import annotations

from residuum.cli.inputs import (
    AsJson,
    FormulaText,
    PictureFile,
    RelaxationNames,
    read_formula,
    read_relaxations,
)
from residuum.cli.outputs import print_json, say
from residuum.reports import check_picture, draw_surfaces, save_picture


def surface(
    formula: FormulaText,
    output: PictureFile,
    relaxation: RelaxationNames = None,
    as_json: AsJson = False,
) -> None:
    """Draw the degree of a formula of one or two atoms, and its gradient.

    \b
    residuum surface "P -> Q" -o surface.png
    residuum surface "P <-> Q" -o surface.pdf -r r-product -r "r-yager(2)"
    """
    read, chosen = read_formula(formula), read_relaxations(relaxation)
    check_picture(output)
    save_picture(draw_surfaces(read, chosen), output)
    names = [one.name for one in chosen]
    if as_json:
        print_json({"formula": str(read), "relaxations": names, "file": str(output)})
    else:
        say(f"{output}: {read} under {', '.join(names)}")
