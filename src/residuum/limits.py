"""The limits that are checked before work begins; docs/reference/language.md lists them.

Limits of one method or one kind of data stand beside the code that needs them.
"""

from __future__ import annotations

from typing import Final

# Text

LONGEST_WORD: Final = 1_000
"""The most characters of a name or a label."""

LARGEST_INTEGER: Final = 2**63 - 1
"""The largest integer in a formula: integers have 64 bits, so that they can index tensors."""

MOST_WORDS: Final = 500_000
"""The most words and symbols of a formula or a rule file: a few seconds of parsing."""

DEEPEST_NESTING: Final = 150_000
"""The most brackets that may be open at once."""

MOST_LABELS: Final = 1_000_000
"""The most labels that all domains of a rule file list together, or one domain from Python."""

LONGEST_TEXT: Final = 10_000_000
"""The most characters `render` writes."""

MOST_FREE: Final = 10_000_000
"""The most free variables of all parts of a formula, added up over the parts."""

# Groundings

MOST_GROUNDINGS: Final = 1_000_000
"""The most groundings `expand` writes out."""

MOST_PARTS: Final = 5_000_000
"""The most terms, atoms and connectives that `expand` visits, in all groundings together."""

MOST_NESTED: Final = 100
"""The greatest depth of a compiled rule: degrees are computed by recursion."""

MOST_VARIABLES: Final = 30
"""The most variables around one atom of a compiled rule: each is a dimension of a tensor."""

MOST_MEMBERS: Final = 10_000_000
"""The most members of a domain that is given to `compile` as a size or a range."""

MOST_ENTRIES: Final = 1 << 28
"""The most numbers in one table over the variables of a guard or an atom of a compiled rule."""

MOST_CALLS: Final = 5_000_000
"""The most values of a function that a compiled rule needs."""

MOST_COUNTED: Final = 10_000_000
"""The most steps of a count: how many are counted, times the number that is asked for."""

# Error messages

MOST_SHOWN: Final = 100
"""The most problems of a rule file that its error message shows."""
