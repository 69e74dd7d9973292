"""The relaxations by name, and `exact`. A family is one line of `_FAMILIES`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from residuum.errors import (
    InvalidNameError,
    RelaxationParameterError,
    UnknownRelaxationError,
    suggest,
)
from residuum.relaxations.carriers import Exact
from residuum.relaxations.drastic import Drastic
from residuum.relaxations.frank import frank
from residuum.relaxations.hamacher import hamacher
from residuum.relaxations.logics import Kind, Relaxation
from residuum.relaxations.lukasiewicz import Lukasiewicz
from residuum.relaxations.minimum import Minimum
from residuum.relaxations.nilpotent_minimum import NilpotentMinimum
from residuum.relaxations.numerals import read_number
from residuum.relaxations.powers import aczel_alsina, dombi, yager
from residuum.relaxations.product import Product
from residuum.relaxations.schweizer_sklar import schweizer_sklar
from residuum.relaxations.sugeno_weber import sugeno_weber
from residuum.relaxations.tnorms import TNorm

PAPER: Final = ("s-product", "r-product", "s-godel", "r-godel", "lukasiewicz")
"""The five relaxations of the paper, which are compared wherever none are named."""

DEFAULT: Final = "s-product"
"""The relaxation of a rule for which none is named.

It lost least, in the mean over small tasks, of those under which every rule can be compiled
(`make bench-advice`).
"""


@dataclass(frozen=True)
class Parameter:
    """The parameter of a family: its symbol, its range, and the infinite value it may have."""

    symbol: str
    above: float = -math.inf
    includes_bound: bool = False
    infinity: float | None = None
    example: str = "2"

    @property
    def range(self) -> str:
        """The range in words, such as `p > 0 or inf`."""
        bound = f"{self.symbol} {'>=' if self.includes_bound else '>'} {self.above:g}"
        finite = f"{self.symbol} real" if self.above == -math.inf else bound
        return finite if self.infinity is None else f"{finite} or {self.infinity:g}"

    def admits(self, value: Exact) -> bool:
        """Return whether the value is in the range."""
        if value in (math.inf, -math.inf):
            return value == self.infinity
        return value > self.above or (self.includes_bound and value == self.above)


@dataclass(frozen=True)
class Family:
    """A t-norm or a family of t-norms, and the prefix and kind of each logic made of it."""

    make: Callable[..., TNorm]
    parameter: Parameter | None = None
    logics: tuple[tuple[str, Kind], ...] = (("s-", "S"), ("r-", "R"))


_FAMILIES: Final[Mapping[str, Family]] = {
    "product": Family(Product),
    "godel": Family(Minimum),
    "lukasiewicz": Family(Lukasiewicz, logics=(("", "S and R"),)),
    "hamacher": Family(hamacher, Parameter("γ", 0, includes_bound=True)),
    "frank": Family(frank, Parameter("s", 0, infinity=math.inf)),
    "yager": Family(yager, Parameter("p", 0, infinity=math.inf)),
    "dombi": Family(dombi, Parameter("λ", 0, infinity=math.inf)),
    "aczel-alsina": Family(aczel_alsina, Parameter("λ", 0, infinity=math.inf)),
    "schweizer-sklar": Family(schweizer_sklar, Parameter("p", infinity=-math.inf)),
    "sugeno-weber": Family(sugeno_weber, Parameter("λ", -1, infinity=math.inf)),
    "nilpotent-minimum": Family(NilpotentMinimum),
    "drastic": Family(Drastic, logics=(("s-", "S"),)),
}
EXACT: Final = Relaxation("exact", Product(), "S")
"""The exact probability of a rule: independent examples and rules multiply, as in S-Product."""

OTHER_NAMES: Final = {
    "product": "r-product", "goguen": "r-product",
    "reichenbach": "s-product", "kleene-dienes": "s-godel",
}  # fmt: skip
"""What others call relaxations: product logic is Goguen's, the other names are of implications."""

_MAXSAT: Final = Relaxation("lukasiewicz-maxsat", Lukasiewicz(), "S and R", is_capped=False)
_registered: dict[str, TNorm] = {}

_NAME = re.compile(r"([\w-]{1,60})(?: ?\( ?(\S{1,90}?) ?\))?")


def relaxation(name: str | Relaxation) -> Relaxation:
    """Return the relaxation with this name, such as `r-product` or `s-yager(2)`.

    >>> relaxation("r-yager(2)").structure
    'nilpotent'
    """
    if isinstance(name, Relaxation):
        return name
    given = " ".join(name.split()) if isinstance(name, str) else repr(name)
    given = OTHER_NAMES.get(given, given)
    match = _NAME.fullmatch(given)
    word, written = (match[1], match[2]) if match else (given[:60], None)
    if word == _MAXSAT.name and written is None:
        return _MAXSAT
    for family_name, family in _families().items():
        for prefix, kind in family.logics:
            if word == prefix + family_name:
                value = _parameter(word, family.parameter, written)
                tnorm = family.make() if value is None else family.make(value)
                shown = word if value is None else f"{word}({_in_text(value)})"
                return Relaxation(shown, tnorm, kind)
    raise UnknownRelaxationError(
        f"no relaxation is called `{given[:60]}`.{suggest(word, _patterns())} "
        f"Known are: {', '.join(_patterns().values())}; and other names, "
        f"{', '.join(f'{other} for {ours}' for other, ours in OTHER_NAMES.items())}"
    )


