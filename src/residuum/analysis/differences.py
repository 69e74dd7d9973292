"""The degree on boxes that guards cross, as a sum of differences of cases.

With guards g₁, g₂, … undecided the degree is f = Δ + Δ₁[g₁ > 0] + Δ₂[g₂ > 0] + Δ₁₂[g₁ > 0][g₂ > 0]
+ …. What is known of the guards' signs leaves fewer guards in each term.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from residuum.analysis.expansions import ROUNDING, UPWARDS
from residuum.analysis.models import Model
from residuum.analysis.pieces import Leaf
from residuum.analysis.signs import Pair
from residuum.analysis.truncated import Function, Sliver, Truncated
from residuum.relaxations.arrays import Array

Chosen = tuple[bool, ...]


def differences(
    table: Mapping[Chosen, Leaf], models: Mapping[Leaf, Model], guards: int
) -> dict[Chosen, Array]:
    """Return the alternating sums of cases in which only chosen guards are positive."""
    deltas = {sides: models[leaf].coefficients for sides, leaf in table.items()}
    for place in range(guards):
        for chosen in [one for one in deltas if one[place]]:
            without = (*chosen[:place], False, *chosen[place + 1 :])
            deltas[chosen] = deltas[chosen] - deltas[without]
    return deltas


def fold_slivers(
    deltas: dict[Chosen, Array], slivers: Sequence[Sliver | None], axes: int, small: Array
) -> Array:
    """Take guards for decided that are so but in a sliver; return a bound of what that misses.

    Where it would be more than `small`, differences for one guard are left to be cut instead; those
    for several lie between 0 and Δ anyway.
    """
    missed: Array = np.zeros(())
    for place, sliver in enumerate(slivers):
        if sliver is None:
            continue
        for chosen in [one for one in deltas if one[place]]:
            lost = sliver.lost(deltas[chosen], axes)
            most = small if sum(chosen) == 1 else np.abs(deltas[chosen]).sum(axis=0) / 2
            folded = (sliver.sign != 0) & (lost <= most)
            moved = np.where(folded, deltas[chosen], 0.0)
            deltas[chosen] = deltas[chosen] - moved
            rest = tuple(one and k != place for k, one in enumerate(chosen))
            deltas[rest] = deltas[rest] + np.where(sliver.sign > 0, moved, 0.0)
            missed = missed + np.where(folded, lost, 0.0)
    return missed


_EQUIVALENT: Mapping[Pair, Sequence[tuple[tuple[bool, bool], int]]] = {
    (1, 1): (),
    (1, -1): [((True, False), 1)],
    (-1, 1): [((False, True), 1)],
    (-1, -1): [((True, False), 1), ((False, True), 1), ((False, False), -1)],
}
"""What [g > 0][h > 0] is a sum of, where g and h never have these signs at once."""


def merge(
    deltas: dict[Chosen, Array],
    guards: Sequence[Function],
    excluded: Mapping[tuple[int, int], Collection[Pair]],
) -> None:
    """Fold differences for several guards into those for fewer, where signs exclude each other.

    If gᵢ > 0 only where gⱼ > 0, then [gᵢ > 0][gⱼ > 0] is [gᵢ > 0], and so on. Some signs of the
    guards i and j are known to be `excluded` everywhere.
    """
    for i, j in itertools.combinations(range(len(guards)), 2):
        left = np.ones(len(guards[i].error), dtype=bool)
        for signs in sorted(_EQUIVALENT, key=lambda one: one not in excluded[i, j]):
            if not left.any():
                break
            known = signs in excluded[i, j]
            never = left & (known or never_both(guards[i], guards[j], signs))
            left &= ~never
            if not never.any():
                continue
            for chosen in [one for one in deltas if one[i] and one[j]]:
                moved = np.where(never, deltas[chosen], 0.0)
                deltas[chosen] = deltas[chosen] - moved
                for target, factor in _EQUIVALENT[signs]:
                    place = tuple(
                        target[0] if k == i else target[1] if k == j else one
                        for k, one in enumerate(chosen)
                    )
                    deltas[place] = deltas[place] + factor * moved


def never_both(left: Function, right: Function, signs: Pair) -> Any:
    """Return on which boxes two guards cannot have these signs.

    That is so where one plus a positive multiple of the other, each times its sign, is negative.
    With the best multiple, what holds on a box is found on its halves too.
    """
    shape = tuple(max(pair) for pair in zip(left.degrees, right.degrees, strict=True))
    first, second = signs[0] * _padded(left, shape), signs[1] * _padded(right, shape)
    multiple = _lowering(first[1:], second)
    # Each coefficient is rounded twice.
    sizes = np.abs(first).sum(axis=0) + multiple * np.abs(second).sum(axis=0)
    error = left.error + multiple * right.error + 4 * ROUNDING * sizes
    added = first + multiple * second
    return added[0] + (np.abs(added[1:]).sum(axis=0) + error) * UPWARDS < 0


def _lowering(first: Array, second: Array) -> Array:
    """Return the m ≥ 0 that makes the upper bound m b₀ + Σ |aₖ + m bₖ| least; any other will do.

    It is convex in m, and its slope rises by 2 |bₖ| where m passes −aₖ / bₖ.
    """
    steps = np.abs(second[1:])
    places = np.where(steps > 0, -first / np.where(steps > 0, second[1:], 1.0), np.inf)
    order = np.argsort(places, axis=0)
    slopes = 2 * np.cumsum(np.take_along_axis(steps, order, axis=0), axis=0)
    lowest = np.argmax(slopes >= steps.sum(axis=0) - second[0], axis=0)
    best = np.take_along_axis(places, np.take_along_axis(order, lowest[None], axis=0), axis=0)[0]
    return np.where(np.isfinite(best), np.maximum(best, 0.0), 1.0)


def _padded(guard: Function, shape: tuple[int, ...]) -> Array:
    """Return the coefficients of a guard as those of a polynomial of higher degrees."""
    if isinstance(guard, Truncated):  # all are of the same degree
        return guard.coefficients
    padded = np.zeros((*(degree + 1 for degree in shape), len(guard.error)))
    corner = tuple(slice(degree + 1) for degree in guard.degrees)
    size = (*(degree + 1 for degree in guard.degrees), -1)
    padded[corner] = guard.coefficients.reshape(size)
    return padded.reshape(-1, len(guard.error))
