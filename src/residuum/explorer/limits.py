"""What the explorer refuses for its size, and how long it works on a request."""

from __future__ import annotations

from typing import Final

MOST_BODY: Final = 1_000_000
"""The most bytes of a request."""

MOST_SAMPLE: Final = 32_000_000
"""The most bytes of a file of predictions."""

BODY_SECONDS: Final = 20.0
"""The most seconds in which a request must arrive."""

LONGEST_FORMULA: Final = 20_000
"""The most characters of a formula."""

LONGEST_RULES: Final = 500_000
"""The most characters of a rule file."""

MOST_ATOMS: Final = 16
"""The most atoms of a formula whose degrees are shown: each has a slider."""

MOST_NODES: Final = 150
"""The most nodes of a tree that is drawn."""

MOST_RELAXATIONS: Final = 12
"""The most relaxations that are compared."""

MOST_OUTPUTS: Final = 4_000
"""The most numbers in predictions that the page shows, over all examples."""

MOST_EXAMPLES: Final = 64
"""The most examples that the page shows."""

MOST_GROUNDINGS: Final = 300_000
"""The most groundings of a rule, over all examples, that the page evaluates."""

MOST_SHOWN_GROUNDINGS: Final = 6
"""The most violated groundings of a rule that the page shows."""

MOST_WAITING: Final = 16
"""The most requests that wait for a worker of the same kind; others are refused."""

MOST_MEMORY: Final = 4 * 2**30
"""The most bytes of memory of a worker."""

LEAST_MEMORY: Final = 2 * 2**30
"""The bytes of memory that a worker may always take: PyTorch with CUDA needs one GB."""
