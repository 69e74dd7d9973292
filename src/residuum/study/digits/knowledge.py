"""The rules of the study, read under several relaxations at once for a stack of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import resources
from itertools import groupby
from typing import Final, NamedTuple

import torch
from torch import Tensor

import residuum as rs
from residuum.losses.aggregation import conjoined
from residuum.relaxations import relaxation as find_relaxation
from residuum.syntax import Knowledge, loads
from residuum.training.cuda_graphs import concurrently

_ONE_BLOCK: Final = 2**40
"""Groundings evaluated at once: all, as a captured step cannot be taken in pieces."""


@cache
def digit_knowledge() -> Knowledge:
    """Return the knowledge of the study: labels for Digit, coherence of Sum and Product with it."""
    text = resources.files("residuum.data").joinpath("digits.rsd").read_text("utf-8")
    return loads(text)


class Pairs(NamedTuple):
    """What rules are grounded in: logits by atom, which pairs count, the weight in each run."""

    outputs: Mapping[str, Tensor]
    counts: Tensor
    weights: Tensor

    def split(self, sizes: list[int]) -> list[Pairs]:
        """Return the parts of runs, so many each: one split costs less backward than slices."""
        outputs = zip(
            *(torch.split(logits, sizes) for logits in self.outputs.values()), strict=True
        )
        named = [dict(zip(self.outputs, part, strict=True)) for part in outputs]
        rest = zip(
            named, torch.split(self.counts, sizes), torch.split(self.weights, sizes), strict=True
        )
        return [Pairs(*part) for part in rest]


class Labelled(NamedTuple):
    """Labelled examples: logits (runs, examples, 10), labels, and which of them count."""

    logits: Tensor
    labels: Tensor
    counts: Tensor

    def split(self, sizes: list[int]) -> list[Labelled]:
        """Return the parts of runs, so many each."""
        parts = (torch.split(tensor, sizes) for tensor in self)
        return [Labelled(*part) for part in zip(*parts, strict=True)]


def stacked_penalties(
    relaxations: Sequence[str], labelled: Labelled, pairs: Pairs | None = None
) -> dict[str, Tensor]:
    """Return the parts of the loss of each run, and their weighted conjunction as `total`.

    The conjunctions over examples and parts are those of each run's own relaxation; runs with
    the same one are evaluated together if they are neighbours.
    """
    neighbours = [(name, len(list(members))) for name, members in groupby(relaxations)]
    sizes = [size for _, size in neighbours]
    stated = labelled.split(sizes)
    grounded = [None] * len(sizes) if pairs is None else pairs.split(sizes)
    found = concurrently(
        [
            partial(_evaluation(name), facts, rules)
            for (name, _), facts, rules in zip(neighbours, stated, grounded, strict=True)
        ]
    )
    return {part: torch.cat([penalties[part] for penalties in found]) for part in found[0]}


Evaluation = Callable[[Labelled, Pairs | None], dict[str, Tensor]]


@cache
def _evaluation(name: str) -> Evaluation:
    """Return the penalties of runs with the same relaxation as a function."""
    logic = find_relaxation(name)
    rules = rs.compile(digit_knowledge(), name, block=_ONE_BLOCK)

    def evaluate(labelled: Labelled, pairs: Pairs | None) -> dict[str, Tensor]:
        stated = rs.facts(labelled.logits, labelled.labels, logic, reduction="none")
        parts = {"labels": conjoined(stated * labelled.counts, logic)}
        weighted = [*parts.values()]
        if pairs is not None:
            for rule, penalties in rules(pairs.outputs).items():
                parts[rule] = conjoined(penalties * pairs.counts, logic)
                weighted.append(parts[rule] * pairs.weights)
        return {**parts, "total": conjoined(torch.stack(weighted, -1), logic)}

    return evaluate
