"""The rules of the study, read under several relaxations at once for a stack of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import groupby
from typing import Final, NamedTuple

import torch
from torch import Tensor

from residuum.losses import CompiledKnowledge, compile, facts
from residuum.losses.reductions import capped
from residuum.relaxations import Relaxation
from residuum.relaxations import relaxation as find_relaxation
from residuum.relaxations.tnorms import Archimedean
from residuum.syntax import Knowledge, loads

_ONE_BLOCK: Final = 2**40
"""Groundings evaluated at once: all, as a captured step cannot be taken in pieces."""


@cache
def digit_knowledge() -> Knowledge:
    """Return the knowledge of the study: labels for Digit, coherence of Sum and Product with it."""
    text = resources.files("residuum.data").joinpath("digits.rsd").read_text("utf-8")
    return loads(text)


@cache
def _rules(name: str) -> CompiledKnowledge:
    return compile(digit_knowledge(), name, block=_ONE_BLOCK)


class Pairs(NamedTuple):
    """What rules are grounded in: logits by atom, which pairs count, the weight in each run."""

    outputs: Mapping[str, Tensor]
    counts: Tensor
    weights: Tensor


def stacked_penalties(
    relaxations: Sequence[str],
    labelled: Mapping[str, tuple[Tensor, Tensor, Tensor]],
    pairs: Pairs | None = None,
) -> dict[str, Tensor]:
    """Return the parts of the loss of each run, and their weighted conjunction as `total`.

    `labelled` has logits (runs, examples, 10), labels and which of them count, by name. The
    conjunctions over examples and parts are those of each run's own relaxation; runs with the
    same one are evaluated together if they are neighbours.
    """
    found: dict[str, list[Tensor]] = {}
    start = 0
    for name, run in groupby(relaxations):
        rows = slice(start, start + len(list(run)))
        start = rows.stop
        logic = find_relaxation(name)
        parts = {
            part: _over_examples(
                facts(logits[rows], labels[rows], logic, reduction="none"), counted[rows], logic
            )
            for part, (logits, labels, counted) in labelled.items()
        }
        total = [*parts.values()]
        if pairs is not None:
            rules = _rules(name)({atom: logits[rows] for atom, logits in pairs.outputs.items()})
            counted = pairs.counts[rows]
            coherence = {part: _over_examples(each, counted, logic) for part, each in rules.items()}
            total += [penalty * pairs.weights[rows] for penalty in coherence.values()]
            parts |= coherence
        parts["total"] = _conjunction(torch.stack(total, -1), logic)
        for part, penalty in parts.items():
            found.setdefault(part, []).append(penalty)
    return {part: torch.cat(penalties) for part, penalties in found.items()}


def _over_examples(penalties: Tensor, counted: Tensor, logic: Relaxation) -> Tensor:
    return _conjunction(penalties * counted, logic)


def _conjunction(penalties: Tensor, logic: Relaxation) -> Tensor:
    """Return the penalty of a conjunction along the last dimension."""
    if isinstance(logic.tnorm, Archimedean):
        return capped(penalties.sum(-1), logic)
    return penalties.amax(-1)
