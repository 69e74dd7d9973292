"""What tags cost: labels and rules, read under any relaxation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

import residuum as rs
from residuum.losses.aggregation import conjoined
from residuum.losses.degrees.parameters import find_logic
from residuum.losses.knowledge import CompiledKnowledge
from residuum.relaxations.tnorms import Archimedean
from residuum.study.chunking.knowledge import RulesName, chunking_knowledge


class Reading(NamedTuple):
    """How a run reads its sentences: rules with a weight of 0 are not looked at."""

    relaxation: str
    rules: RulesName
    weight: float

    @property
    def kind(self) -> tuple[str, RulesName | None]:
        """What runs must share to be evaluated together."""
        return self.relaxation, self.rules if self.weight else None


def penalties(
    readings: Sequence[Reading], logits: Tensor, tags: Tensor, lengths: Tensor
) -> list[Mapping[str, Tensor]]:
    """Return the parts of the loss of each run, and their weighted conjunction as `total`.

    Logits are (runs, sentences, positions, tags). Labels and each rule are a conjunction over the
    batch: with a generator a sum, which is divided by the number of labelled sentences, for a
    generator may be scaled as one likes; without one the largest penalty. Neighbours that read
    alike are evaluated together.
    """
    neighbours = [(kind, list(runs)) for kind, runs in groupby(readings, lambda run: run.kind)]
    sizes = [len(runs) for _, runs in neighbours]
    parts = zip(*(torch.split(tensor, sizes) for tensor in (logits, tags, lengths)), strict=True)
    found: list[Mapping[str, Tensor]] = []
    for ((relaxation, rules), runs), part in zip(neighbours, parts, strict=True):
        weights = logits.new_tensor([run.weight for run in runs])
        together = _evaluated(relaxation, rules, weights, *part)
        found += [
            dict(zip(together, values, strict=True))
            for values in zip(*(values.unbind() for values in together.values()), strict=True)
        ]
    return found


def _evaluated(
    relaxation: str,
    rules: RulesName | None,
    weights: Tensor,
    logits: Tensor,
    tags: Tensor,
    lengths: Tensor,
) -> dict[str, Tensor]:
    logic = find_logic(relaxation)
    labelled = tags.shape[1]
    stated = rs.facts(logits[:, :labelled], tags, relaxation, reduction="none")
    parts = {"labels": conjoined(stated.flatten(1), logic)}
    weighted = [parts["labels"]]
    if rules is not None:
        for name, penalty in _compiled(rules, relaxation)(Tag=logits, lengths=lengths).items():
            parts[name] = conjoined(penalty, logic)
            weighted.append(weights * parts[name])
    parts["total"] = conjoined(torch.stack(weighted, -1), logic)
    scale = labelled if isinstance(logic.tnorm, Archimedean) else 1
    return {name: part / scale for name, part in parts.items()}


@cache
def _compiled(rules: RulesName, relaxation: str) -> CompiledKnowledge:
    return rs.compile(chunking_knowledge(rules), relaxation, reduction="none")
