"""What is known of a relaxation before anything is trained: consistency, gradients, alignment."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

import residuum as rs
from family_contest.training import compiled
from residuum.analysis.tautologies import catalogue

RULE: Final = "A & B -> C"
"""The form of every grounding of the rules."""

POINTS: Final = 2**14
CLEAR: Final = 0.2
"""How far degrees are from 0 or 1 at most where a grounding is clearly violated or obeyed."""

NAMES: Final = {
    "consistency": "mean consistency of the tautologies of the paper's table",
    "self_consistency": f"self-consistency of `{RULE}`",
    "dead": "share of violated groundings without a gradient",
    "near_0": "length of the gradient where the grounding is clearly violated",
    "near_1": "length of the gradient where the antecedent and the consequent are clearly true",
    "raising": "share of the gradient that raises the consequent",
    "alignment": "cosine of the loss's gradient and the way to the right answer, Digit at 90%",
    "early_alignment": "the same while Digit is unsure, at 30%",
    "label_likeness": "how little the pull on a wrong consequent differs from a label's",
}
"""The predictors, in words. The last was added after trial runs, judged on DEV."""

OF_LOSSES: Final = ("alignment", "early_alignment", "label_likeness")
"""Predictors measured on the penalty that is minimised, and not on the truth function."""


def predictors(name: str) -> dict[str, float]:
    """Return the predictors of a relaxation; those that need a truth function lack for `exact`."""
    found = {
        "alignment": alignment(name, 0.9),
        "early_alignment": alignment(name, 0.3),
        "label_likeness": label_likeness(name),
    }
    if name == "exact":
        return _rounded(found)
    everywhere = rs.gradients(RULE, name, points=POINTS)
    return _rounded({
        "consistency": fmean(
            rs.consistency(row.formula, name, method="sobol", tolerance=1e-3, cache=False).value
            for row in catalogue()
        ),
        "self_consistency": rs.self_consistency(
            RULE, name, method="sobol", tolerance=1e-3, cache=False
        ).value,
        "dead": everywhere.stuck_logits or 0.0,
        "near_0": rs.gradients(RULE, name, _drawn(A=1, B=1, C=0)).mean_size,
        "near_1": rs.gradients(RULE, name, _drawn(A=1, B=1, C=1)).mean_size,
        "raising": everywhere.raising or 0.0,
        **found,
    })  # fmt: skip


def _rounded(found: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in found.items()}


def _drawn(**truth: int) -> dict[str, Any]:
    """Return degrees that are at most `CLEAR` from the truth, uniformly."""
    generator = np.random.default_rng(0)
    return {atom: np.abs(value - CLEAR * generator.random(POINTS)) for atom, value in truth.items()}


def alignment(name: str, confidence: float, examples: int = 512) -> float:
    """Return how well the gradient of the rules points Sum to the right answer, from −1 to 1.

    Digit gives the true digits this confidence, and Sum's logits are as those of a network before
    training. The gradient is compared with that of cross-entropy at these logits.
    """
    generator = torch.Generator().manual_seed(0)
    digits = torch.randint(10, (2, examples), generator=generator)
    left, right = (_unsure(row, confidence, generator) for row in digits)
    logits = (torch.randn(examples, 10, generator=generator) / 4).requires_grad_()
    outputs = {"Digit(left(p))": left, "Digit(right(p))": right, "Sum": logits}
    penalty = compiled(name).rules["sum_coherence"](outputs)
    (pulled,) = torch.autograd.grad(penalty.sum(), logits)
    gold = torch.nn.functional.one_hot(digits.sum(0) % 10, 10)
    wanted = gold - logits.detach().softmax(-1)
    return float(torch.nn.functional.cosine_similarity(-pulled, wanted, dim=-1).mean())


def _unsure(digits: Tensor, confidence: float, generator: torch.Generator) -> Tensor:
    """Return logits of distributions that give a digit this probability, the others the rest."""
    rest = torch.rand(len(digits), 10, generator=generator)
    rest[torch.arange(len(digits)), digits] = 0
    found = (1 - confidence) * rest / rest.sum(1, keepdim=True)
    found[torch.arange(len(digits)), digits] = confidence
    return found.log()


def label_likeness(name: str) -> float:
    """Return how close a rule's pull on a wrong consequent is to that of a label, at most 0.

    The pull is the gradient of the penalty with respect to the logit of C, where A and B are at
    least 0.8 and C lies between 0.01 and 0.5. A label pulls with 1 − C. The result is the mean
    distance of both in powers of ten, of which at most three count, times −1.
    """
    generator = torch.Generator().manual_seed(0)
    sure = 0.8 + 0.2 * torch.rand(2, POINTS, generator=generator)
    wrong = 0.01 * 50 ** torch.rand(POINTS, generator=generator)
    logit = wrong.logit().requires_grad_()
    rule = rs.compile(RULE, name, reduction="none")
    penalty = rule(A=sure[0].logit(), B=sure[1].logit(), C=logit)
    (gradient,) = torch.autograd.grad(penalty.sum(), logit)
    distance = (-gradient / (1 - wrong)).clamp(1e-3, 1e3).log10().abs()
    return -float(distance.mean())
