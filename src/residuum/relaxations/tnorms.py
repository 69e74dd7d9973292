"""T-norms: what each of them must define, and what follows from an additive generator.

Everything else (t-conorm, S-implication, equivalence) is derived from a t-norm in `logics`.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from typing import Final, Literal, NamedTuple

from residuum.relaxations.along import Along
from residuum.relaxations.carriers import FLOATS, Carrier, Exact, LazyCarrier, Number
from residuum.relaxations.counting import by_counter
from residuum.relaxations.degrees import (
    Degree,
    Later,
    choose,
    log_norm,
    log_remainder,
    ordered,
    truth_of,
)
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.rows import Row

Structure = Literal["strict", "nilpotent", "idempotent", "left-continuous", "discontinuous"]
PenaltySide = Literal["false", "log_true"]


GENTLE: Final[Mapping[str, bool | None]] = {"and": False, "residuum": False}
"""The `is_steep` of a t-norm with bounded derivatives inside the unit square."""


class Jump(NamedTuple):
    """Where a connective is discontinuous: a condition on x and y, as text.

    `inside` says whether there is such a point with 0 < x < 1 and 0 < y < 1.
    """

    where: str
    inside: bool


class TNorm(ABC):
    """A t-norm, its residuum and its penalty.

    Without a generator the penalty of a degree is 1 − x, and the penalty of a conjunction is the
    largest of its operands.
    """

    @property
    def source(self) -> str:
        """The authors who described the t-norm, and the year."""
        return "registered by the user"

    @property
    @abstractmethod
    def structure(self) -> Structure:
        """The structure of the t-norm. Strict, nilpotent and idempotent t-norms are continuous."""

    @property
    @abstractmethod
    def expressions(self) -> Expressions:
        """The truth functions of the t-norm as text."""

    @property
    def parameters(self) -> Mapping[str, Exact]:
        """The parameters in its expressions, by symbol."""
        return {}

    @property
    @abstractmethod
    def jumps(self) -> Mapping[str, Jump]:
        """Where "and", "or", "s-implies" and "residuum" are discontinuous, if anywhere.

        An equivalence is discontinuous where its implication is; "iff" says otherwise.
        """

    @property
    @abstractmethod
    def is_steep(self) -> Mapping[str, bool | None]:
        """Whether derivatives of "and" and "residuum" are unbounded in the open square.

        None: unknown. With a generator g, those of "residuum" are if g′(1) = 0, and those of "and"
        if g(0) is finite and g′(0) = 0.
        """

    @abstractmethod
    def conjoin(self, x: Degree, y: Degree) -> Degree:
        """Return T(x, y)."""

    @abstractmethod
    def residuum(self, x: Degree, y: Degree) -> Degree:
        """Return the largest z with T(z, x) ≤ y. It is 1 exactly where x ≤ y."""

    def conjoin_all(self, degrees: Sequence[Degree]) -> Degree:
        """Return the conjunction of one or more degrees."""
        return reduce(self.conjoin, degrees)

    def penalty(self, x: Degree) -> Number:
        """Return the penalty of a degree, which is 0 for true and grows as the degree falls."""
        return x.false

    def conjoin_penalties(self, on: Carrier, penalties: Sequence[Number]) -> Number:
        """Return the penalty of a conjunction from those of its operands."""
        return reduce(on.maximum, penalties)

    def conjoin_along(self, x: Degree, along: Along) -> Degree:
        """Return the conjunction of all groundings of a degree."""
        return along.in_pairs(x, self.conjoin)

    def at_least(self, x: Degree, number: int, row: Row) -> Degree:
        """Return the degree to which so many degrees of a row are true, from 1 to all of them.

        It does not depend on their order, and grows with each of them. `at least 1` is the
        disjunction of all, and at least as many as there are is the conjunction of all.
        """
        return by_counter(self, x, number, row)

    # Properties by which losses choose a way to evaluate a rule, whatever the class of its t-norm.

    @property
    def penalties_add_up(self) -> bool:
        """Whether the penalty of a conjunction is the sum of penalties, and not the largest one."""
        return False

    @property
    def limit(self) -> Exact:
        """The penalty of the degree 0."""
        return 1

    @cached_property
    def penalty_side(self) -> PenaltySide | None:
        """ "false" if the penalty is 1 − x, "log_true" if it is −log x, and None if it is neither.

        `penalty` is called with sides that can only be negated, so that this also finds out for
        t-norms of the user.
        """
        names = ("true", "false", "log_true", "log_false")
        try:
            found = self.penalty(Degree(FLOATS, **{name: _Side(name) for name in names}))
        except Exception:  # `penalty` computes with sides, which may raise anything
            return None
        known: dict[str, PenaltySide] = {"false": "false", "-log_true": "log_true"}
        return known.get(found.name) if isinstance(found, _Side) else None

    @cached_property
    def has_bounded_gradients(self) -> bool:
        """Whether all gradients with respect to logits are bounded.

        They are for the product, for Łukasiewicz' t-norm and for the minimum. The first two are the
        only t-norms that add up such penalties, and the minimum is the only idempotent one.
        """
        is_side = self.penalty_side is not None
        return is_side and (self.penalties_add_up or self.structure == "idempotent")


class _Side:
    """A side of an unknown degree. It can be negated, and nothing else."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __neg__(self) -> _Side:
        return _Side(self.name[1:] if self.name.startswith("-") else f"-{self.name}")


