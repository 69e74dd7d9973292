"""Every threshold of evaluation, with what it was measured by.

Times are CPU time of one thread of an AMD EPYC, unless a GPU is named. `docs/benchmarks.md` has the
tables. A threshold stands here, and is read as `thresholds.NAME`, so that one place decides.
"""

from __future__ import annotations

from typing import Final

# Memory

CPU_BLOCK: Final = 1 << 18
"""Groundings evaluated at a time on a CPU: a number for each is 1 MiB, which its cache holds."""

CPU_ROWS: Final = 140_000
"""Groundings of clauses at a time on a CPU, if a batch has more than a block.

The sum rule with 10 classes and 8,192 examples is fastest in six parts of this size.
"""

GPU_BLOCK: Final = 1 << 26
"""Groundings evaluated at a time on a GPU: 256 MiB for a number each, which keep it busy."""

LARGEST_BLOCK: Final = 1 << 28
"""Groundings that are never evaluated at once: 1 GiB for a number each."""

CHUNK: Final = 1 << 17
"""Groundings of clauses or of a table that are in the cache at a time on a CPU.

Fresh memory costs more than arithmetic there.
"""

# Clauses

MOST_ENTRIES: Final = 160
"""Columns of a matrix of clauses. A grounding costs a multiplication for each of them."""

LARGEST_MATRIX: Final = 1 << 17
"""Numbers of a matrix of clauses: 512 KiB, which stay in the cache beside what they multiply."""

MOST_ROWS: Final = 1 << 20
"""Groundings that are listed as clauses at all."""

FEW_GROUNDINGS: Final = 1 << 14
"""Groundings up to which the number of steps costs more than arithmetic: a matrix takes one."""

WORTH_OF_A_LITERAL: Final = 6
"""Columns that a matrix may have on a CPU for each literal of a clause.

With more of them it is faster to read the places of the literals than to multiply by 0: 200
clauses take 1.3 times as long by a matrix alone under Łukasiewicz.
"""

# Tables and crosses

FEWEST_EXAMPLES: Final = 4
"""Examples from which on a table is faster with the examples side by side."""

SIDE_BY_SIDE: Final = 32
"""Examples of a table that are evaluated together in any case: fewer are slow to look up."""

WORTH_OF_A_CROSS: Final = 8
"""Groundings that a cross must save for each grounding it has, for it takes more steps.

The sum rule with 300 classes takes 7 times as long without a cross under Łukasiewicz, and 27 times
under `s-godel`; with 100 classes 1.7 and 1.9 times.
"""

# Minima

MINIMA_RULES: Final = 32
"""Rules whose gradients are computed at a time on a CPU: they stay in the cache."""

MINIMA_BLOCK: Final = 1 << 17
"""Sides that are compared at a time on a CPU, at least."""

MAXIMUM_FOLD: Final = 64
"""Rows side by side in which the largest is looked for, a power of 2.

PyTorch is slow at it where there are few examples.
"""

# Steps

FEWEST_ALIKE: Final = 4
"""Ground rules of one shape from which on they are evaluated together."""

SMALL_SOFTMAX: Final = 1 << 14
"""Logits of a softmax up to which several of one shape are computed as one.

There the cost is in the number of calls.
"""

MANY_SOFTMAXES: Final = 512
"""Softmaxes side by side from which on a CPU is faster with marks of 1 than with places.

The sum rule with 10 classes takes 1.1 to 1.25 times as long without marks.
"""

# CUDA graphs

LAUNCH_BOUND: Final = 1 << 21
"""Groundings of a batch up to which an H200 takes longer to launch kernels than to run them."""

RECORDED_AT: Final = 3
"""The call of one signature at which it is recorded, which takes as long as a few dozen calls."""

MOST_RECORDINGS: Final = 16
"""Recordings of a rule, each of which keeps memory."""

MOST_COUNTED: Final = 256
"""Signatures whose calls are counted at a time: where there are more, hardly any comes again."""

# Exact probabilities

MOST_STATES: Final = 1 << 20
"""Joint states of variables that one table may have: 4 MiB of logarithms for each example."""

# What is remembered; the oldest is forgotten first

MOST_LAYOUTS: Final = 256
"""Signatures of shapes, and layouts for lengths of sequences."""

MOST_BATCHES: Final = 16
"""Batch sizes for which clauses keep the order of their columns."""

MOST_ELIMINATIONS: Final = 64
"""Shapes for which the order of summing variables out is kept."""

# Questions

MOST_TRIED: Final = 1 << 20
"""Groundings that `explain` evaluates to see what one softmax decides."""
