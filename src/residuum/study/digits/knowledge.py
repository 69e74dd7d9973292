"""The rules of the digits study, and their penalties for runs with different relaxations."""

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
"""Groundings in one block: all of them, because a CUDA graph cannot record several blocks."""


@cache
def digit_knowledge() -> Knowledge:
    """Return the rules that make Sum and Product coherent with Digit."""
    text = resources.files("residuum.data").joinpath("digits.rsd").read_text("utf-8")
    return loads(text)


class Pairs(NamedTuple):
    """Pairs that rules are grounded in: logits by atom, a mask of pairs, and a weight per run."""

    outputs: Mapping[str, Tensor]
    counts: Tensor
    weights: Tensor

    def split(self, sizes: list[int]) -> list[Pairs]:
        """Split along the runs. One split has a cheaper backward pass than several slices."""
        outputs = zip(
            *(torch.split(logits, sizes) for logits in self.outputs.values()), strict=True
        )
        named = [dict(zip(self.outputs, part, strict=True)) for part in outputs]
        rest = zip(
            named, torch.split(self.counts, sizes), torch.split(self.weights, sizes), strict=True
        )
        return [Pairs(*part) for part in rest]


class Labelled(NamedTuple):
    """Labelled examples: logits (runs, examples, 10), labels, and a mask of examples."""

    logits: Tensor
    labels: Tensor
    counts: Tensor

    def split(self, sizes: list[int]) -> list[Labelled]:
        """Split along the runs."""
        parts = (torch.split(tensor, sizes) for tensor in self)
        return [Labelled(*part) for part in zip(*parts, strict=True)]


def stacked_penalties(
    relaxations: Sequence[str], labelled: Labelled, pairs: Pairs | None = None
) -> dict[str, Tensor]:
    """Return the parts of the loss of each run, and their weighted conjunction as `total`.

    Each run's own relaxation gives the conjunctions over examples and over parts. Neighbouring
    runs with the same relaxation are evaluated together.
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
    """Return a function that computes the penalties of runs with one relaxation."""
    logic = find_relaxation(name)
    compiled = rs.compile(digit_knowledge(), name, reduction="none", block=_ONE_BLOCK)

    def labels(given: Labelled) -> Tensor:
        stated = rs.facts(given.logits, given.labels, logic, reduction="none")
        return conjoined(stated * given.counts, logic)

    def grounded(rule: rs.CompiledRule, pairs: Pairs) -> Tensor:
        read = {slot.name: pairs.outputs[slot.name] for slot in rule.plan.slots}
        return conjoined(rule(read) * pairs.counts, logic)

    def evaluate(labelled: Labelled, pairs: Pairs | None) -> dict[str, Tensor]:
        if pairs is None:
            stated = labels(labelled)
            return {"labels": stated, "total": conjoined(stated.unsqueeze(-1), logic)}
        # The kernels are small. One after the other they would take most of the time of a step.
        stated, *penalties = concurrently(
            [
                partial(labels, labelled),
                *(partial(grounded, rule, pairs) for rule in compiled.rules.values()),
            ]
        )
        weighted = [stated, *(penalty * pairs.weights for penalty in penalties)]
        parts = {"labels": stated, **dict(zip(compiled.rules, penalties, strict=True))}
        return {**parts, "total": conjoined(torch.stack(weighted, -1), logic)}

    return evaluate
