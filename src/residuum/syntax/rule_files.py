"""Rule files (`.rsd`) → Knowledge, with every problem in the file reported together."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lark import Token

from residuum.errors import (
    MOST_SHOWN,
    FormulaSyntaxError,
    KnowledgeError,
    Problem,
    ResiduumError,
    suggest,
)
from residuum.logic.names import DECLARATION_WORDS
from residuum.logic.terms import Constant
from residuum.syntax.excerpts import excerpt, locate
from residuum.syntax.knowledge import (
    Domain,
    Facts,
    FrozenMapping,
    Function,
    Knowledge,
    Label,
    Predicate,
    Rule,
)
from residuum.syntax.phrases import MOST_WORDS, Phrase, read_phrase, words_of
from residuum.syntax.reading import Reader, Vocabulary

MOST_LABELS: Final = 1_000_000
"""The most labels the domains of a rule file may list together."""


def load(path: str | os.PathLike[str]) -> Knowledge:
    """Return the knowledge in a rule file, or raise KnowledgeError with all its problems."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ResiduumError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except (OSError, ValueError) as error:
        raise ResiduumError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    return loads(text, source=str(path))


def loads(text: str, *, source: str = "rule file") -> Knowledge:
    """Return the knowledge a rule file's text states; `source` names it in errors.

    >>> knowledge = loads('''
    ...     domain digit = 0..9
    ...     predicate Even(digit) independent
    ...     rule alternate weight 0.5: forall d in digit where d < 9: Even(d) -> ~Even(d + 1)
    ... ''')
    >>> knowledge.rules["alternate"].weight
    0.5
    """
    loading = _Loading()
    for declaration in _split(text, loading.problems):
        loading.take(declaration)
    knowledge = loading.finish()
    if loading.problems:
        found, lines = sorted(set(loading.problems)), text.split("\n")
        raise KnowledgeError([(problem, excerpt(lines, problem)) for problem in found], source)
    return knowledge


@dataclass(frozen=True)
class _Declaration:
    """One declaration as it stands in the file, and where it starts."""

    phrase: Phrase
    line: int
    column: int

    def place(self, problem: Problem) -> Problem:
        return _shift(problem, self.line, self.column)


def _shift(problem: Problem, line: int, column: int) -> Problem:
    """Return a problem of a declaration in the coordinates of the file."""
    first = problem.line == 1
    return Problem(
        problem.line + line - 1, problem.column + (column - 1 if first else 0), problem.message
    )


def _split(text: str, problems: list[Problem]) -> Iterator[_Declaration]:
    """Yield the declarations that parse. Each starts at its keyword, so that a mistake in one
    does not hide those in the next.
    """
    starts: list[int | None] = []
    for count, (word, offset) in enumerate(words_of(text)):
        if count >= MOST_WORDS:
            message = f"a rule file has at most {MOST_WORDS:,} words and symbols."
            problems.append(Problem(*locate(text, offset), message))
            return
        if word in DECLARATION_WORDS:
            starts.append(offset)
        elif not starts:
            expected = ", ".join(f"`{word}`" for word in DECLARATION_WORDS)
            advice = suggest(word, DECLARATION_WORDS)
            message = f"expected a declaration ({expected}), got `{word[:40]}`.{advice}"
            problems.append(Problem(*locate(text, offset), message))
            starts.append(None)  # what follows up to the next keyword is not read
    line, position = 1, 0
    for start, end in itertools.pairwise([*starts, len(text)]):
        if start is None:
            continue
        line += text.count("\n", position, start)
        position = start
        column = start - text.rfind("\n", 0, start)
        try:
            yield _Declaration(read_phrase(text[start:end], "declaration"), line, column)
        except FormulaSyntaxError as error:
            problems.append(_shift(error.problem, line, column))


