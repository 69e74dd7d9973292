"""Formulas as immutable data. Functions of formulas stand in the other files of this folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, NoReturn, final

from residuum.errors import InvalidNameError
from residuum.logic.nodes import Node, intern
from residuum.logic.terms import Term, as_terms, check_name

ComparisonOperator = Literal["=", "!=", "<", "<=", ">", ">="]
COMPARISON_OPERATORS: Final[tuple[ComparisonOperator, ...]] = ("=", "!=", "<=", ">=", "<", ">")


class Formula(Node):
    """A formula. Formulas are combined with `~ & | >>` and `.iff()`.

    `P & Q & R` is one conjunction of three operands, as in text. `P & (Q & R)` has two operands,
    and so has `And(And(P, Q), R)`. For very many operands write `And(*operands)`, because each `&`
    copies the operands before it.

    >>> import residuum as rs
    >>> P, Q, R = rs.atoms("P Q R")
    >>> rule = (P & ~Q) >> R
    >>> print(rule)
    P & ~Q -> R
    >>> rule == rs.parse("P & ~Q -> R")
    True
    """

    __slots__ = ()

    def __invert__(self) -> Formula:
        return Not(self)

    def __and__(self, other: Formula) -> Formula:
        return And(*_operands(self, And), other) if isinstance(other, Formula) else NotImplemented

    def __or__(self, other: Formula) -> Formula:
        return Or(*_operands(self, Or), other) if isinstance(other, Formula) else NotImplemented

    def __rshift__(self, other: Formula) -> Formula:
        return Implies(self, other) if isinstance(other, Formula) else NotImplemented

    def iff(self, other: Formula) -> Formula:
        """Return the equivalence `self <-> other`."""
        return Iff(self, other)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a formula is not a Python truth value; combine formulas with ~ & | >> and .iff() "
            "instead of not, and, or, if"
        )


def _operands(formula: Formula, kind: type[And] | type[Or]) -> tuple[Formula, ...]:
    return formula.operands if isinstance(formula, kind) else (formula,)


@final
class Truth(Formula):
    """The constant `true` or `false`.

    >>> import residuum as rs
    >>> rs.TRUE == rs.parse("true"), rs.FALSE == rs.parse("⊥")
    (True, True)
    """

    __slots__ = ("value",)
    __match_args__ = ("value",)
    value: bool

    def __new__(cls, value: bool) -> Truth:
        return intern(cls, bool(value))


TRUE: Final = Truth(True)
FALSE: Final = Truth(False)


@final
class Atom(Formula):
    """A predicate over terms, or a proposition when there are none.

    >>> import residuum as rs
    >>> print(rs.Atom("Near", rs.Variable("x"), rs.Constant(3)))
    Near(x, 3)
    """

    __slots__ = ("arguments", "predicate")
    __match_args__ = ("predicate", "arguments")
    predicate: str
    arguments: tuple[Term, ...]

    def __new__(cls, predicate: str, *arguments: Term | float) -> Atom:
        return intern(cls, check_name(predicate, "predicate"), as_terms(arguments))


@final
class Comparison(Formula):
    """A comparison of two terms: of members in guards, of quantities elsewhere.

    >>> import residuum as rs
    >>> price = rs.Application("Price", rs.Variable("h"))
    >>> print(rs.Comparison("<", price, rs.Number(2.5)))
    Price(h) < 2.5
    """

    __slots__ = ("left", "operator", "right")
    __match_args__ = ("operator", "left", "right")
    operator: ComparisonOperator
    left: Term
    right: Term

    def __new__(
        cls, operator: ComparisonOperator, left: Term | float, right: Term | float
    ) -> Comparison:
        if operator not in COMPARISON_OPERATORS:
            raise InvalidNameError(
                f"expected an operator among {', '.join(COMPARISON_OPERATORS)}, got {operator!r}"
            )
        return intern(cls, operator, *as_terms((left, right)))


@final
class Not(Formula):
    """The negation of a formula.

    >>> import residuum as rs
    >>> rs.Not(rs.Atom("P")) == ~rs.Atom("P")
    True
    """

    __slots__ = ("operand",)
    __match_args__ = ("operand",)
    operand: Formula

    def __new__(cls, operand: Formula) -> Not:
        return intern(cls, *check_formulas((operand,)))


@final
class And(Formula):
    """A conjunction. `And` of one operand returns that operand, and of none `true`.

    >>> import residuum as rs
    >>> P, Q, R = rs.atoms("P Q R")
    >>> print(rs.And(P, Q, R), rs.And(rs.And(P, Q), R), rs.And(P), rs.And(), sep="; ")
    P & Q & R; (P & Q) & R; P; true
    """

    __slots__ = ("operands",)
    __match_args__ = ("operands",)
    operands: tuple[Formula, ...]

    def __new__(cls, *operands: Formula) -> Formula:  # type: ignore[misc]  # see the docstring
        parts = check_formulas(operands)
        return intern(cls, parts) if len(parts) > 1 else parts[0] if parts else TRUE


@final
class Or(Formula):
    """A disjunction. `Or` of one operand returns that operand, and of none `false`.

    >>> import residuum as rs
    >>> P, Q = rs.atoms("P Q")
    >>> print(rs.Or(P, Q), rs.Or(P), rs.Or(), sep="; ")
    P | Q; P; false
    """

    __slots__ = ("operands",)
    __match_args__ = ("operands",)
    operands: tuple[Formula, ...]

    def __new__(cls, *operands: Formula) -> Formula:  # type: ignore[misc]  # see the docstring
        parts = check_formulas(operands)
        return intern(cls, parts) if len(parts) > 1 else parts[0] if parts else FALSE


@final
class Implies(Formula):
    """An implication between two formulas.

    >>> import residuum as rs
    >>> P, Q = rs.atoms("P Q")
    >>> rs.Implies(P, Q) == (P >> Q) == rs.parse("P -> Q")
    True
    """

    __slots__ = ("antecedent", "consequent")
    __match_args__ = ("antecedent", "consequent")
    antecedent: Formula
    consequent: Formula

    def __new__(cls, antecedent: Formula, consequent: Formula) -> Implies:
        return intern(cls, *check_formulas((antecedent, consequent)))


@final
class Iff(Formula):
    """An equivalence of two formulas.

    >>> import residuum as rs
    >>> P, Q = rs.atoms("P Q")
    >>> rs.Iff(P, Q) == P.iff(Q) == rs.parse("P <-> Q")
    True
    """

    __slots__ = ("left", "right")
    __match_args__ = ("left", "right")
    left: Formula
    right: Formula

    def __new__(cls, left: Formula, right: Formula) -> Iff:
        return intern(cls, *check_formulas((left, right)))


class Binding(NamedTuple):
    """A variable of a quantifier, and the name of the domain that it ranges over."""

    variable: str
    domain: str


class Quantifier(Formula):
    """`Forall`, `Exists` or a counting one: `bindings`, a `guard` or None, and a `body`."""

    __slots__ = ("bindings", "body", "guard")
    __match_args__ = ("bindings", "guard", "body")
    is_quantifier = True
    bindings: tuple[Binding, ...]
    guard: Formula | None
    body: Formula

    def __new__(
        cls,
        bindings: Iterable[tuple[str, str]],
        body: Formula,
        guard: Formula | None = None,
    ) -> Quantifier:
        return intern(cls, *cls.checked(bindings, body, guard))

    def with_parts(
        self, bindings: Iterable[tuple[str, str]], body: Formula, guard: Formula | None
    ) -> Quantifier:
        """Return a quantifier of the same kind with other parts."""
        return type(self)(bindings, body, guard)

    @staticmethod
    def checked(
        bindings: Iterable[tuple[str, str]], body: Formula, guard: Formula | None
    ) -> tuple[tuple[Binding, ...], Formula | None, Formula]:
        """Return the bindings, the guard and the body; raise InvalidNameError if one is wrong."""
        pairs = list(bindings)
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise InvalidNameError(
                    f"expected (variable, domain) pairs, got {pair!r}; write [('x', 'D')]"
                )
        checked = tuple(
            Binding(check_name(variable, "variable"), check_name(domain, "domain"))
            for variable, domain in pairs
        )
        if not checked:
            raise InvalidNameError(
                "expected one or more variables of a quantifier, got none; write [('x', 'D')]"
            )
        for name, count in Counter(binding.variable for binding in checked).items():
            if count > 1:
                raise InvalidNameError(
                    f"variable `{name}` is bound twice by one quantifier; rename one of them"
                )
        check_formulas((body,) if guard is None else (guard, body))
        return checked, guard, body

    @classmethod
    def check(cls, children: tuple[Node, ...]) -> None:
        """Raise if there is a quantifier in the guard."""
        *guards, _ = children
        if any(guard.quantifies for guard in guards):
            raise InvalidNameError(
                "expected comparisons and relations in the guard of a quantifier, got another "
                "quantifier; write `forall x, y in D where x != y: P(x, y)`"
            )


@final
class Forall(Quantifier):
    """A universal quantifier, which is true over an empty domain.

    >>> import residuum as rs
    >>> x = rs.Variable("x")
    >>> print(rs.Forall([("x", "pet")], rs.Atom("Cat", x) >> rs.Atom("Animal", x)))
    forall x in pet: Cat(x) -> Animal(x)
    """

    __slots__ = ()


@final
class Exists(Quantifier):
    """An existential quantifier, which is false over an empty domain.

    >>> import residuum as rs
    >>> x, y = rs.Variable("x"), rs.Variable("y")
    >>> pairs = [("x", "place"), ("y", "place")]
    >>> print(rs.Exists(pairs, rs.Atom("Near", x, y), guard=rs.Comparison("<", x, y)))
    exists x, y in place where x < y: Near(x, y)
    """

    __slots__ = ()


def check_formulas(operands: tuple[Formula, ...]) -> tuple[Formula, ...]:
    """Return the operands; raise InvalidNameError if one is no formula."""
    for operand in operands:
        if not isinstance(operand, Formula):
            raise InvalidNameError(
                f"expected a formula, got {operand!r}; `atoms` and `parse` make formulas"
            )
    return operands


def atoms(names: str) -> tuple[Atom, ...]:
    """Return one proposition for each name in a text; spaces or commas separate them.

    >>> P, Q = atoms("P Q")
    >>> str(P & ~Q)
    'P & ~Q'
    """
    return tuple(Atom(name) for name in names.replace(",", " ").split())
