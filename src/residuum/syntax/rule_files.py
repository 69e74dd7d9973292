"""Rule files (`.rsd`) → `Knowledge`. One error reports all mistakes in a file."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from lark import Token

from residuum.errors import KnowledgeError, ResiduumError, listed, suggest
from residuum.limits import MOST_LABELS, MOST_WORDS
from residuum.logic.terms import DECLARATION_WORDS, Constant, Label
from residuum.syntax.knowledge import (
    Domain,
    Facts,
    FrozenMapping,
    Function,
    Knowledge,
    Predicate,
    Quantity,
    Rule,
    check_scale,
)
from residuum.syntax.mistakes import Misread, Mistake, explain
from residuum.syntax.over import read_over
from residuum.syntax.parsing import Reader, Vocabulary
from residuum.syntax.phrases import QUOTED_OR_COMMENT, Phrase, place_of, read_phrase, words_of

_KEYWORD: Final = re.compile(rf"{QUOTED_OR_COMMENT}|\b(?:{'|'.join(DECLARATION_WORDS)})\b")


def read_rule_file(text: str, source: str) -> Knowledge:
    """Return the declarations in the text of a rule file; `source` names it in errors."""
    loading = _Loading()
    for declaration in _split(text, loading.mistakes, loading.unread):
        loading.take(declaration)
    if loading.mistakes:
        raise KnowledgeError(explain(text, loading.mistakes), source)
    return loading.knowledge()


def _split(text: str, mistakes: list[Mistake], unread: set[str]) -> Iterator[Phrase]:
    """Yield the declarations without syntax errors, in the order of DECLARATION_WORDS.

    A declaration starts at its keyword, so that a mistake in one hides none in the next. What a
    declaration with a syntax error names is `unread`.
    """
    if len(text) > MOST_WORDS:  # a shorter text has fewer words
        words = words_of(text, 0, len(text))
        if len(words) > MOST_WORDS:
            message = (
                f"expected at most {MOST_WORDS:,} words and symbols, got more. Split the file."
            )
            mistakes.append(Mistake(place_of(words[-1]), message))
            return
    ranks = {
        found.start(): DECLARATION_WORDS.index(found[0])
        for found in _KEYWORD.finditer(text)
        if found[0] in DECLARATION_WORDS
    }
    before = words_of(text, 0, next(iter(ranks), len(text)))
    if before:
        expected = ", ".join(f"`{word}`" for word in DECLARATION_WORDS)
        message = f"expected a declaration ({expected}), got `{before[0][:40]}`."
        advice = suggest(before[0], DECLARATION_WORDS)
        mistakes.append(Mistake(place_of(before[0]), message + advice))
    parts = itertools.pairwise([*ranks, len(text)])
    for start, end in sorted(parts, key=lambda part: ranks[part[0]]):
        try:
            yield read_phrase(text, "declaration", start, end)
        except Misread as error:
            mistakes.append(error.mistake)
            unread.update(map(str, words_of(text, start, end)[1:2]))


class _Loading:
    """Declarations read so far. What one may name must be read before it."""

    def __init__(self) -> None:
        self._label_count = 0
        self._domains: dict[str, Domain] = {}
        self._functions: dict[str, Function] = {}
        self._predicates: dict[str, Predicate] = {}
        self._quantities: dict[str, Quantity] = {}
        self._facts: dict[str, Facts] = {}
        self._rules: dict[str, Rule] = {}
        self._reader = Reader(
            Vocabulary(self._domains, self._functions, self._predicates, self._quantities)
        )
        self.mistakes = self._reader.mistakes
        self.unread = self._reader.unread

    def take(self, declaration: Phrase) -> None:
        match declaration.kind:
            case "domain":
                self._domain(declaration)
            case "function":
                self._function(declaration)
            case "predicate":
                self._predicate(declaration)
            case "quantity":
                self._quantity(declaration)
            case "facts":
                self._facts_of(declaration)
            case _:
                self._rule(declaration)

    def knowledge(self) -> Knowledge:
        return Knowledge(
            FrozenMapping(self._domains),
            FrozenMapping(self._functions),
            FrozenMapping(self._predicates),
            FrozenMapping(self._facts),
            FrozenMapping(self._rules),
            FrozenMapping(self._quantities),
        )

    def _name(self, declaration: Phrase, role: str, *taken: Mapping[str, object]) -> str:
        word = declaration.words[0]
        if any(str(word) in names for names in taken):
            self._reader.report(word, f"{role} `{word}` is declared twice. Remove one of them.")
        return str(word)

    def _check_domains(self, words: Iterable[Token]) -> None:
        for word in words:
            self._reader.check_declared(word, self._domains, "domain")

    def _constant(self, words: list[Token]) -> Label:
        return self._reader.constant(words).value

    # Domains

    def _domain(self, declaration: Phrase) -> None:
        name = self._name(declaration, "domain", self._domains)
        words, parts = declaration.words, declaration.parts
        labels = self._labels(parts[0]) if parts else None
        is_sequence = any(word.type == "SEQUENCE" for word in words)
        self._domains.setdefault(name, Domain(name, labels, is_sequence))

    def _labels(self, listing: Phrase) -> tuple[Label, ...] | range:
        found: dict[Label, None] = {}
        parts = listing.parts
        for phrase in parts:
            labels = self._label_or_range(phrase)
            size = _size(labels)
            # A label that is listed twice counts twice, because reading it again takes time.
            if self._label_count + size > MOST_LABELS:
                self._reader.report(
                    phrase.words[0],
                    f"a rule file lists at most {MOST_LABELS:,} labels; {self._label_count:,} are "
                    f"listed already, and {size:,} here. List fewer labels.",
                )
                return tuple(found) or labels[:MOST_LABELS]
            self._label_count += size
            if len(parts) == 1:
                return labels
            if not found.keys().isdisjoint(labels):
                repeated = next(label for label in labels if label in found)
                message = f"label {Constant(repeated)} is listed twice. List it once."
                self._reader.report(phrase.words[0], message)
            found.update(dict.fromkeys(labels))
        return tuple(found)

    def _label_or_range(self, phrase: Phrase) -> tuple[Label, ...] | range:
        ends = tuple([self._constant(words) for words in _singles(phrase.words)])
        if len(ends) == 1:
            return ends
        first, last = ends
        word = phrase.words[0]
        if isinstance(first, str) or isinstance(last, str):
            self._reader.report(
                word, "a range `first..last` runs between integers. List the labels one by one."
            )
            return ()
        if last < first:
            self._reader.report(word, f"the range {first}..{last} runs backwards. Swap its ends.")
        return range(first, last + 1)

    # Functions

    def _function(self, declaration: Phrase) -> None:
        name = self._name(declaration, "function", self._functions)
        arguments, *entries = declaration.parts
        result = declaration.words[1]
        self._check_domains([*arguments.words, result])
        domains = tuple(str(word) for word in arguments.words)
        table = self._table(declaration, domains, str(result), entries) if entries else None
        self._functions.setdefault(name, Function(name, domains, str(result), table))

    def _table(
        self,
        declaration: Phrase,
        domains: tuple[str, ...],
        result: str,
        entries: list[Phrase],
    ) -> Mapping[tuple[Label, ...], Label]:
        table: dict[tuple[Label, ...], Label] = {}
        before = len(self.mistakes)
        for entry in entries:
            key, value = entry.parts
            spelt = _singles(key.words)
            keys = [self._constant(words) for words in spelt]
            if len(keys) != len(domains):
                message = f"the function takes {len(domains)} arguments, got {len(keys)}."
                self._reader.report(key.words[0], message)
                continue
            for words, label, domain in zip(spelt, keys, domains, strict=True):
                self._check_label(words[0], label, domain)
            image = self._constant(value.words)
            self._check_label(value.words[0], image, result)
            if tuple(keys) in table:
                self._reader.report(key.words[0], "this argument is listed twice. List it once.")
            table[tuple(keys)] = image
        if len(self.mistakes) == before:  # a wrong argument would also be reported as a missing one
            self._check_totality(declaration, domains, table)
        return FrozenMapping(table)

    def _check_label(self, word: Token, label: Label, domain_name: str) -> None:
        domain = self._domains.get(domain_name)
        if domain is not None and not domain.has(label):
            advice = domain.twin_of(label) or self._reader.advice(
                str(label), map(str, domain.labels or ())
            )
            message = f"{Constant(label)} is no label of domain {domain}.{advice}"
            self._reader.report(word, message)

    def _check_totality(
        self,
        declaration: Phrase,
        domains: tuple[str, ...],
        table: Mapping[tuple[Label, ...], Label],
    ) -> None:
        known = [self._domains.get(name, Domain(name)).labels for name in domains]
        ranges = [labels for labels in known if labels is not None]
        if len(ranges) != len(domains):
            return
        missing = (key for key in _product(ranges) if key not in table)
        shown = ", ".join(listed(key) for key in itertools.islice(missing, 3))
        if shown:
            word = declaration.words[0]
            self._reader.report(word, f"function `{word}` has no value for {shown}. Add it.")

    # Predicates, facts and rules

    def _predicate(self, declaration: Phrase) -> None:
        name = self._name(declaration, "predicate", self._predicates)
        words = declaration.parts[0].words if declaration.parts else []
        kinds = {word.type for word in declaration.words}
        self._check_domains(words)
        domains = tuple(str(word) for word in words)
        predicate = Predicate(name, domains, "INDEPENDENT" in kinds, "HIDDEN" in kinds)
        self._predicates.setdefault(name, predicate)

    def _quantity(self, declaration: Phrase) -> None:
        name = self._name(
            declaration, "quantity", self._quantities, self._predicates, self._functions
        )
        word, *smoothings = declaration.words
        parts = {part.kind: part.words for part in declaration.parts}
        domains = parts.get("names", [])
        self._check_domains(domains)
        scale = 1.0
        if "scale" in parts:
            try:
                scale = check_scale(float(parts["scale"][0]))
            except ResiduumError as error:
                self._reader.report(parts["scale"][0], f"{error}.")
        else:
            self._reader.report(
                word,
                f"quantity `{word}` has no scale. Say after `scale`, in its own units, how large a "
                "difference counts.",
            )
        how = str(smoothings[0]) if smoothings else "logistic"
        self._quantities.setdefault(name, Quantity(scale, how, tuple(map(str, domains))))

    def _facts_of(self, declaration: Phrase) -> None:
        name = self._name(declaration, "facts", self._facts)
        predicate = declaration.words[1]
        self._reader.check_declared(predicate, self._predicates, "predicate")
        self._facts.setdefault(name, Facts(name, str(predicate)))

    def _rule(self, declaration: Phrase) -> None:
        name = self._name(declaration, "rule", self._rules, self._facts)
        *options, body = declaration.parts
        words = {option.kind: option.words for option in options}
        weight = float(words["weight"][0]) if "weight" in words else 1.0
        if not math.isfinite(weight):
            self._reader.report(
                words["weight"][0],
                "expected a finite weight, got an infinite one. Use a smaller one.",
            )
        over = self._over(words["over"]) if "over" in words else None
        self._rules.setdefault(name, Rule(name, self._reader.read(body), weight, over))

    def _over(self, words: list[Token]) -> str | None:
        numbers = [word for word in words if word.type in ("INTEGER", "DECIMAL", "PERCENT")]
        written = "".join(word for word in words if word not in numbers)
        if numbers:
            written += f"({''.join(numbers)})"
        try:
            return str(read_over(written))
        except ResiduumError as error:
            self._reader.report(words[0], f"{error}.")
            return None


def _size(labels: Sequence[Label]) -> int:
    """Return the number of labels. `len` raises for ranges of more than 2**63 members."""
    return labels.stop - labels.start if isinstance(labels, range) else len(labels)


def _product(ranges: Sequence[Sequence[Label]]) -> Iterator[tuple[Label, ...]]:
    """Yield all tuples of members, the last changing fastest.

    Unlike `itertools.product` this keeps no copy of a range.
    """
    places = [0] * len(ranges)
    place = 0 if all(ranges) else -1
    while place >= 0:
        yield tuple([labels[here] for labels, here in zip(ranges, places, strict=True)])
        place = len(ranges) - 1
        while place >= 0 and places[place] + 1 == len(ranges[place]):
            places[place] = 0
            place -= 1
        if place >= 0:
            places[place] += 1


def _singles(words: list[Token]) -> list[list[Token]]:
    """Return the words of each label in a list: a `-` belongs to the integer after it."""
    singles: list[list[Token]] = []
    for word in words:
        if singles and singles[-1][-1].type == "MINUS":
            singles[-1].append(word)
        else:
            singles.append([word])
    return singles
