"""All thresholds of the evaluation of rules, with the measurements behind them.

Times are CPU times of one thread of an AMD EPYC, unless a GPU is named. `docs/benchmarks.md` has
the tables. Read a threshold as `thresholds.NAME`, so that tests can change it.
"""

from __future__ import annotations

from typing import Final

# Memory

CPU_BLOCK: Final = 1 << 18
"""Groundings evaluated at a time on a CPU. One float for each is 1 MiB, which fits the cache."""

CPU_ROWS: Final = 140_000
"""Groundings of clauses evaluated at a time on a CPU, if a batch has more than one block.

The sum rule with 10 classes and 8,192 examples is fastest in six parts of this size.
"""

GPU_BLOCK: Final = 1 << 26
"""Groundings evaluated at a time on a GPU. One float for each is 256 MiB, which keep it busy."""

LARGEST_BLOCK: Final = 1 << 28
"""The most groundings that are ever evaluated at once. One float for each is 1 GiB."""

ROWS: Final = 1 << 16
"""Outputs of a network that a relation asks for at a time. Each keeps a row of every layer."""

MOST_ROWS_LISTED: Final = 1 << 22
"""Candidates for rows that are listed before a sample is drawn from them: 32 MiB each variable."""

MOST_DRAWS: Final = 1_000
"""How often numbers are drawn at random until enough of them are rows that a guard selects."""

CHUNK: Final = 1 << 17
"""Groundings of clauses or of a table computed at a time on a CPU, so that they stay in the cache.

On a CPU, access to new memory costs more than arithmetic.
"""

# Clauses

MOST_ENTRIES: Final = 160
"""The most columns of a matrix of clauses. A grounding costs one multiplication per column."""

LARGEST_MATRIX: Final = 1 << 17
"""The most entries of a matrix of clauses: 512 KiB, which stay in the cache."""

MOST_ROWS: Final = 1 << 20
"""The most groundings that are listed as clauses."""

# Tables and crosses

FEWEST_EXAMPLES: Final = 4
"""The fewest examples for which the route for tables is faster than the steps."""

SIDE_BY_SIDE: Final = 32
"""The fewest examples of a table that are evaluated together: an index is slow for fewer."""

WORTH_OF_A_CROSS: Final = 8
"""The fewest groundings of a table for each grounding of its cross, which needs more operations.

The sum rule with 300 classes takes 7 times as long without a cross under Łukasiewicz, and 27 times
under `s-godel`; with 100 classes 1.7 and 1.9 times.
"""

# Minima

MINIMA_RULES: Final = 32
"""Rules whose gradients are computed at a time on a CPU, so that they stay in the cache."""

MINIMA_BLOCK: Final = 1 << 17
"""Sides that are compared at a time on a CPU; if one row has more, it is compared at once."""

MAXIMUM_FOLD: Final = 64
"""Rows that are folded next to each other before a maximum is taken, a power of 2.

PyTorch is slow at maxima over rows if there are few examples.
"""

# Steps

FEWEST_ALIKE: Final = 4
"""The fewest ground rules of one shape that are evaluated together."""

SMALL_SOFTMAX: Final = 1 << 14
"""The most logits of a softmax for which several softmaxes of one shape are computed as one.

For so few logits, each call of PyTorch costs more than its arithmetic.
"""

MANY_SOFTMAXES: Final = 512
"""The fewest softmaxes for which a CPU finds the likeliest class faster by marks than by indices.

The sum rule with 10 classes takes 1.1 to 1.25 times as long by indices.
"""

# CUDA graphs

LAUNCH_BOUND: Final = 1 << 21
"""The most groundings of a batch for which an H200 launches kernels slower than it runs them."""

RECORDED_AT: Final = 3
"""A signature is recorded at this call. To record takes as long as a few dozen calls."""

MOST_RECORDINGS: Final = 16
"""The most recordings of a rule. Each of them keeps memory."""

MOST_RECORDED_NUMBERS: Final = 1 << 25
"""The most numbers of a circuit, rows × examples, whose evaluation is recorded. They take 512 MiB.

Python launches the kernels of the layers more slowly than an H200 runs them up to this size.
"""

MOST_COUNTED: Final = 256
"""The most signatures whose calls are counted. If there are more, hardly any of them repeats."""

# Caches

MOST_LAYOUTS: Final = 256
"""The most signatures of shapes, and the most layouts for lengths of sequences, in a cache."""

MOST_BATCHES: Final = 16
"""The most batch sizes for which clauses keep their stacks of slots."""

MOST_CIRCUITS: Final = 64
"""The most lengths of sequences for which a rule keeps its circuits."""

# Questions

MOST_TRIED: Final = 1 << 20
"""The most groundings that `explain` evaluates to see what one softmax decides."""

MOST_STEPS_TRIED: Final = 300
"""The most steps of a plan that `explain` examines to see whether a rule can fail at all."""