class _Loading:
    """Declarations on their way to a Knowledge: rules are read once all else is known."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._label_count = 0
        self._later: dict[str, list[_Declaration]] = {"function": [], "facts": [], "rule": []}
        self._domains: dict[str, Domain] = {}
        self._functions: dict[str, Function] = {}
        self._predicates: dict[str, Predicate] = {}
        self._predicate_words: list[tuple[_Declaration, list[Token]]] = []
        self._facts: dict[str, Facts] = {}
        self._rules: dict[str, Rule] = {}

    def take(self, declaration: _Declaration) -> None:
        match declaration.phrase.kind:
            case "domain":
                self._domain(declaration)
            case "predicate":
                self._predicate(declaration)
            case kind:
                self._later[kind].append(declaration)

    def finish(self) -> Knowledge:
        for declaration, words in self._predicate_words:
            self._check_domains(declaration, words)
        for declaration in self._later["function"]:
            self._function(declaration)
        for declaration in self._later["facts"]:
            self._facts_of(declaration)
        for declaration in self._later["rule"]:
            self._rule(declaration)
        return Knowledge(
            FrozenMapping(self._domains),
            FrozenMapping(self._functions),
            FrozenMapping(self._predicates),
            FrozenMapping(self._facts),
            FrozenMapping(self._rules),
        )

    def _report(self, declaration: _Declaration, word: Token, message: str) -> None:
        problem = Problem(word.line or 1, word.column or 1, message)
        self.problems.append(declaration.place(problem))

    def _advice(self, name: str, known: Iterable[str]) -> str:
        return "" if len(self.problems) > MOST_SHOWN else suggest(str(name), known)

    def _name(self, declaration: _Declaration, role: str, *taken: Mapping[str, object]) -> str:
        word = declaration.phrase.words[0]
        if any(str(word) in names for names in taken):
            self._report(declaration, word, f"{role} `{word}` is declared twice.")
        return str(word)

    def _check_domains(self, declaration: _Declaration, words: Iterable[Token]) -> None:
        for word in words:
            if str(word) not in self._domains:
                advice = self._advice(word, self._domains)
                self._report(declaration, word, f"domain `{word}` is not declared.{advice}")

    def _constant(self, declaration: _Declaration, words: list[Token]) -> Label:
        reader = Reader(vocabulary=None)
        value = reader.constant(words).value
        self.problems += [declaration.place(problem) for problem in reader.problems]
        return value

    # Domains

    def _domain(self, declaration: _Declaration) -> None:
        name = self._name(declaration, "domain", self._domains)
        words, parts = declaration.phrase.words, declaration.phrase.parts
        labels = tuple(self._labels(declaration, parts[0])) if parts else None
        is_sequence = any(word.type == "SEQUENCE" for word in words)
        self._domains.setdefault(name, Domain(name, labels, is_sequence))

    def _labels(self, declaration: _Declaration, listed: Phrase) -> Iterator[Label]:
        seen: set[Label] = set()
        for phrase in listed.parts:
            repeated = None
            for label in self._label_or_range(declaration, phrase):
                if self._label_count == MOST_LABELS:
                    message = f"a rule file lists at most {MOST_LABELS:,} labels."
                    self._report(declaration, phrase.words[0], message)
                    return
                if label in seen:
                    repeated = label
                    continue
                self._label_count += 1
                seen.add(label)
                yield label
            if repeated is not None:
                message = f"label {Constant(repeated)} is listed twice."
                self._report(declaration, phrase.words[0], message)

    def _label_or_range(self, declaration: _Declaration, phrase: Phrase) -> Iterable[Label]:
        ends = [self._constant(declaration, words) for words in _singles(phrase.words)]
        if len(ends) == 1:
            return ends
        first, last = ends
        word = phrase.words[0]
        if isinstance(first, str) or isinstance(last, str):
            self._report(declaration, word, "a range `first..last` runs between integers.")
            return ()
        if last < first:
            self._report(declaration, word, f"the range {first}..{last} runs backwards.")
        return range(first, last + 1)

    # Functions

    def _function(self, declaration: _Declaration) -> None:
        name = self._name(declaration, "function", self._functions)
        arguments, *entries = declaration.phrase.parts
        result = declaration.phrase.words[1]
        self._check_domains(declaration, [*arguments.words, result])
        domains = tuple(str(word) for word in arguments.words)
        table = self._table(declaration, domains, str(result), entries) if entries else None
        self._functions.setdefault(name, Function(name, domains, str(result), table))

    def _table(
        self,
        declaration: _Declaration,
        domains: tuple[str, ...],
        result: str,
        entries: list[Phrase],
    ) -> Mapping[tuple[Label, ...], Label]:
        table: dict[tuple[Label, ...], Label] = {}
        before = len(self.problems)
        for entry in entries:
            key, value = entry.parts
            spelt = _singles(key.words)
            keys = [self._constant(declaration, words) for words in spelt]
            if len(keys) != len(domains):
                message = f"the function takes {len(domains)} arguments, got {len(keys)}."
                self._report(declaration, key.words[0], message)
                continue
            for words, label, domain in zip(spelt, keys, domains, strict=True):
                self._check_label(declaration, words[0], label, domain)
            image = self._constant(declaration, value.words)
            self._check_label(declaration, value.words[0], image, result)
            if tuple(keys) in table:
                self._report(declaration, key.words[0], "this argument is listed twice.")
            table[tuple(keys)] = image
        if len(self.problems) == before:  # a wrong entry is not also a missing one
            self._check_totality(declaration, domains, table)
        return FrozenMapping(table)

    def _check_label(
        self, declaration: _Declaration, word: Token, label: Label, domain_name: str
    ) -> None:
        domain = self._domains.get(domain_name)
        if domain is not None and not domain.has(label):
            advice = self._advice(str(label), map(str, domain.labels or ()))
            message = f"{Constant(label)} is no label of domain {domain}.{advice}"
            self._report(declaration, word, message)

    def _check_totality(
        self,
        declaration: _Declaration,
        domains: tuple[str, ...],
        table: Mapping[tuple[Label, ...], Label],
    ) -> None:
        listed = [self._domains.get(name, Domain(name)).labels for name in domains]
        ranges = [labels for labels in listed if labels is not None]
        if len(ranges) != len(domains):
            return
        missing = (key for key in itertools.product(*ranges) if key not in table)
        shown = ", ".join(", ".join(map(str, key)) for key in itertools.islice(missing, 3))
        if shown:
            word = declaration.phrase.words[0]
            self._report(declaration, word, f"function `{word}` has no value for {shown}.")

    # Predicates, facts and rules

    def _predicate(self, declaration: _Declaration) -> None:
        name = self._name(declaration, "predicate", self._predicates)
        words = declaration.phrase.parts[0].words if declaration.phrase.parts else []
        independent = declaration.phrase.words[-1].type == "INDEPENDENT"
        self._predicate_words.append((declaration, words))
        predicate = Predicate(name, tuple(str(word) for word in words), independent)
        self._predicates.setdefault(name, predicate)

    def _facts_of(self, declaration: _Declaration) -> None:
        name = self._name(declaration, "facts", self._facts)
        predicate = declaration.phrase.words[1]
        if str(predicate) not in self._predicates:
            advice = self._advice(predicate, self._predicates)
            self._report(
                declaration, predicate, f"predicate `{predicate}` is not declared.{advice}"
            )
        self._facts.setdefault(name, Facts(name, str(predicate)))

    def _rule(self, declaration: _Declaration) -> None:
        name = self._name(declaration, "rule", self._rules, self._facts)
        *weights, body = declaration.phrase.parts
        weight = float(weights[0].words[0]) if weights else 1.0
        if not math.isfinite(weight):
            self._report(declaration, weights[0].words[0], "a weight is a finite number.")
        vocabulary = Vocabulary(self._domains, self._functions, self._predicates)
        reader = Reader(vocabulary, advises=len(self.problems) <= MOST_SHOWN)
        formula = reader.read(body)
        self.problems += [declaration.place(problem) for problem in reader.problems]
        self._rules.setdefault(name, Rule(name, formula, weight))


def _singles(words: list[Token]) -> list[list[Token]]:
    """Split the words of a list of labels: a `-` belongs to the integer after it."""
    singles: list[list[Token]] = []
    for word in words:
        if singles and singles[-1][-1].type == "MINUS":
            singles[-1].append(word)
        else:
            singles.append([word])
    return singles
