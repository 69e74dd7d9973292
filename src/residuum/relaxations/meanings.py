"""All that a name can mean for a rule: a relaxation, or its exact probability."""

from __future__ import annotations

from typing import Final

from residuum.errors import RelaxationParameterError, UnknownRelaxationError
from residuum.relaxations.catalogue import relaxation as find_relaxation
from residuum.relaxations.logics import Relaxation
from residuum.relaxations.product import Product

EXACT: Final = Relaxation("exact", Product(), "S")
"""Independent examples and rules multiply, as in the product logic."""


def find_meaning(name: str | Relaxation) -> Relaxation:
    """Return a relaxation by name, `exact` included."""
    if name == EXACT.name:
        return EXACT
    try:
        return find_relaxation(name)
    except RelaxationParameterError:
        raise
    except UnknownRelaxationError as error:
        raise UnknownRelaxationError(f"{error}, and `exact`") from None
