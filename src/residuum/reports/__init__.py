"""Pictures, by Matplotlib: the extra `report`, loaded only when one is drawn."""

from residuum.reports.figures import check_picture as check_picture
from residuum.reports.figures import picture as picture
from residuum.reports.figures import save_picture as save_picture
from residuum.reports.heat_maps import draw_tautologies as draw_tautologies
from residuum.reports.surfaces import draw_surfaces as draw_surfaces