class Archimedean(TNorm):
    """A continuous t-norm given by an additive generator g, which is the penalty.

    T(x, y) = g⁻¹(min(g(0), g(x) + g(y))) and x → y = g⁻¹(max(0, g(y) − g(x))). Generators are
    scaled so that g′(1) = −1 if possible: the penalty of a degree x near 1 is about 1 − x.
    """

    @property
    @abstractmethod
    def limit(self) -> Exact:
        """g(0), which is infinite if the t-norm is strict, and finite if it is nilpotent."""

    @abstractmethod
    def penalty(self, x: Degree) -> Number:
        """Return the penalty g(x) of a degree, by the additive generator g."""

    @abstractmethod
    def degree(self, on: Carrier, penalty: Number) -> Degree:
        """Return the degree with this penalty, for 0 ≤ penalty ≤ g(0)."""

    @property
    def structure(self) -> Structure:
        """Strict if g(0) is infinite, else nilpotent."""
        return "strict" if self.limit == math.inf else "nilpotent"

    @property
    def jumps(self) -> Mapping[str, Jump]:
        """The residuum of a strict t-norm is discontinuous at (0, 0). There are no other places."""
        strict = self.structure == "strict"
        return {"residuum": Jump("x == y == 0", inside=False)} if strict else {}

    def conjoin(self, x: Degree, y: Degree) -> Degree:
        """Return T(x, y)."""
        return self.conjoin_by_generator((x, y))

    def conjoin_all(self, degrees: Sequence[Degree]) -> Degree:
        """Return the conjunction of one or more degrees."""
        return self.conjoin_by_generator(degrees)

    def residuum(self, x: Degree, y: Degree) -> Degree:
        """Return the largest z with T(z, x) ≤ y. It is 1 exactly where x ≤ y."""
        return self.residuum_by_generator(x, y)

    @property
    def penalties_add_up(self) -> bool:
        """True: the penalty of a conjunction is the sum of penalties, up to g(0)."""
        return True

    def conjoin_along(self, x: Degree, along: Along) -> Degree:
        """Return the conjunction of all groundings of a degree."""
        total = along.total(self.penalty(x), elsewhere=0.0)
        return self.degree(x.on, x.on.minimum(total, x.on.constant(self.limit)))

    def conjoin_penalties(self, on: Carrier, penalties: Sequence[Number]) -> Number:
        """Return the sum of the penalties, but no more than g(0)."""
        total = sum(penalties[1:], start=penalties[0])
        return on.minimum(on.constant(self.limit), total)

    def conjoin_by_generator(self, degrees: Sequence[Degree]) -> Degree:
        """Return the conjunction by the generator, even if there is a closed form."""
        on = degrees[0].on
        return self.degree(on, self.conjoin_penalties(on, [self.penalty(x) for x in degrees]))

    def relative_gap(self, x: Degree, y: Degree) -> Number:
        """Return (g(y) − g(x)) / g(y) for x ≥ y, which some t-norms do without cancellation."""
        mine = self.penalty(y)
        return x.on.ratio(x.on.excess(mine, self.penalty(x)), mine, at_zero=0)

    def residuum_by_generator(self, x: Degree, y: Degree) -> Degree:
        """Return the residuum by the generator, even if there is a closed form."""
        below = self.degree(x.on, x.on.excess(self.penalty(y), self.penalty(x)))
        return choose(*ordered(x, y), truth_of(x.on, True), below)


class InClosedForm(Archimedean):
    """An Archimedean t-norm with closed forms of T and the residuum.

    They need no logarithms, as the generator does, so that they are exact on fractions.
    """

    def conjoin_all(self, degrees: Sequence[Degree]) -> Degree:
        """Return the conjunction of one or more degrees."""
        return reduce(self.conjoin, degrees)


