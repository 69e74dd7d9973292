"""What residuum makes of the clauses, and plain PyTorch for the formula of a t-norm loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from requirement_contest.clauses import read_clauses, width

LOGICS = {"product": "s-product", "lukasiewicz": "lukasiewicz-maxsat", "godel": "s-godel"}


def residuum(file: Path, logic: str) -> Callable[[Tensor], Tensor]:
    """Return the sum of the penalties of all clauses, or −log P that all hold."""
    import residuum as rs

    name = LOGICS.get(logic, logic)
    rules = rs.compile(rs.load(file), name)
    if name == "exact":
        return lambda given: rules.total(Label=given)
    return lambda given: rules.total({"Label": given}, combine="sum")


def plain(file: Path, logic: str) -> Callable[[Tensor], Tensor]:
    """Return 1 − the mean degree of the clauses, from a table of all literals.

    It is what PiShield's t-norm loss computes, which is in its repository and not in its wheel.
    Shorter clauses repeat a literal, or end with a literal that is never true.
    """
    clauses = read_clauses(file)
    labels = width(clauses)
    longest = max(map(len, clauses))
    never = 2 * labels
    table = torch.tensor(
        [
            [label + (0 if affirmed else labels) for label, affirmed in clause]
            + [never] * (longest - len(clause))
            for clause in clauses
        ]
    )

    def loss(given: Tensor) -> Tensor:
        true = given.sigmoid()
        sides = torch.cat([true, 1 - true, torch.zeros_like(true[:, :1])], 1)
        literals = sides[:, table]
        if logic == "godel":
            degrees = literals.amax(2)
        elif logic == "lukasiewicz":
            degrees = literals.sum(2).clamp(max=1)
        else:
            degrees = 1 - (1 - literals).prod(2)
        return 1 - degrees.mean()

    return loss


CONTENDERS = {"residuum": residuum, "plain": plain}


def make(contender: str, file: Path, logic: str) -> Callable[[Tensor], Tensor]:
    """Return the loss of a contender as a function of logits."""
    return CONTENDERS[contender](file, logic)
