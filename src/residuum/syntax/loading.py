"""`load` and `loads`: rule files, DIMACS CNF and lists of clauses → `Knowledge`.

The ending of a file decides its format; with other endings, and for text, the content does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from residuum.errors import InvalidNameError, KnowledgeError, NotTextError, ResiduumError
from residuum.logic.terms import DECLARATION_WORDS
from residuum.syntax.clause_lists import read_clause_list
from residuum.syntax.clauses import Labels, knowledge_of_clauses
from residuum.syntax.dimacs import read_dimacs
from residuum.syntax.knowledge import Knowledge
from residuum.syntax.mistakes import explain
from residuum.syntax.rule_files import read_rule_file

Format = Literal["rules", "dimacs", "clauses"]

ENDINGS: Final[Mapping[str, Format]] = {".rsd": "rules", ".cnf": "dimacs", ".dimacs": "dimacs"}
"""The endings that decide the format of a file."""

_READERS: Final = {"dimacs": read_dimacs, "clauses": read_clause_list}
_HEADER: Final = re.compile(r"^[ \t]*p[ \t]+cnf\b", re.MULTILINE)
_DECLARATION: Final = re.compile(rf"\s*(?:{'|'.join(DECLARATION_WORDS)})\b")
_CLAUSE: Final = re.compile(r":-|^\s*(?:not\s+)?\w[\w-]*\s+or\s|^\s*not\s+\w[\w-]*\s*$")


def load(path: str | os.PathLike[str], *, labels: Labels | None = None) -> Knowledge:
    """Return the knowledge in a file; KnowledgeError lists all mistakes in it.

    The file is a rule file (`.rsd`), DIMACS CNF (`.cnf`), or a list of clauses such as
    `a or not b`. `labels` gives names to the variables of clauses: a list in their order, or a
    mapping of variables to labels.

    >>> from importlib.resources import files
    >>> import residuum as rs
    >>> knowledge = rs.load(files("residuum.data") / "digits.rsd")
    >>> list(knowledge.rules)
    ['sum_coherence', 'product_coherence']
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ResiduumError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except TypeError:
        found = type(path).__name__
        raise NotTextError(f"expected the path of a rule file, got {found}") from None
    except (OSError, ValueError) as error:
        raise ResiduumError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    ending = Path(path).suffix.lower()
    recognised = ENDINGS.get(ending) or _recognise(text)
    if recognised is None and re.sub("#.*", "", text).strip():
        raise ResiduumError(
            f"{path}: expected a rule file (`domain …`), DIMACS CNF (`p cnf …`) or a clause on "
            "each line (`a or not b`, `a :- b, not c`), got none of them; correct it, or give it "
            "the ending .rsd or .cnf to see what is wrong"
        )
    return _read(text, recognised or "rules", str(path), labels)


def loads(text: str, *, source: str = "rule file", labels: Labels | None = None) -> Knowledge:
    """Return the knowledge in a text, as `load` does for a file; `source` names it in errors.

    >>> knowledge = loads('''
    ...     domain digit = 0..9
    ...     predicate Even(digit) independent
    ...     rule alternate weight 0.5: forall d in digit where d < 9: Even(d) -> ~Even(d + 1)
    ... ''')
    >>> knowledge.rules["alternate"].weight
    0.5
    >>> print(loads("car or not bus").rules["line_1"].formula)
    Label("car") | ~Label("bus")
    """
    if not isinstance(text, str):
        found = type(text).__name__
        raise NotTextError(f"expected the text of a rule file, got {found}; `load` takes a path")
    return _read(text, _recognise(text) or "rules", source, labels)


def _read(text: str, form: Format, source: str, labels: Labels | None) -> Knowledge:
    if form != "rules":
        file, mistakes = _READERS[form](text)
        if mistakes:
            raise KnowledgeError(explain(text, mistakes), source)
        return knowledge_of_clauses(file, labels)
    if labels is not None:
        raise InvalidNameError(
            "labels: expected a file of clauses, whose variables they name, got a rule file; list "
            "its labels in its domains"
        )
    return read_rule_file(text, source)


def _recognise(text: str) -> Format | None:
    """Return the format of a text, or None if no line of it shows one."""
    if _HEADER.search(text):
        return "dimacs"
    for line in text.split("\n"):
        written = line.partition("#")[0]
        if _DECLARATION.match(written):
            return "rules"
        if _CLAUSE.search(written):
            return "clauses"
    return None
