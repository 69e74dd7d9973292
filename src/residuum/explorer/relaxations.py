"""The relaxations that the page offers, with the parameters of families."""

from __future__ import annotations

import math
from typing import Any

from residuum import __version__
from residuum.relaxations import PAPER, parameter_of, relaxation, relaxation_names


def list_relaxations(_: dict[str, Any]) -> dict[str, Any]:
    """Return all relaxations, and those of the paper, which the page shows first."""
    return {
        "version": __version__,
        "paper": list(PAPER),
        "relaxations": [_described(name) for name in relaxation_names()],
    }


def _described(name: str) -> dict[str, Any]:
    one, parameter = relaxation(name), parameter_of(name)
    found: dict[str, Any] = {
        "name": name,
        "kind": one.kind,
        "structure": one.structure,
        "source": one.source,
    }
    if parameter is not None:
        found["parameter"] = {
            "symbol": parameter.symbol,
            "range": parameter.range,
            "above": None if parameter.above == -math.inf else parameter.above,
            "example": float(parameter.example),
        }
    return found
