"""The report and its pictures. Matplotlib (the extra `report`) is loaded only to draw."""

from typing import TYPE_CHECKING

from residuum.doors import door

if TYPE_CHECKING:
    from residuum.reports.circuit_figures import draw_circuit as draw_circuit
    from residuum.reports.figures import check_picture as check_picture
    from residuum.reports.figures import picture as picture
    from residuum.reports.figures import save_picture as save_picture
    from residuum.reports.surface_figures import draw_surfaces as draw_surfaces
    from residuum.reports.tautology_figures import draw_tautologies as draw_tautologies
else:
    __getattr__ = door(
        __name__,
        {
            "check_picture": "residuum.reports.figures",
            "draw_circuit": "residuum.reports.circuit_figures",
            "draw_surfaces": "residuum.reports.surface_figures",
            "draw_tautologies": "residuum.reports.tautology_figures",
            "picture": "residuum.reports.figures",
            "save_picture": "residuum.reports.figures",
        },
    )