def find_meaning(name: str | Relaxation) -> Relaxation:
    """Return what a name can mean for a rule: a relaxation, or `exact`, which is none."""
    if name == EXACT.name:
        return EXACT
    try:
        return relaxation(name)
    except RelaxationParameterError:
        raise
    except UnknownRelaxationError as error:
        raise UnknownRelaxationError(f"{error}, and `exact`") from None


def relaxation_names() -> tuple[str, ...]:
    """Return all names of the catalogue. A family has an example of its parameter.

    >>> import residuum as rs
    >>> "r-product" in rs.relaxation_names()
    True
    """
    names = [*PAPER, _MAXSAT.name]
    for family_name, family in _families().items():
        example = f"({family.parameter.example})" if family.parameter else ""
        names += [prefix + family_name + example for prefix, _ in family.logics]
    return tuple(dict.fromkeys(names))


def parameter_of(name: str) -> Parameter | None:
    """Return the parameter of the family of a relaxation, or None if it has none."""
    word = name.split("(")[0].strip()
    for family_name, family in _families().items():
        if word in [prefix + family_name for prefix, _ in family.logics]:
            return family.parameter
    return None


def is_built_in(one: Relaxation) -> bool:
    """Return whether a relaxation is that of the catalogue by its name, and not a user's.

    >>> is_built_in(relaxation("r-yager(2)")), is_built_in(Relaxation("r-product", Minimum(), "R"))
    (True, False)
    """
    word = one.name.split("(")[0]
    if any(word in (f"s-{name}", f"r-{name}") for name in tuple(_registered)):
        return False
    try:
        known = relaxation(one.name)
    except UnknownRelaxationError:
        return False
    return type(known.tnorm) is type(one.tnorm) and known == one


def register(name: str, tnorm: TNorm) -> None:
    """Add `s-NAME` and `r-NAME`, for a t-norm of the user, to the catalogue.

    The names of the built-in relaxations cannot be used. A registered name can be replaced.

    >>> from residuum.relaxations.degrees import Degree
    >>> from residuum.relaxations.generated import Generated
    >>> register("cubic", Generated(
    ...     generator=lambda x: x.false * x.false * x.false,
    ...     inverse=lambda on, penalty: Degree(on, false=on.power(penalty, 1 / 3)),
    ...     at_zero=1,
    ... ))
    >>> relaxation("r-cubic").structure
    'nilpotent'
    """
    if not re.fullmatch(r"[^\W\d_]\w*(-\w+)*", name) or len(name) > 40:
        raise InvalidNameError(
            f"expected a name of words joined by `-`, such as `my-logic`, got {name[:60]!r}; "
            "use letters, digits and `-`, 40 characters at most"
        )
    if not isinstance(tnorm, TNorm):
        raise UnknownRelaxationError(
            f"expected a TNorm, such as Generated(...), got {tnorm!r}; pass an instance of one"
        )
    if name in _FAMILIES or f"{name}-maxsat" == _MAXSAT.name or name == _MAXSAT.name:
        raise UnknownRelaxationError(f"`{name}` is in the catalogue; choose another name")
    _registered[name] = tnorm


def _families() -> Mapping[str, Family]:
    return {**_FAMILIES, **{name: _own(tnorm) for name, tnorm in tuple(_registered.items())}}


def _own(tnorm: TNorm) -> Family:
    both: tuple[tuple[str, Kind], ...] = (("s-", "S"), ("r-", "R"))
    has_residuum = tnorm.expressions.residuum is not None
    return Family(lambda: tnorm, logics=both if has_residuum else both[:1])


def _patterns() -> Mapping[str, str]:
    """Return the names of the catalogue, and for each how it is written with its parameter."""
    known = {_MAXSAT.name: _MAXSAT.name}
    for family_name, family in _families().items():
        for prefix, _ in family.logics:
            word, parameter = prefix + family_name, family.parameter
            known[word] = f"{word}({parameter.symbol})" if parameter else word
    return known


def _parameter(word: str, parameter: Parameter | None, written: str | None) -> Exact | None:
    if parameter is None:
        if written is not None:
            raise RelaxationParameterError(
                f"`{word}` takes no parameter, got `{written}`; leave it out"
            )
        return None
    if written is None:
        raise RelaxationParameterError(
            f"`{word}` needs its parameter ({parameter.range}): `{word}({parameter.example})`"
        )
    value = read_number(written)
    if value is None or not parameter.admits(value):
        raise RelaxationParameterError(
            f"`{word}({written})`: expected a parameter with {parameter.range}, got `{written}`"
        )
    return value


def _in_text(value: Exact) -> str:
    if value in (math.inf, -math.inf):
        return f"{value:g}"
    if value == int(value) and abs(int(value)) < 10**15:
        return str(int(value))
    short = repr(float(value))
    return short if Fraction(short) == value else str(value)


def default_relaxations(names: Sequence[str] | None) -> tuple[Relaxation, ...]:
    """Return the relaxations with these names, or those of the paper if no names are given."""
    return tuple(relaxation(name) for name in names or PAPER)
