"""Terms, which predicates speak about, and the names and labels that they are made of."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, SupportsIndex, final

from residuum.errors import InvalidNameError
from residuum.limits import LARGEST_INTEGER, LONGEST_WORD
from residuum.logic.nodes import Node, intern

CONNECTIVE_WORDS = ("not", "and", "or", "implies", "iff", "true", "false")
BINDING_WORDS = ("forall", "exists", "in", "where", "mod")
DECLARATION_WORDS = ("domain", "function", "predicate", "facts", "rule")  # users after the used
MODIFIER_WORDS = ("weight", "sequence", "independent")

KEYWORDS = frozenset(CONNECTIVE_WORDS + BINDING_WORDS + DECLARATION_WORDS + MODIFIER_WORDS)
"""Words with a meaning of their own in the text syntax; reserved everywhere, so that a formula
built in Python can always be written in a rule file."""

_NAME = re.compile(r"[^\W\d]\w*")

Label = int | str
"""The value of a constant: a member of a domain."""

ArithmeticOperator = Literal["+", "-", "*", "mod"]
ARITHMETIC_OPERATORS: Final[tuple[ArithmeticOperator, ...]] = ("+", "-", "*", "mod")


class Term(Node):
    """A variable, a constant, a function of terms or arithmetic on terms."""

    __slots__ = ()

    @classmethod
    def sort_with(cls, children: tuple[Node, ...]) -> str:  # noqa: ARG003
        """Return "term": arguments were checked on the way in."""
        return "term"


@final
class Variable(Term):
    """A name that a quantifier binds, or a free one."""

    __slots__ = ("name",)
    __match_args__ = ("name",)
    name: str

    def __new__(cls, name: str) -> Variable:
        return intern(cls, check_name(name, "variable"))


@final
class Constant(Term):
    """An integer or a label, the member of some domain."""

    __slots__ = ("value",)
    __match_args__ = ("value",)
    value: int | str

    def __new__(cls, value: int | str) -> Constant:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise InvalidNameError(f"expected an integer or a label (text), got {value!r}")
        # Subclasses (an enumeration, say) would print and compare in ways of their own.
        if isinstance(value, str):
            if len(value) > LONGEST_WORD:
                raise InvalidNameError(f"a label has at most {LONGEST_WORD:,} characters")
            return intern(cls, _joined_surrogates(str.__str__(value)))
        if not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
            raise InvalidNameError(
                "an integer in a formula has at most 64 bits; this one is too large"
            )
        return intern(cls, int.__int__(value))


def _joined_surrogates(text: str) -> str:
    """Return the text with surrogate pairs as the one character they mean, as JSON reads them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@final
class Application(Term):
    """A named function of terms, such as `begin(x)`."""

    __slots__ = ("arguments", "function")
    __match_args__ = ("function", "arguments")
    function: str
    arguments: tuple[Term, ...]

    def __new__(cls, function: str, *arguments: Term | int) -> Application:
        if not arguments:
            raise InvalidNameError(f"function `{function}` needs at least one argument")
        return intern(cls, check_name(function, "function"), as_terms(arguments))


@final
class Arithmetic(Term):
    """`left + right`, `-`, `*` or floor-`mod` on integers and sequence positions."""

    __slots__ = ("left", "operator", "right")
    __match_args__ = ("operator", "left", "right")
    operator: ArithmeticOperator
    left: Term
    right: Term

    def __new__(
        cls, operator: ArithmeticOperator, left: Term | int, right: Term | int
    ) -> Arithmetic:
        if operator not in ARITHMETIC_OPERATORS:
            raise InvalidNameError(
                f"expected an operator among {', '.join(ARITHMETIC_OPERATORS)}, got {operator!r}"
            )
        return intern(cls, operator, *as_terms((left, right)))


def as_terms(arguments: tuple[Term | int, ...]) -> tuple[Term, ...]:
    """Accept plain integers where terms are expected; text would be ambiguous and is refused."""
    return tuple(
        [
            argument if isinstance(argument, Term) else _as_constant(argument)
            for argument in arguments
        ]
    )


def _as_constant(value: object) -> Constant:
    if isinstance(value, int):
        return Constant(value)
    raise InvalidNameError(
        f"expected a term or an integer, got {value!r}; write Variable({value!r}) or "
        f"Constant({value!r})"
    )


def check_name(name: str, role: str) -> str:
    """Return the name unchanged if the text syntax can write it, else raise InvalidNameError.

    >>> check_name("Digit", "predicate")
    'Digit'
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidNameError(
            f"expected a {role} name (a letter or `_`, then letters, digits and `_`), got {name!r}"
        )
    if len(name) > LONGEST_WORD:
        raise InvalidNameError(f"a {role} name has at most {LONGEST_WORD:,} characters")
    if name in KEYWORDS:
        raise InvalidNameError(f"`{name}` is a reserved word and cannot name a {role}")
    return str.__str__(name)


def as_label(value: Any) -> Any:
    """Return an integer of NumPy or PyTorch as Python's, and everything else as it is."""
    if type(value) in (int, str, bool) or not isinstance(value, SupportsIndex):
        return value  # the first question is cheap, and usually settles it
    try:
        return operator.index(value)
    except TypeError:  # an array or a tensor that is no integer has the method, too
        return value


def at_most(most: int, given: Iterable[Any]) -> Sequence[Any] | None:
    """Return what an iterable gives, or None if that is more; a range stays one."""
    if isinstance(given, range):  # `len` refuses one of more than 63 bits
        return None if given[most:] else given
    taken = tuple(itertools.islice(given, most + 1))
    return None if len(taken) > most else taken
