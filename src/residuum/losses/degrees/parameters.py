"""Relaxations for tensors: parameters are floats inside the range of the tensors' numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from residuum.errors import UnknownRelaxationError
from residuum.losses.degrees.tensors import LARGEST
from residuum.relaxations import Relaxation
from residuum.relaxations.catalogue import find_meaning
from residuum.relaxations.frank import Frank
from residuum.relaxations.hamacher import Hamacher
from residuum.relaxations.lukasiewicz import Lukasiewicz
from residuum.relaxations.product import Product
from residuum.relaxations.schweizer_sklar import SchweizerSklarNilpotent, SchweizerSklarStrict
from residuum.relaxations.sugeno_weber import SugenoWeber
from residuum.relaxations.tnorms import TNorm

SMALLEST: Final = 1 / LARGEST
"""Smaller parameters count as 0: their effect is beyond the largest number."""


def find_logic(name: str | Relaxation) -> Relaxation:
    """Return a relaxation for tensors by its name; `exact` is one of the names."""
    return for_tensors(find_meaning(name))


def for_tensors(relaxation: Relaxation) -> Relaxation:
    """Return the relaxation with parameters as floats inside the range of tensors."""
    tnorm = _with_floats(_within_range(relaxation))
    return relaxation if tnorm is relaxation.tnorm else replace(relaxation, tnorm=tnorm)


def _within_range(relaxation: Relaxation) -> TNorm:
    tnorm = relaxation.tnorm
    match tnorm:
        case Hamacher(gamma) if 0 < gamma < SMALLEST:
            return Hamacher(0)
        case SchweizerSklarNilpotent(p) | SchweizerSklarStrict(p) if -SMALLEST < p < SMALLEST:
            return Product()
        case SugenoWeber(weight) if -SMALLEST < weight < SMALLEST:
            return Lukasiewicz()
        case SugenoWeber(weight) if weight > LARGEST:
            return SugenoWeber(LARGEST)
        case Frank(s) if s < SMALLEST:
            raise UnknownRelaxationError(
                f"`{relaxation}`: expected s >= {SMALLEST:g}, got {float(s):g}, under which "
                "penalties leave the range of tensors; use its limit, "
                f"`{relaxation.name[:2]}godel`"
            )
    return tnorm


def _with_floats(given: TNorm) -> TNorm:
    """Return an equal t-norm with floats for fractions, which torch.compile traces faster.

    A fraction that no float equals stays a fraction.
    """
    tnorm: Any = given
    names = getattr(tnorm, "__dataclass_fields__", ())
    values = {name: getattr(tnorm, name) for name in names}
    exact = {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, Fraction) and float(value) == value
    }
    return replace(tnorm, **exact) if exact else given
