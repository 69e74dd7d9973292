"""How an exact method says that it is not the one."""

from __future__ import annotations

from typing import NoReturn

from residuum.relaxations.carriers import Exact, Number


class NotThisWay(Exception):  # noqa: N818  # never reaches a user: another method is tried
    """The method does not apply to this relaxation, or would take too much."""


class RestrictedNumber:
    """A number that `+`, `-` and `*` may combine; a generator of the user's may try more."""

    __slots__ = ()

    def _refuse(self, *_: object) -> NoReturn:
        raise NotThisWay("its generator uses more than +, - and * and the carrier's functions")

    __pow__ = __rpow__ = __truediv__ = __rtruediv__ = __abs__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __float__ = __bool__ = __array_ufunc__ = _refuse


class Restricted:
    """A carrier of which nothing is possible; exact carriers add what is."""

    what = "exact"

    def _refuse(self) -> NoReturn:
        raise NotThisWay(f"its truth functions are not {self.what}")

    def minimum(self, x: Number, y: Number) -> Number:  # noqa: ARG002
        """Refuse."""
        self._refuse()

    def maximum(self, x: Number, y: Number) -> Number:  # noqa: ARG002
        """Refuse."""
        self._refuse()

    def excess(self, x: Number, y: Number) -> Number:  # noqa: ARG002
        """Refuse."""
        self._refuse()

    def ratio(self, x: Number, y: Number, at_zero: Exact) -> Number:  # noqa: ARG002
        """Refuse."""
        self._refuse()

    def choose(self, x: Number, y: Number, then: Number, otherwise: Number) -> Number:  # noqa: ARG002
        """Refuse."""
        self._refuse()

    def power(self, x: Number, exponent: Exact) -> Number:  # noqa: ARG002
        """Refuse."""
        self._refuse()

    def log(self, x: Number) -> Number:  # noqa: ARG002
        """Refuse."""
        self._refuse()

    log1p = exp = expm1 = log
