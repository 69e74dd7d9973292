"""What an exact method of integration declares, and how any method refuses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from residuum.logic import Atom, Formula, distinct_nodes
from residuum.relaxations import Relaxation
from residuum.relaxations.carriers import Exact, Number

if TYPE_CHECKING:
    from residuum.analysis.closed_forms.numbers import ClosedForm


class NotThisWay(Exception):  # noqa: N818  # never reaches a user: another method is tried
    """The method does not apply to this formula and relaxation, or would take too much."""


class Fragment(NamedTuple):
    """Formulas with one of these connectives, in logics of these t-norms and kinds.

    Without connectives, all formulas.
    """

    tnorms: tuple[type, ...] = (object,)
    kinds: tuple[str, ...] = ("S", "R", "S and R")
    connectives: tuple[type[Formula], ...] = ()

    def holds(self, formula: Formula, relaxation: Relaxation) -> bool:
        """Say whether a formula under a relaxation is within this scope."""
        if not isinstance(relaxation.tnorm, self.tnorms) or relaxation.kind not in self.kinds:
            return False
        return not self.connectives or any(
            isinstance(node, self.connectives) for node in distinct_nodes(formula)
        )


class ExactMethod(NamedTuple):
    """A method that returns the mean degree exactly, or raises `NotThisWay` with the reason.

    It is tried within the scope `only`, outside the scopes `never`, and up to `most_atoms`. A
    method that the user asks for by name is tried in any case. `needs_modules` says that the
    method works on the modules of a formula, which rewriting may break up: it is also tried on
    the formula as given.
    """

    name: str
    integrate: Callable[[Formula, Sequence[Atom], Relaxation], Fraction | ClosedForm]
    only: Fragment = Fragment()
    never: tuple[Fragment, ...] = ()
    most_atoms: float = math.inf
    needs_modules: bool = False

    def is_meant_for(self, formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation) -> bool:
        """Say whether the method is worth a try."""
        return (
            len(atoms) <= self.most_atoms
            and self.only.holds(formula, relaxation)
            and not any(scope.holds(formula, relaxation) for scope in self.never)
        )


class RestrictedNumber:
    """A number that only `+`, `-` and `*` may combine; a user's generator may try more."""

    __slots__ = ()

    def _refuse(self, *_: object) -> NoReturn:
        raise NotThisWay("its generator uses more than +, - and * and the carrier's functions")

    __pow__ = __rpow__ = __truediv__ = __rtruediv__ = __abs__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __float__ = __bool__ = __array_ufunc__ = _refuse


class RestrictedCarrier:
    """A carrier whose functions all raise `NotThisWay`; an exact carrier overrides some of them."""

    what = "exact"

    def _refuse(self) -> NoReturn:
        raise NotThisWay(f"its truth functions are not {self.what}")

    def minimum(self, x: Number, y: Number) -> Number:  # noqa: ARG002
        """Raise `NotThisWay`."""
        self._refuse()

    def maximum(self, x: Number, y: Number) -> Number:  # noqa: ARG002
        """Raise `NotThisWay`."""
        self._refuse()

    def excess(self, x: Number, y: Number) -> Number:  # noqa: ARG002
        """Raise `NotThisWay`."""
        self._refuse()

    def ratio(self, x: Number, y: Number, at_zero: Exact) -> Number:  # noqa: ARG002
        """Raise `NotThisWay`."""
        self._refuse()

    def choose(self, x: Number, y: Number, then: Number, otherwise: Number) -> Number:  # noqa: ARG002
        """Raise `NotThisWay`."""
        self._refuse()

    def power(self, x: Number, exponent: Exact) -> Number:  # noqa: ARG002
        """Raise `NotThisWay`."""
        self._refuse()

    def log(self, x: Number) -> Number:  # noqa: ARG002
        """Raise `NotThisWay`."""
        self._refuse()

    log1p = exp = expm1 = log
