"""Terms, which predicates speak about, and the names and labels that they are made of."""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, SupportsIndex, final

from residuum.errors import InvalidNameError
from residuum.limits import LARGEST_INTEGER, LONGEST_WORD
from residuum.logic.nodes import Node, intern

CONNECTIVE_WORDS = ("not", "and", "or", "implies", "iff", "true", "false")
BINDING_WORDS = ("forall", "exists", "in", "where", "mod")
DECLARATION_WORDS = (
    "domain",
    "function",
    "predicate",
    "quantity",
    "facts",
    "rule",
)  # each may name what those before it declare
MODIFIER_WORDS = ("weight", "sequence", "independent")

KEYWORDS = frozenset(CONNECTIVE_WORDS + BINDING_WORDS + DECLARATION_WORDS + MODIFIER_WORDS)
"""Words with a meaning in the text syntax.

Nothing can be named by them, so that a formula built in Python can be written in a rule file.
"""

_NAME = re.compile(r"[^\W\d]\w*")

Label = int | str
"""The value of a constant: a member of a domain."""

ArithmeticOperator = Literal["+", "-", "*", "/", "mod", "div"]
ARITHMETIC_OPERATORS: Final[tuple[ArithmeticOperator, ...]] = ("+", "-", "*", "/", "mod", "div")
DIVISIONS: Final = frozenset({"/", "mod", "div"})
"""The operators whose right-hand side must not be zero."""


ABSOLUTE: Final = "abs"
"""The function of quantities that is known without a declaration: the absolute value."""


class Term(Node):
    """A variable, a constant, a number, a function of terms, or arithmetic on terms."""

    __slots__ = ()


@final
class Variable(Term):
    """A variable, bound by a quantifier or free.

    >>> import residuum as rs
    >>> print(rs.Atom("Tag", rs.Variable("i")))
    Tag(i)
    """

    __slots__ = ("name",)
    __match_args__ = ("name",)
    name: str

    def __new__(cls, name: str) -> Variable:
        return intern(cls, check_name(name, "variable"))


@final
class Constant(Term):
    """An integer or a label: a member of a domain.

    >>> import residuum as rs
    >>> print(rs.Constant(3), rs.Constant("NP"))
    3 "NP"
    """

    __slots__ = ("value",)
    __match_args__ = ("value",)
    value: int | str

    def __new__(cls, value: int | str) -> Constant:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise InvalidNameError(
                f"expected an integer or a label (text), got {value!r}; write it as text"
            )
        # Instances of subclasses, such as an enumeration, may print and compare differently.
        if isinstance(value, str):
            if len(value) > LONGEST_WORD:
                raise InvalidNameError(
                    f"expected a label of at most {LONGEST_WORD:,} characters, got {len(value):,}; "
                    "shorten it"
                )
            return intern(cls, _joined_surrogates(str.__str__(value)))
        if not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
            raise InvalidNameError(
                "expected an integer of at most 64 bits, got a larger one; write it as text"
            )
        return intern(cls, int.__int__(value))


def _joined_surrogates(text: str) -> str:
    """Return a text with each surrogate pair as one character, as JSON reads them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@final
class Number(Term):
    """A number with decimals, such as 3.5, which quantities are compared with.

    Whole numbers are constants, because they may also be members of a domain.

    >>> import residuum as rs
    >>> print(rs.Comparison("<", rs.Variable("y"), rs.Number(0.5)))
    y < 0.5
    """

    __slots__ = ("value",)
    __match_args__ = ("value",)
    value: float

    def __new__(cls, value: float) -> Number:
        if not isinstance(value, float) or not math.isfinite(value):
            raise InvalidNameError(
                f"expected a finite number with decimals, such as 3.5, got {value!r}"
            )
        return intern(cls, float.__float__(value) + 0.0)  # −0.0 becomes 0.0


@final
class Application(Term):
    """A named function or quantity of terms, such as `begin(x)`.

    >>> import residuum as rs
    >>> print(rs.Application("begin", rs.Variable("x")))
    begin(x)
    """

    __slots__ = ("arguments", "function")
    __match_args__ = ("function", "arguments")
    function: str
    arguments: tuple[Term, ...]

    def __new__(cls, function: str, *arguments: Term | float) -> Application:
        if not arguments:
            raise InvalidNameError(
                f"expected one or more arguments of function `{function}`, got none; write a label "
                "as a Constant"
            )
        return intern(cls, check_name(function, "function"), as_terms(arguments))


@final
class Arithmetic(Term):
    """`left + right`, `-`, `*` or a division.

    On integers and positions, `div` is the quotient of floor division and `mod` the remainder. `/`
    divides quantities.

    >>> import residuum as rs
    >>> x = rs.Variable("x")
    >>> print(rs.Arithmetic("mod", rs.Arithmetic("+", x, 1), 10))
    (x + 1) mod 10
    """

    __slots__ = ("left", "operator", "right")
    __match_args__ = ("operator", "left", "right")
    operator: ArithmeticOperator
    left: Term
    right: Term

    def __new__(
        cls, operator: ArithmeticOperator, left: Term | float, right: Term | float
    ) -> Arithmetic:
        if operator not in ARITHMETIC_OPERATORS:
            raise InvalidNameError(
                f"expected an operator among {', '.join(ARITHMETIC_OPERATORS)}, got {operator!r}"
            )
        return intern(cls, operator, *as_terms((left, right)))


def as_terms(arguments: tuple[Term | float, ...]) -> tuple[Term, ...]:
    """Return arguments as terms. Numbers become terms too; text is ambiguous, and is refused."""
    return tuple(
        [
            argument if isinstance(argument, Term) else _as_constant(argument)
            for argument in arguments
        ]
    )


def _as_constant(value: object) -> Term:
    if isinstance(value, int):
        return Constant(value)
    if isinstance(value, float):
        return Number(value)
    raise InvalidNameError(
        f"expected a term or a number, got {value!r}; write Variable({value!r}) or "
        f"Constant({value!r})"
    )


def check_name(name: str, role: str) -> str:
    """Return a name that the text syntax can write; raise InvalidNameError for any other.

    >>> check_name("Digit", "predicate")
    'Digit'
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidNameError(
            f"expected a {role} name (a letter or `_`, then letters, digits and `_`), got {name!r}"
        )
    if len(name) > LONGEST_WORD:
        raise InvalidNameError(
            f"expected a {role} name of at most {LONGEST_WORD:,} characters, got {len(name):,}; "
            "shorten it"
        )
    if name in KEYWORDS:
        raise InvalidNameError(
            f"expected a {role} name, got the reserved word `{name}`; use another name"
        )
    return str.__str__(name)


def as_label(value: Any) -> Any:
    """Return an integer of NumPy or PyTorch as a Python `int`, and all other values unchanged."""
    if type(value) in (int, str, bool) or not isinstance(value, SupportsIndex):
        return value  # comparing types is fast, and enough for most values
    try:
        return operator.index(value)
    except TypeError:  # arrays and tensors have the method, even if they are no integers
        return value


def at_most(most: int, given: Iterable[Any]) -> Sequence[Any] | None:
    """Return the members of an iterable, or None if there are more. A range stays a range."""
    if isinstance(given, range):  # `len` raises for a range of more than 2**63 members
        return None if given[most:] else given
    taken = tuple(itertools.islice(given, most + 1))
    return None if len(taken) > most else taken
