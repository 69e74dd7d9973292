"""What all studies of the paper have in common: what is compared, with which seeds, how long."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from dataclasses import Field

PAPER: Final = ("s-godel", "s-product", "r-product", "lukasiewicz-maxsat")
"""The relaxations that the paper compares, in the order of its tables."""

SEEDS: Final = (0, 20, 50)


class Lasting(Protocol):
    """Settings of a run that has a length, and a warm-up perhaps."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def epochs(self) -> int:
        """How long it is."""

    @property
    def warm_up(self) -> int:
        """How many of these epochs are a warm-up."""


L = TypeVar("L", bound=Lasting)


def of_length(settings: L, epochs: int | None) -> L:
    """Return settings for so many epochs, a warm-up in proportion."""
    if epochs is None:
        return settings
    warm_up = min(epochs, math.ceil(settings.warm_up * (epochs / settings.epochs)))
    return replace(settings, epochs=epochs, warm_up=warm_up)
