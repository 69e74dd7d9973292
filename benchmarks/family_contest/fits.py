"""How well what is known beforehand predicts which relaxations learn: rank correlations, ridge.

A prediction is made by a fit that has seen no relaxation of the same family.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
STRENGTH = 5.0
"""The penalty of the ridge, for standardised predictors; it was not tuned."""


class Case(NamedTuple):
    """A relaxation: its family, its predictors, and the accuracy that was reached with it."""

    name: str
    family: str
    predictors: Sequence[float]
    reached: float


class HeldOut(NamedTuple):
    """How well families are predicted that a fit has not seen.

    `rank` is the rank correlation of predicted and reached accuracies, `error` their mean absolute
    difference in points, `explained` the share of the variance that is explained, below 0 if the
    mean of the other families would do better. `regret` is how many points the relaxation with
    the highest prediction lies below the best of its family, in the mean over families.
    """

    predicted: list[float]
    rank: float
    error: float
    explained: float
    regret: float


def ridge(rows: Array, wanted: Array, strength: float) -> tuple[Array, float]:
    """Return weights and an intercept that minimise squares plus `strength` × squared weights.

    >>> weights, intercept = ridge(np.array([[-1.0], [1.0]]), np.array([1.0, 3.0]), 0.0)
    >>> weights.tolist(), intercept
    ([1.0], 2.0)
    """
    mean, centre = rows.mean(0), float(wanted.mean())
    inner = rows - mean
    square = inner.T @ inner + strength * np.eye(rows.shape[1])
    weights = np.linalg.lstsq(square, inner.T @ (wanted - centre), rcond=None)[0]
    return weights, centre - float(mean @ weights)


def predict(seen: Sequence[Case], unseen: Sequence[Case]) -> list[float]:
    """Return the accuracies of unseen cases, as a ridge of seen ones predicts them."""
    rows = np.array([case.predictors for case in seen], float)
    mean, spread = rows.mean(0), rows.std(0)
    spread[spread == 0] = 1

    def standardised(cases: Sequence[Case]) -> Array:
        found: Array = (np.array([case.predictors for case in cases], float) - mean) / spread
        return found

    weights, intercept = ridge(
        standardised(seen), np.array([case.reached for case in seen]), STRENGTH
    )
    return [float(value) for value in standardised(unseen) @ weights + intercept]


def held_out(cases: Sequence[Case]) -> HeldOut:
    """Predict each family by a fit of all others."""
    predicted: dict[str, float] = {}
    baseline: dict[str, float] = {}
    regrets = []
    for family in dict.fromkeys(case.family for case in cases):
        seen = [case for case in cases if case.family != family]
        unseen = [case for case in cases if case.family == family]
        found = predict(seen, unseen)
        predicted |= {case.name: value for case, value in zip(unseen, found, strict=True)}
        baseline |= {case.name: fmean(one.reached for one in seen) for case in unseen}
        if len(unseen) > 1:
            chosen = unseen[found.index(max(found))]
            regrets.append(max(case.reached for case in unseen) - chosen.reached)
    reached = [case.reached for case in cases]
    guesses = [predicted[case.name] for case in cases]
    return HeldOut(
        predicted=guesses,
        rank=rank_correlation(guesses, reached),
        error=fmean(abs(a - b) for a, b in zip(guesses, reached, strict=True)),
        explained=1 - _squares(guesses, reached) / _squares(
            [baseline[case.name] for case in cases], reached
        ),
        regret=fmean(regrets) if regrets else 0.0,
    )  # fmt: skip


def _squares(guesses: Sequence[float], reached: Sequence[float]) -> float:
    return sum((a - b) ** 2 for a, b in zip(guesses, reached, strict=True))


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Spearman's rank correlation; 0 if one of both is constant.

    >>> rank_correlation([1, 2, 3], [10, 30, 20])
    0.5
    """
    from scipy.stats import rankdata

    ranks = [rankdata(values) for values in (first, second)]
    if any(np.ptp(one) == 0 for one in ranks):
        return 0.0
    return float(round(np.corrcoef(*ranks)[0, 1], 12))
