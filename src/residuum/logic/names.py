"""Which words may name a predicate, variable, function or domain."""

from __future__ import annotations

import re

from residuum.errors import InvalidNameError
from residuum.limits import LONGEST_WORD

CONNECTIVE_WORDS = ("not", "and", "or", "implies", "iff", "true", "false")
BINDING_WORDS = ("forall", "exists", "in", "where", "mod")
DECLARATION_WORDS = ("domain", "function", "predicate", "facts", "rule")  # users after the used
MODIFIER_WORDS = ("weight", "sequence", "independent")

KEYWORDS = frozenset(CONNECTIVE_WORDS + BINDING_WORDS + DECLARATION_WORDS + MODIFIER_WORDS)
"""Words with a meaning of their own in the text syntax; reserved everywhere, so that a formula
built in Python can always be written in a rule file."""

_NAME = re.compile(r"[^\W\d]\w*")


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
