"""Which examples each step of each run sees."""

from __future__ import annotations

import torch
from torch import Tensor

from residuum.training.randomness import permutations, purpose


def steps_per_epoch(size: int, batch: int) -> int:
    """Return how many batches one pass over so many examples takes."""
    return -(-size // batch)


def one_pass(seeds: Tensor, name: str, epoch: int, size: int, batch: int) -> Tensor:
    """Return the places of all examples in a new order for each run: (runs, steps × batch).

    The last batch is filled up with −1.
    """
    order = permutations(size, *_counters(seeds, name), torch.full_like(seeds, epoch))
    missing = steps_per_epoch(size, batch) * batch - size
    return torch.nn.functional.pad(order, (0, missing), value=-1)


def cycled(seeds: Tensor, name: str, start: int, count: int, size: int) -> Tensor:
    """Return part of an endless sequence of passes, each in a new order: (runs, count).

    It begins at a place in the sequence and goes on for so many examples.
    """
    first, last = start // size, (start + count - 1) // size
    cycles = torch.arange(first, last + 1, device=seeds.device)
    passes = permutations(size, *_counters(seeds.unsqueeze(-1), name), cycles)
    skipped = start - first * size
    return passes.flatten(1)[:, skipped : skipped + count]


def _counters(seeds: Tensor, name: str) -> tuple[Tensor, Tensor]:
    return seeds, torch.full_like(seeds, purpose(name))
