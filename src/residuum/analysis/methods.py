"""Exact methods of integration: what each is meant for, and how it says that it does not apply."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from residuum.logic import Atom, Formula, distinct_nodes
from residuum.relaxations import Relaxation

if TYPE_CHECKING:
    from residuum.analysis.closed_forms.numbers import ClosedForm


class NotThisWay(Exception):  # noqa: N818  # never reaches a user: another method is tried
    """A method does not apply to a formula and a relaxation, or would take too long."""


class Fragment(NamedTuple):
    """The formulas with one of these connectives, in logics of these t-norms and kinds.

    If no connectives are named, it holds all formulas of these logics.
    """

    tnorms: tuple[type, ...] = (object,)
    kinds: tuple[str, ...] = ("S", "R", "S and R")
    connectives: tuple[type[Formula], ...] = ()

    def contains(self, formula: Formula, relaxation: Relaxation) -> bool:
        """Return whether a formula under a relaxation belongs to this fragment."""
        if not isinstance(relaxation.tnorm, self.tnorms) or relaxation.kind not in self.kinds:
            return False
        return not self.connectives or any(
            isinstance(node, self.connectives) for node in distinct_nodes(formula)
        )


class ExactMethod(NamedTuple):
    """A method that returns the mean degree exactly, or raises `NotThisWay` with the reason.

    It works inside the fragment `only` and up to `most_atoms` atoms; `outside` says why not
    elsewhere. It is not tried inside the fragments `never`, unless the user names it.
    `needs_modules` says that the method works on the modules of a formula. Rewriting may break up
    modules, so that such a method is also tried on the formula as given.
    """

    name: str
    integrate: Callable[[Formula, Sequence[Atom], Relaxation], Fraction | ClosedForm]
    only: Fragment = Fragment()
    outside: str = ""
    never: tuple[Fragment, ...] = ()
    most_atoms: float = math.inf
    needs_modules: bool = False

    def is_meant_for(self, formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation) -> bool:
        """Return whether the method is worth trying."""
        return (
            len(atoms) <= self.most_atoms
            and self.only.contains(formula, relaxation)
            and not any(fragment.contains(formula, relaxation) for fragment in self.never)
        )

    def mean(
        self, formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation
    ) -> Fraction | ClosedForm:
        """Return the mean degree; NotThisWay says why the method does not find it."""
        if not self.only.contains(formula, relaxation):
            raise NotThisWay(self.outside)
        if len(atoms) > self.most_atoms:
            raise NotThisWay(f"it has more than {self.most_atoms:g} atoms")
        return self.integrate(formula, atoms, relaxation)


class RestrictedNumber:
    """A number with `+`, `-` and `*` only. Other operations, as in a user's generator, raise."""

    __slots__ = ()

    def _refuse(self, *_: object) -> NoReturn:
        raise NotThisWay("its generator uses more than +, - and * and the carrier's functions")

    __pow__ = __rpow__ = __truediv__ = __rtruediv__ = __abs__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __float__ = __bool__ = __array_ufunc__ = _refuse


class RestrictedCarrier:
    """A carrier whose functions all raise `NotThisWay`; an exact carrier overrides some of them."""

    what = "exact"

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise NotThisWay(f"its truth functions are not {self.what}")

    minimum = maximum = excess = ratio = choose = power = log = log1p = exp = expm1 = _refuse
