"""The limits that are refused in words before the work begins; docs/language.md lists them."""

from __future__ import annotations

from typing import Final

# Text

LONGEST_WORD: Final = 1_000
"""The most characters a name or a label may have."""

LARGEST_INTEGER: Final = 2**63 - 1
"""Integers in formulas are those of 64 bits, so that they can index tensors."""

MOST_WORDS: Final = 500_000
"""The most words and symbols a formula or a rule file may have: a few seconds of parsing."""

DEEPEST_NESTING: Final = 150_000
"""The deepest brackets may nest."""

MOST_LABELS: Final = 1_000_000
"""The most labels the domains of a rule file may list together, or one domain from Python."""

LONGEST_TEXT: Final = 10_000_000
"""The most characters `render` writes."""

MOST_FREE: Final = 10_000_000
"""The most free variables that the parts of a formula may have, added up over its parts."""

# Groundings

MOST_GROUNDINGS: Final = 1_000_000
"""The most groundings `expand` writes out."""

MOST_PARTS: Final = 5_000_000
"""The most terms, atoms and connectives `expand` visits in all groundings together."""

MOST_NESTED: Final = 100
"""The deepest a compiled rule may nest: each degree asks those below it on Python's stack."""

MOST_VARIABLES: Final = 30
"""The most variables bound around one atom of a compiled rule: each is a dimension."""

MOST_MEMBERS: Final = 10_000_000
"""The most members a domain of a compiled rule may have, given by its size or as a range."""

MOST_ENTRIES: Final = 1 << 28
"""The most entries of one table over the variables of a guard or an atom of a compiled rule."""

MOST_CALLS: Final = 5_000_000
"""The most values that a compiled rule asks of a function."""

# Error messages

MOST_SHOWN: Final = 100
"""The most problems of a rule file that its error message shows."""
