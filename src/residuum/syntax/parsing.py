"""Text → formula: names are resolved and, where things are declared, checked."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from lark import Token

from residuum.errors import FormulaSyntaxError, NotTextError, listed, suggest
from residuum.limits import LARGEST_INTEGER, LONGEST_WORD, MOST_SHOWN
from residuum.logic import formulas as fm
from residuum.logic import terms as tm
from residuum.logic.counting import Count, CountOf, CountQuantifier, Relation
from residuum.logic.formulas import Formula
from residuum.logic.nodes import fold_scoped
from residuum.logic.printing import brief
from residuum.logic.terms import ABSOLUTE, Term
from residuum.syntax.knowledge import Domain, Function, Predicate, Quantity
from residuum.syntax.mistakes import Misread, Mistake, explain
from residuum.syntax.phrases import Phrase, place_of, read_phrase


def parse(text: str) -> Formula:
    """Return the formula that a text spells; FormulaSyntaxError says where it goes wrong.

    >>> parse("forall x in D: Cat(x) -> not Dog(x)")
    <Forall forall x in D: Cat(x) -> ~Dog(x)>
    """
    if not isinstance(text, str):
        raise NotTextError(
            f"expected a formula or its text, got {type(text).__name__}; write it as text, such as "
            "'P -> Q'"
        )
    reader = Reader(vocabulary=None)
    try:
        formula = reader.read(read_phrase(text, "formula"))
    except Misread as error:
        reader.mistakes.append(error.mistake)
    if reader.mistakes:
        mistakes = reader.mistakes
        if _FILE_NAME.fullmatch(text):
            mistakes = [Mistake(0, "expected a formula, got what looks like the name of a file. "
                                   f"Read it by rs.load({text!r}).")]  # fmt: skip
        raise FormulaSyntaxError(*explain(text, mistakes)[0]) from None
    return formula


def as_formula(formula: str | Formula) -> Formula:
    """Return a formula that is given as itself or as text."""
    return formula if isinstance(formula, Formula) else parse(formula)


_FILE_NAME: Final = re.compile(r"[^\n]*[^\s]\.(rsd|cnf|dimacs|txt)")
"""The names of the files that `rs.load` reads. No formula ends like this."""

_SYMBOLS: Final = {"·": "*", "×": "*", "≠": "!=", "≤": "<=", "≥": ">="}

_RELATIONS: Final[Mapping[str, Relation]] = {
    "exactly": "exactly", "=": "exactly", "least": "at least", ">=": "at least", "≥": "at least",
    "most": "at most", "<=": "at most", "≤": "at most",
}  # fmt: skip
_QUANTIFIERS: Final = frozenset({"forall", "exists", "exists_one", "counting"})
_exactly_one: Final = functools.partial(CountQuantifier, Count("exactly", 1))

NUMBERS: Final = Domain("integers", None, is_sequence=True)
"""The domain of computed terms, which fit wherever a numeric domain is expected."""

_REALS: Final = Domain("numbers with decimals")
"""The domain of quantities, and of what is computed from them."""

_ANYTHING: Final = Domain("any domain")
"""The domain of terms with a mistake that was reported: they fit everywhere."""


@dataclass(frozen=True)
class Vocabulary:
    """The declarations that say what names mean."""

    domains: Mapping[str, Domain]
    functions: Mapping[str, Function]
    predicates: Mapping[str, Predicate]
    quantities: Mapping[str, Quantity]


class ReadTerm(NamedTuple):
    """A term, the domain of its value, and its first word.

    The domain is None for a constant and for a name that no quantifier binds: both take the domain
    that is expected in their place.
    """

    term: Term
    domain: Domain | None
    word: Token


NO_QUANTITY: Final = (
    "this compares no quantity. Members of domains are compared after `where`, and formulas are "
    "equivalent by `<->`. Declare numbers: `quantity Age(person) scale 2`."
)
"""What is wrong with a comparison of anything else outside guards."""

MOST_DIGITS: Final = len(str(LARGEST_INTEGER))
"""The most digits of an integer, without leading zeros."""


class Reader:
    """Turns phrases into formulas and collects the mistakes in them.

    Without a vocabulary nothing is declared, and names are not checked.
    """

    def __init__(self, vocabulary: Vocabulary | None) -> None:
        self.mistakes: list[Mistake] = []
        # Names whose declarations could not be read, which is reported once and not at each use.
        self.unread: set[str] = set()
        self._vocabulary = vocabulary
        # For each variable the domains of the quantifiers that bind it around the current phrase,
        # outermost first. `_enter` adds them, and `_quantifier` removes them.
        self._bound: dict[str, list[Domain | None]] = {}
        self._parts: dict[tuple[Domain, Domain], bool] = {}

    def read(self, phrase: Phrase) -> Formula:
        """Return the formula of a phrase. If there were mistakes, the formula must not be used."""
        result = fold_scoped(
            phrase,
            {
                "truth": lambda p, _, __: fm.Truth(p.words[0].type == "TRUE"),
                "not": lambda _, parts, __: fm.Not(*parts),
                "and": lambda _, parts, __: fm.And(*parts),
                "or": lambda _, parts, __: fm.Or(*parts),
                "implies": lambda _, parts, __: fm.Implies(*parts),
                "iff": lambda _, parts, __: fm.Iff(*parts),
                "forall": lambda p, parts, _: self._quantifier(fm.Forall, p, parts),
                "exists": lambda p, parts, _: self._quantifier(fm.Exists, p, parts),
                "exists_one": lambda p, parts, _: self._quantifier(_exactly_one, p, parts),
                "counting": lambda p, parts, _: self._quantifier(self._counter(p), p, parts),
                "count_of": lambda p, parts, _: CountOf(self._count(p.parts[0]), parts),
                "atom": lambda p, parts, _: self._atom(p, parts),
                "comparison": lambda p, parts, _: self._comparison(p, *parts),
                "compared": lambda p, parts, _: self._compared(p, *parts),
                "variable": lambda p, _, __: self._variable(p.words[0]),
                "integer": lambda p, _, __: self._integer(p.words[0], 1),
                "decimal": lambda p, _, __: self._decimal(p.words[0]),
                "string": lambda p, _, __: self._string(p.words[0]),
                "minus": lambda p, parts, _: self._minus(p, parts[0]),
                "arithmetic": lambda p, parts, _: self._arithmetic(p, *parts),
                "application": lambda p, parts, _: self._application(p, parts),
            },
            scope=None,
            descend=self._descend,
        )
        assert isinstance(result, Formula)
        return result

    def report(self, word: Token, message: str) -> None:
        """Add a mistake at a word."""
        self.mistakes.append(Mistake(place_of(word), message))

    def advice(self, name: str, known: Iterable[str]) -> str:
        """Return ` Did you mean ...?` with the known name most like this one, or nothing."""
        # Comparing names is slow, and an error message shows only the first mistakes.
        return "" if len(self.mistakes) > MOST_SHOWN else suggest(str(name), known)

    def constant(self, words: Sequence[Token]) -> tm.Constant:
        """Return the constant of a label, written as a name, a string or an integer."""
        word = words[-1]
        if word.type == "NAME":
            return tm.Constant(str(word))
        if word.type == "STRING":
            return _as_constant(self._string(word))
        return _as_constant(self._integer(word, -1 if len(words) == 2 else 1))

    # Quantifiers and the variables they bind

    def _descend(self, phrase: Phrase, _: None) -> list[tuple[Phrase, None]]:
        below = [part for part in phrase.parts if part.kind != "count"]
        if phrase.kind not in _QUANTIFIERS:
            return [(part, None) for part in below]
        bindings, *rest = below
        self._enter(bindings)
        return [(part, None) for part in rest]

    def _enter(self, bindings: Phrase) -> None:
        bound: dict[str, Domain | None] = {}
        for group in bindings.parts:
            *names, domain = group.words
            known = self._domain(domain)
            for name in names:
                if str(name) in bound:
                    self.report(
                        name,
                        f"variable `{name}` is bound twice by one quantifier. Rename one of them.",
                    )
                bound[str(name)] = known
        for variable, known in bound.items():
            self._bound.setdefault(variable, []).append(known)

    def _domain(self, word: Token) -> Domain | None:
        if self._vocabulary is None:
            return None
        known: Domain | None = self._declared(word, self._vocabulary.domains, "domain")
        return known

    def _declared(self, word: Token, known: Mapping[str, Any], role: str) -> Any:
        self.check_declared(word, known, role)
        return known.get(str(word))

    def check_declared(self, word: Token, known: Mapping[str, Any], role: str) -> None:
        """Report a name that is not declared."""
        if str(word) not in known and str(word) not in self.unread:
            self.report(word, f"{role} `{word}` is not declared.{self.advice(word, known)}")

    def _counter(self, phrase: Phrase) -> Callable[..., Formula]:
        return functools.partial(CountQuantifier, self._count(phrase.parts[0]))

    def _count(self, phrase: Phrase) -> Count:
        how, number = phrase.words
        relation = _RELATIONS.get(str(how))
        if relation is None:
            self.report(how, f"expected `=`, `>=` or `<=` before a number, got `{how}`.")
        read = self._integer(number, 1).term
        assert isinstance(read, tm.Constant)
        assert isinstance(read.value, int)
        return Count(relation or "exactly", read.value)

    def _quantifier(
        self, kind: Callable[..., Formula], phrase: Phrase, parts: Sequence[Formula]
    ) -> Formula:
        bindings: dict[str, str] = {}
        (bound,) = (part for part in phrase.parts if part.kind == "bindings")
        for group in bound.parts:
            *names, domain = group.words
            bindings.update({str(name): str(domain) for name in names})
        for variable in bindings:
            self._bound[variable].pop()
        guard = parts[0] if len(parts) == 2 else None
        return kind(bindings.items(), parts[-1], guard)

    # Atoms and comparisons

    def _atom(self, phrase: Phrase, arguments: Sequence[ReadTerm]) -> Formula:
        word = phrase.words[0]
        known = self._vocabulary.predicates if self._vocabulary else None
        return fm.Atom(str(word), *self._arguments(word, "predicate", known, arguments))

    def _arguments(
        self,
        word: Token,
        role: str,
        known: Mapping[str, Predicate] | Mapping[str, Function] | Mapping[str, Quantity] | None,
        arguments: Sequence[ReadTerm],
    ) -> list[Term]:
        declared = None if known is None else self._declared(word, known, role)
        if declared is None or self._vocabulary is None:
            return [argument.term for argument in arguments]
        if len(declared.domains) != len(arguments):
            wanted = listed(declared.domains) or "nothing"
            self.report(
                word,
                f"{role} `{word}` takes {len(declared.domains)} arguments ({wanted}), "
                f"got {len(arguments)}.",
            )
            return [argument.term for argument in arguments]
        domains = [self._vocabulary.domains.get(name) for name in declared.domains]
        return [
            self._fit(argument, domain) for argument, domain in zip(arguments, domains, strict=True)
        ]

    def _comparison(self, phrase: Phrase, left: ReadTerm, right: ReadTerm) -> Formula:
        operator: Any = _SYMBOLS.get(str(phrase.words[0]), str(phrase.words[0]))
        sides = (left.term, right.term)
        if _REALS in (left.domain, right.domain):
            self.report(
                phrase.words[0],
                "a guard compares members of domains, and no quantities, whose values come with "
                "the data. Write the comparison into the body: `Age(x) >= 18 -> …`.",
            )
        elif self._vocabulary is not None:
            domain = left.domain or right.domain or NUMBERS
            domain = NUMBERS if domain.is_numeric else domain
            sides = (self._fit(left, domain), self._fit(right, domain))
            is_ordered = domain.is_numeric or domain.is_text or domain.is_open
            if operator not in ("=", "!=") and not is_ordered:
                self.report(
                    phrase.words[0],
                    f"`{operator}` needs numbers, or labels that are all text; {domain} has "
                    "neither.",
                )
        return fm.Comparison(operator, *sides)

    def _compared(self, phrase: Phrase, left: ReadTerm, right: ReadTerm) -> Formula:
        """Return a comparison outside guards, where quantities are compared."""
        word = phrase.words[0]
        operator: Any = _SYMBOLS.get(str(word), str(word))
        sides = (left.term, right.term)
        if self._vocabulary is not None:
            if not any(side.domain in (_REALS, _ANYTHING) for side in (left, right)):
                self.report(word, NO_QUANTITY)
            else:
                sides = (self._as_number(left), self._as_number(right))
        return fm.Comparison(operator, *sides)

    def _as_number(self, read: ReadTerm) -> Term:
        if read.domain is None and isinstance(read.term, tm.Variable) and self._vocabulary:
            name = read.term.name
            self.report(
                read.word,
                f"`{name}` is bound by no quantifier and is no quantity."
                + self.advice(name, self._vocabulary.quantities),
            )
        elif read.domain is not _REALS:
            return self._fit(read, NUMBERS)
        return read.term

    def _fit(self, read: ReadTerm, expected: Domain | None) -> Term:
        """Return the term as a member of the expected domain, and report it if it cannot be one."""
        if expected is None:
            return read.term
        if read.domain is not None:
            if not self._is_within(read.domain, expected):
                self.report(
                    read.word, f"{brief(read.term)} is in domain {read.domain}, not in {expected}."
                )
            return read.term
        match read.term:
            case tm.Constant(value):
                if expected is not _ANYTHING and not (expected.is_open or expected.has(value)):
                    twin = expected.twin_of(value)
                    self.report(read.word, f"{read.term} is no label of domain {expected}.{twin}")
            case tm.Variable(name) if expected.has(name):
                return tm.Constant(name)
            case tm.Variable(name):
                advice = self.advice(name, map(str, expected.labels or ()))
                if expected.is_open and expected not in (_ANYTHING, _REALS):
                    advice = f' If it is the name of a member, write "{name}".'
                self.report(
                    read.word,
                    f"`{name}` is bound by no quantifier and is no label of domain {expected}."
                    + advice,
                )
        return read.term

    def _is_within(self, domain: Domain, expected: Domain) -> bool:
        # Domains are compared by identity: a user's domain may have the same name as ours.
        if domain is _ANYTHING or expected is _ANYTHING or domain is expected:
            return True
        if not (domain.is_numeric and expected.is_numeric):
            return False
        if domain is NUMBERS or expected is NUMBERS:
            return True
        pair = (domain, expected)
        if pair not in self._parts:  # comparing long lists of labels once is enough
            self._parts[pair] = domain.is_part_of(expected)
        return self._parts[pair]

    # Terms

    def _variable(self, word: Token) -> ReadTerm:
        around = self._bound.get(str(word)) if self._vocabulary else None
        domain = around[-1] if around else None
        if around and domain is None:
            domain = _ANYTHING  # the unknown domain has been reported
        if self._vocabulary is not None and not around and str(word) in self._vocabulary.quantities:
            self._arguments(word, "quantity", self._vocabulary.quantities, ())
            domain = _REALS
        if self._vocabulary is not None and not around and str(word) in self.unread:
            domain = _ANYTHING
        return ReadTerm(tm.Variable(str(word)), domain, word)

    def _integer(self, word: Token, sign: int) -> ReadTerm:
        # Lengths are compared first, because converting a million digits takes long.
        digits = word if len(word) <= MOST_DIGITS else word.lstrip("0")
        value = int(digits or "0") if len(digits) <= MOST_DIGITS else LARGEST_INTEGER + 1
        if value > LARGEST_INTEGER:
            self.report(
                word, "expected an integer of at most 64 bits, got a larger one. Use a smaller one."
            )
            return ReadTerm(tm.Constant(0), _ANYTHING, word)
        return ReadTerm(tm.Constant(sign * value), None, word)

    def _decimal(self, word: Token) -> ReadTerm:
        value = float(word)
        if not math.isfinite(value):
            self.report(word, "expected a number below 1e308, got a larger one. Use a smaller one.")
            value = 0.0
        return ReadTerm(tm.Number(value), _REALS if self._vocabulary else None, word)

    def _string(self, word: Token) -> ReadTerm:
        try:
            value = json.loads(str(word), strict=False)
        except ValueError:
            self.report(word, 'a quoted label uses the escapes of JSON: \\" \\\\ \\n \\u00e9.')
            return ReadTerm(tm.Constant(""), _ANYTHING, word)
        if len(value) > LONGEST_WORD:
            self.report(
                word,
                f"expected a label of at most {LONGEST_WORD:,} characters, got {len(value):,}. "
                "Shorten it.",
            )
            return ReadTerm(tm.Constant(""), _ANYTHING, word)
        return ReadTerm(tm.Constant(value), None, word)

    def _minus(self, phrase: Phrase, operand: ReadTerm) -> ReadTerm:
        word = phrase.words[0]
        if isinstance(operand.term, tm.Constant) and isinstance(operand.term.value, int):
            return ReadTerm(tm.Constant(-operand.term.value), None, word)
        if isinstance(operand.term, tm.Number):
            return ReadTerm(tm.Number(-operand.term.value), operand.domain, word)
        zero = ReadTerm(tm.Constant(0), None, word)
        return self._compute("-", word, zero, operand)

    def _arithmetic(self, phrase: Phrase, left: ReadTerm, right: ReadTerm) -> ReadTerm:
        word = phrase.words[0]
        return self._compute(_SYMBOLS.get(str(word), str(word)), word, left, right)

    def _compute(self, symbol: Any, word: Token, left: ReadTerm, right: ReadTerm) -> ReadTerm:
        if symbol in tm.DIVISIONS and right.term == tm.Constant(0):
            self.report(word, f"the right-hand side of `{symbol}` is zero. Use another number.")
        sides = (left.term, right.term)
        domain = NUMBERS
        if self._vocabulary is not None:
            sides = (self._as_number(left), self._as_number(right))
            if _REALS in (left.domain, right.domain):
                domain = _REALS
                if symbol in ("mod", "div"):
                    self.report(word, f"`{symbol}` is for integers. Divide quantities by `/`.")
            elif symbol == "/":
                self.report(word, "`/` divides quantities. Divide integers by `div`.")
        return ReadTerm(tm.Arithmetic(symbol, *sides), domain, left.word)

    def _application(self, phrase: Phrase, arguments: Sequence[ReadTerm]) -> ReadTerm:
        word = phrase.words[0]
        known = self._vocabulary.functions if self._vocabulary else None
        if self._vocabulary is not None and str(word) not in self._vocabulary.functions:
            if str(word) in self._vocabulary.quantities:
                given = self._arguments(word, "quantity", self._vocabulary.quantities, arguments)
                return ReadTerm(tm.Application(str(word), *given), _REALS, word)
            if str(word) == ABSOLUTE and len(arguments) == 1:
                inside = tm.Application(ABSOLUTE, self._as_number(arguments[0]))
                return ReadTerm(inside, _REALS, word)
        term = tm.Application(str(word), *self._arguments(word, "function", known, arguments))
        if self._vocabulary is None:
            return ReadTerm(term, None, word)
        declared = self._vocabulary.functions.get(str(word))
        domain = self._vocabulary.domains.get(declared.result) if declared else None
        return ReadTerm(term, domain or _ANYTHING, word)


def _as_constant(read: ReadTerm) -> tm.Constant:
    assert isinstance(read.term, tm.Constant)
    return read.term
