"""Statistical tests that confirm or refute a claim at the 5% level, or leave it open.

A claim that is open is said to be undecidable if more seeds would be needed than can be trained.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import variance
from typing import Final, Literal, NamedTuple

from residuum.results import Comparison, holm, paired_t_test, t_test_of_sum, welch_t_test
from residuum.results.power import POWER, count_for_f_test, count_for_t_test
from residuum.results.statistics import joint_freedom
from residuum.study.grouped_runs import (
    GroupedRuns,
    SettingT,
    SystemT,
    Values,
    pairs_of_seeds,
)

Status = Literal["confirmed", "refuted", "open", "undecidable"]
SIGNIFICANCE: Final = 0.05

FEASIBLE: Final = 50
"""The most seeds that can be trained to decide a claim; with more it is undecidable."""


class Decision(NamedTuple):
    """A status, and in words the numbers it rests on."""

    status: Status
    evidence: str


class Difference(NamedTuple):
    """One comparison, positive where the claim holds, and the values it rests on.

    `samples` holds the difference for each seed if runs with the same seeds were compared, and
    otherwise the values of the first system and the negated values of the second. The means of the
    samples add up to the difference.
    """

    where: str
    compared: Comparison
    samples: tuple[Values, ...]

    @property
    def is_paired(self) -> bool:
        """Whether runs with the same seeds were compared."""
        return len(self.samples) == 1


def difference(
    findings: GroupedRuns[SettingT, SystemT],
    setting: SettingT,
    measure: str,
    one: SystemT,
    other: SystemT,
    where: str,
) -> Difference | None:
    """Return how much better one system is than another; None if one of them has no run."""
    compared = findings.compare(setting, one, other, measure)
    if compared is None:
        return None
    first, second = (findings.values(setting, system, measure) for system in (one, other))
    return Difference(where, compared, _samples_of(first, second))


def difference_of(where: str, first: Values, second: Values) -> Difference:
    """Return how much higher the first values are, by a t-test over seeds.

    The test is paired if there are two common seeds, and Welch's otherwise.
    """
    if seeds := pairs_of_seeds(first, second):
        ones, others = ([values[seed] for seed in seeds] for values in (first, second))
        compared = paired_t_test(ones, others)
    else:
        compared = welch_t_test(list(first.values()), list(second.values()))
    return Difference(where, compared, _samples_of(first, second))


def _samples_of(first: Values, second: Values) -> tuple[Values, ...]:
    seeds = pairs_of_seeds(first, second)
    if seeds:
        return ({seed: first[seed] - second[seed] for seed in seeds},)
    return first, _times(second, -1)


def decided(differences: Sequence[Difference | None], decimals: int = 1) -> Decision:
    """Decide a claim that all differences are positive; None stands for a missing comparison.

    The claim is refuted if one difference is significantly negative, corrected by Holm for their
    number, or if the mean of all is. The claim is confirmed if no difference is negative, none is
    missing, and the mean is significantly positive.
    """
    known = [found for found in differences if found is not None]
    if not known:
        return Decision("open", f"missing: all {len(differences)} comparisons")
    p_values = [found.compared.p_value for found in known]
    corrected = iter(holm([p_value for p_value in p_values if p_value is not None]))
    is_clear = [p is not None and next(corrected) <= SIGNIFICANCE for p in p_values]
    signs = [found.compared.difference for found in known]
    clear = [sign for sign, sure in zip(signs, is_clear, strict=True) if sure]
    mean = _test_of_sum(mean_samples(known))
    evidence = (
        f"positive in {sum(sign > 0 for sign in signs)} of {len(known)} comparisons, "
        f"significantly in {sum(sign > 0 for sign in clear)}, the reverse significantly in "
        f"{sum(sign < 0 for sign in clear)}; mean {mean_of(signs):+.{decimals}f} points{_p(mean)}"
    )
    lowest = min(known, key=lambda found: found.compared.difference)
    if lowest.compared.difference < 0:
        evidence += f"; lowest {lowest.compared.difference:+.{decimals}f}: {lowest.where}"
    if unpaired := sum(not found.is_paired for found in known):
        evidence += f"; in {unpaired} of {len(known)} the seeds differ, and runs are not paired"
    missing = len(differences) - len(known)
    if missing:
        evidence += f"; missing: {missing} of {len(differences)} comparisons"
    is_sure = mean is not None and mean.p_value is not None and mean.p_value <= SIGNIFICANCE
    if min(clear, default=0.0) < 0 or (is_sure and mean is not None and mean.difference < 0):
        return Decision("refuted", evidence)
    if is_sure and min(signs) > 0 and not missing:
        return Decision("confirmed", evidence)
    if missing:
        return Decision("open", evidence)
    return not_decided(evidence, _count_for_all(known, len(p_values)))


def _count_for_all(known: Sequence[Difference], tests: int) -> int | None:
    """Return how many seeds would show the mean, or that the lowest difference is negative."""
    lowest = min(known, key=lambda found: found.compared.difference)
    mean = sum(found.compared.difference for found in known)
    counts = []
    if lowest.compared.difference < 0:
        counts.append(_count(lowest.samples, SIGNIFICANCE / tests))
    if lowest.compared.difference > 0 or mean < 0:
        counts.append(_count(mean_samples(known), SIGNIFICANCE))
    return min((count for count in counts if count is not None), default=None)


def _count(samples: Sequence[Values], significance: float) -> int | None:
    """Return how many seeds of each sample show the sign of the sum of their means."""
    values = [list(sample.values()) for sample in samples]
    if not values or min(map(len, values)) < 2:
        return None
    deviations = [math.sqrt(variance(one)) for one in values]
    return count_for_t_test(sum(map(mean_of, values)), deviations, significance=significance)


def not_decided(evidence: str, count: int | None, of: str = "seeds") -> Decision:
    """Leave a claim open, and say how many seeds would do; None if that is not known."""
    if count is None:
        return Decision("open", evidence)
    evidence += (
        f"; {count:,} {of} would do for a power of {POWER:.0%}, at these means and deviations"
    )
    if count <= FEASIBLE:
        return Decision("open", evidence)
    return Decision("undecidable", f"{evidence}, more than the {FEASIBLE} within reach")


def by_one_test(
    compared: Comparison, evidence: str, samples: Sequence[Values], of: str = "seeds"
) -> Decision:
    """Decide a claim that a single difference is positive.

    The means of the samples add up to the difference, and their entries are what is counted.
    """
    evidence += _p(compared)
    if compared.p_value is None or compared.p_value > SIGNIFICANCE:
        return not_decided(evidence, _count(samples, SIGNIFICANCE), of)
    return Decision("confirmed" if compared.difference > 0 else "refuted", evidence)


def by_variances(
    first: Iterable[Sequence[float]], second: Iterable[Sequence[float]], what: str, other: str
) -> Decision:
    """Decide (F-test) whether the first samples vary more around their means than the others.

    Each sample counts as much as any other, however many values it has: a relaxation that was run
    with more seeds than others must not decide for all. The degrees of freedom are those of a mean
    of variances that are equal (Satterthwaite 1946); of samples of one size, all they have.
    """
    from scipy.special import fdtrc

    pooled, sizes = [], []
    for samples in (first, second):
        usable = [sample for sample in samples if len(sample) > 1]
        freedom = joint_freedom([1.0] * len(usable), [len(sample) for sample in usable])
        pooled.append((mean_of([variance(sample) for sample in usable] or [math.nan]), freedom))
        sizes.append(len(usable))
    (one, one_freedom), (two, two_freedom) = pooled
    if not one + two > 0:
        return Decision("open", "missing: two seeds at least of both")
    evidence = f"{what} by {math.sqrt(one):.2f} points, {other} by {math.sqrt(two):.2f}"
    p_value = float(fdtrc(one_freedom, two_freedom, one / two)) if two > 0 else 0.0
    evidence += f" (p = {p_value:.2g}, one-sided)"
    if p_value <= SIGNIFICANCE:
        return Decision("confirmed", evidence)
    if p_value >= 1 - SIGNIFICANCE:
        return Decision("refuted", evidence)
    count = count_for_f_test(one / two, (sizes[0], sizes[1])) if two > 0 else None
    return not_decided(evidence, count)


def by_gains(
    few: Sequence[Values], many: Sequence[Values], where: tuple[str, str], decimals: int = 1
) -> Decision | None:
    """Decide whether the first of two leads is larger, both given as `mean_samples` returns them.

    Return None if a sample has fewer than two seeds with both leads.
    """
    gains = add_up([*few, *(_times(sample, -1) for sample in many)])
    if not few or not many or any(len(sample) < 2 for sample in gains):
        return None
    seeds = set().union(*gains)
    ones, others = (
        sum(mean_of([sample[seed] for seed in sample if seed in seeds]) for sample in samples)
        for samples in (few, many)
    )
    return by_one_test(
        t_test_of_sum([list(sample.values()) for sample in gains]),
        f"ahead by {ones:+.{decimals}f} points {where[0]}, by {others:+.{decimals}f} {where[1]}"
        + (", where relaxations have different seeds" if len(gains) > 1 else ""),
        gains,
    )


def mean_samples(differences: Sequence[Difference]) -> list[Values]:
    """Return the mean of all differences by seed, as independent samples whose means add up to it.

    There is one sample if all comparisons are of the same seeds. If some compare runs of different
    seeds, each set of seeds has its own.
    """
    share = 1 / max(1, len(differences))
    return add_up([_times(sample, share) for found in differences for sample in found.samples])


def add_up(samples: Iterable[Values]) -> list[Values]:
    """Add samples seed by seed: those that have seeds in common into one, others stay apart.

    A sum has the seeds that all its samples have.

    >>> add_up([{0: 1.0, 20: 2.0}, {1001: 5.0}, {0: 10.0, 20: 20.0, 50: 30.0}])
    [{1001: 5.0}, {0: 11.0, 20: 22.0}]
    """
    groups: list[list[Values]] = []
    for sample in samples:
        near = [group for group in groups if any(sample.keys() & one.keys() for one in group)]
        groups = [group for group in groups if group not in near]
        groups.append([*(one for group in near for one in group), sample])
    return [
        {
            seed: sum(one[seed] for one in group)
            for seed in sorted(set(group[0]).intersection(*group))
        }
        for group in groups
    ]


def _times(sample: Values, factor: float) -> Values:
    return {seed: factor * value for seed, value in sample.items()}


def _test_of_sum(samples: Sequence[Values]) -> Comparison | None:
    """Test whether samples add up to 0; None if one of them is empty, or there is none."""
    if not samples or not all(samples):
        return None
    return t_test_of_sum([list(sample.values()) for sample in samples])


def mean_of(values: Sequence[float]) -> float:
    """Return the mean of at least one number."""
    return sum(values) / len(values)


def _p(compared: Comparison | None) -> str:
    known = compared is not None and compared.p_value is not None
    return f" (p = {compared.p_value:.2g})" if compared is not None and known else ""