class OnLogarithms(Archimedean):
    """An Archimedean t-norm that a lazy carrier computes on the logarithms of penalties.

    Near the degrees 0 and 1 penalties and their gradients overflow or underflow in single
    precision. Their logarithms do not: a conjunction is a log-sum-exp, whose derivatives lie
    between 0 and 1. Other carriers use forms that are exact, or that round less.
    """

    exponent: Exact = 1
    """The p for which `log_root` is the logarithm of g(x)^(1/p)."""

    @abstractmethod
    def log_root(self, x: Degree) -> Number:
        """Return log g(x)^(1/p) up to a constant, on a lazy carrier."""

    @abstractmethod
    def degree_at(self, on: LazyCarrier, log_root: Number) -> Degree:
        """Return the degree with this `log_root`. Beyond that of g(0) it is the degree 0."""

    @abstractmethod
    def plain_conjunction(self, degrees: Sequence[Degree]) -> Degree:
        """Return the conjunction on other carriers."""

    @abstractmethod
    def plain_residuum(self, x: Degree, y: Degree) -> Degree:
        """Return the residuum on other carriers."""

    def conjoin(self, x: Degree, y: Degree) -> Degree:
        """Return T(x, y)."""
        return self.conjoin_all((x, y))

    def conjoin_all(self, degrees: Sequence[Degree]) -> Degree:
        """Return the conjunction of one or more degrees."""
        on = degrees[0].on
        if len(degrees) == 1:
            return degrees[0]
        if not isinstance(on, LazyCarrier):
            return self.plain_conjunction(degrees)
        found = self.degree_at(on, log_norm(on, [self.log_root(x) for x in degrees], self.exponent))
        return exactly_false(on, degrees, found)

    def conjoin_along(self, x: Degree, along: Along) -> Degree:
        """Return the conjunction of all groundings of a degree."""
        on = x.on
        if not isinstance(on, LazyCarrier):
            return super().conjoin_along(x, along)
        root = self.log_root(x)
        found = self.degree_at(on, along.log_norm(root, self.exponent))
        # Without groundings the conjunction is exactly true. No logarithm of a penalty says so.
        count = along.total(on.excess(root, root) + on.constant(1), elsewhere=0.0)
        return unless(on, count, on.constant(0), found)

    def residuum(self, x: Degree, y: Degree) -> Degree:
        """Return the largest z with T(z, x) ≤ y. It is 1 exactly where x ≤ y."""
        on = x.on
        if not isinstance(on, LazyCarrier):
            return self.plain_residuum(x, y)
        mine, other = self.log_root(y), self.log_root(x)
        below = self.degree_at(on, log_remainder(on, other, mine, self.exponent))
        return unless(on, mine, other, below)


def lost(on: LazyCarrier, side: Number, log_side: Number) -> Number:
    """Return a positive number where a side is exactly 0, although its logarithm is finite."""
    return on.excess(on.exp(log_side), side + side)


def exactly(on: LazyCarrier, is_lost: Number, found: Number, exact: Exact) -> Number:
    """Return the exact number where a side is `lost`, and the number found elsewhere."""
    # NaN stays NaN, because it is neither more than 0 nor less.
    instead = on.constant(exact) + on.excess(is_lost, is_lost)
    return on.choose(is_lost, on.constant(0), found, instead)


def exactly_false(on: LazyCarrier, degrees: Sequence[Degree], found: Degree) -> Degree:
    """Return the conjunction that was found, but `false` where a degree is exactly 0."""
    known = Later(lambda: reduce(operator.add, [lost(on, x.true, x.log_true) for x in degrees]))

    def side(of: Callable[[Degree], Number], exact: Exact) -> Later:
        return Later(lambda: exactly(on, known.number, of(found), exact))

    return Degree(
        on,
        true=side(lambda x: x.true, 0),
        false=side(lambda x: x.false, 1),
        log_true=Later(lambda: found.log_true),
        log_false=side(lambda x: x.log_false, 0),
    )


def unless(on: LazyCarrier, low: Number, high: Number, otherwise: Degree) -> Degree:
    """Return `true` where low ≤ high, and the given degree elsewhere, on all four sides."""

    def side(then: Number, other: Callable[[], Number]) -> Later:
        return Later(lambda: on.choose(low, high, then, other()))

    return Degree(
        on,
        true=side(on.constant(1), lambda: otherwise.true),
        false=side(on.constant(0), lambda: otherwise.false),
        log_true=side(on.constant(0), lambda: otherwise.log_true),
        log_false=Later(
            # the logarithm of an excess of 0 is log 0 of the carrier
            lambda: on.choose(low, high, on.log(on.excess(low, high)), otherwise.log_false)
        ),
    )
