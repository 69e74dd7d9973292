"""Certified bounds of integrals over the unit cube: the method "boxes". Loads when it is used."""

from typing import TYPE_CHECKING

from residuum.doors import door

if TYPE_CHECKING:
    from residuum.analysis.bounds import boxes as boxes
else:
    __getattr__ = door(__name__)
