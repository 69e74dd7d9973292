"""What tags cost: labels and rules, read under any relaxation."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

import residuum as rs
from residuum.losses.compiled import CompiledKnowledge
from residuum.losses.exact import find_meaning
from residuum.losses.reductions import reduce_batch
from residuum.relaxations.tnorms import Archimedean
from residuum.study.chunking.knowledge import RulesName, chunking_knowledge


def penalties(
    relaxation: str,
    logits: Tensor,
    tags: Tensor,
    lengths: Tensor,
    *,
    rules: RulesName,
    weight: float,
) -> dict[str, Tensor]:
    """Return the parts of the loss of a batch, and their weighted conjunction as `total`.

    Labels and each rule are a conjunction over the batch: with a generator a sum, which is
    divided by the number of sentences, for a generator may be scaled as one likes; without one
    the largest penalty. With a weight of 0 rules are not looked at.
    """
    logic = find_meaning(relaxation)
    parts = {"labels": rs.facts(logits, tags, relaxation, reduction="conjunction")}
    weighted = [parts["labels"]]
    if weight:
        for name, penalty in _compiled(rules, relaxation)(Tag=logits, lengths=lengths).items():
            parts[name] = penalty
            weighted.append(weight * penalty)
    parts["total"] = reduce_batch(torch.stack(weighted), "conjunction", logic)
    scale = len(lengths) if isinstance(logic.tnorm, Archimedean) else 1
    return {name: part / scale for name, part in parts.items()}


@cache
def _compiled(rules: RulesName, relaxation: str) -> CompiledKnowledge:
    return rs.compile(chunking_knowledge(rules), relaxation, reduction="conjunction")
