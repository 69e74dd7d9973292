"""Statistical tests that confirm or refute a claim at the 5% level, or leave it open."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from residuum.results import Comparison, holm, paired_t_test, welch_t_test
from residuum.study.grouped_runs import GroupedRuns, SettingT, SystemT, Values

Status = Literal["confirmed", "refuted", "open"]
SIGNIFICANCE: Final = 0.05


class Decision(NamedTuple):
    """A status, and in words the numbers it rests on."""

    status: Status
    evidence: str


class Difference(NamedTuple):
    """One comparison, positive where the claim holds, and the difference for each seed."""

    where: str
    compared: Comparison
    by_seed: Values


def difference(
    findings: GroupedRuns[SettingT, SystemT],
    setting: SettingT,
    measure: str,
    one: SystemT,
    other: SystemT,
    where: str,
) -> Difference | None:
    """Return how much better one system is than another; None if they share no seed."""
    compared = findings.compare(setting, one, other, measure)
    if compared is None:
        return None
    first, second = (findings.values(setting, system, measure) for system in (one, other))
    by_seed = {seed: first[seed] - second[seed] for seed in first.keys() & second.keys()}
    return Difference(where, compared, by_seed)


def difference_of(where: str, first: Values, second: Values) -> Difference:
    """Return how much higher the first values are, by a t-test over seeds.

    The test is paired if there are two common seeds, and Welch's otherwise.
    """
    seeds = sorted(first.keys() & second.keys())
    by_seed = {seed: first[seed] - second[seed] for seed in seeds}
    if len(seeds) > 1:
        ones, others = ([values[seed] for seed in seeds] for values in (first, second))
        return Difference(where, paired_t_test(ones, others), by_seed)
    compared = welch_t_test(list(first.values()), list(second.values()))
    return Difference(where, compared, by_seed)


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
    whole = mean_by_seed(known)
    mean = paired_t_test(list(whole.values()), [0.0] * len(whole)) if whole else None
    evidence = (
        f"positive in {sum(sign > 0 for sign in signs)} of {len(known)} comparisons, "
        f"significantly in {sum(sign > 0 for sign in clear)}, the reverse significantly in "
        f"{sum(sign < 0 for sign in clear)}; mean {mean_of(signs):+.{decimals}f} points{_p(mean)}"
    )
    lowest = min(known, key=lambda found: found.compared.difference)
    if lowest.compared.difference < 0:
        evidence += f"; lowest {lowest.compared.difference:+.{decimals}f}: {lowest.where}"
    missing = len(differences) - len(known)
    if missing:
        evidence += f"; missing: {missing} of {len(differences)} comparisons"
    is_sure = mean is not None and mean.p_value is not None and mean.p_value <= SIGNIFICANCE
    if min(clear, default=0.0) < 0 or (is_sure and mean is not None and mean.difference < 0):
        return Decision("refuted", evidence)
    if is_sure and min(signs) > 0 and not missing:
        return Decision("confirmed", evidence)
    return Decision("open", evidence)


def by_one_test(compared: Comparison, evidence: str) -> Decision:
    """Decide a claim that a single difference is positive."""
    evidence += _p(compared)
    if compared.p_value is None or compared.p_value > SIGNIFICANCE:
        return Decision("open", evidence)
    return Decision("confirmed" if compared.difference > 0 else "refuted", evidence)


def by_variances(
    first: Iterable[Sequence[float]], second: Iterable[Sequence[float]], what: str, other: str
) -> Decision:
    """Decide (F-test) whether the first samples vary more around their means than the others."""
    from scipy.special import fdtrc

    pooled = []
    for samples in (first, second):
        usable = [sample for sample in samples if len(sample) > 1]
        freedom = sum(len(sample) - 1 for sample in usable)
        squares = sum((value - mean_of(sample)) ** 2 for sample in usable for value in sample)
        pooled.append((squares / freedom if freedom else math.nan, freedom))
    (one, one_freedom), (two, two_freedom) = pooled
    if not (one_freedom and two_freedom) or not one + two > 0:
        return Decision("open", "missing: two seeds at least of both")
    evidence = f"{what} by {math.sqrt(one):.2f} points, {other} by {math.sqrt(two):.2f}"
    p_value = float(fdtrc(one_freedom, two_freedom, one / two)) if two > 0 else 0.0
    evidence += f" (p = {p_value:.2g}, one-sided)"
    if p_value <= SIGNIFICANCE:
        return Decision("confirmed", evidence)
    return Decision("refuted" if p_value >= 1 - SIGNIFICANCE else "open", evidence)


def by_gains(
    few: Values, many: Values, where: tuple[str, str], decimals: int = 1
) -> Decision | None:
    """Decide whether the first of two leads is larger; None if fewer than two seeds have both."""
    seeds = sorted(few.keys() & many.keys())
    if len(seeds) < 2:
        return None
    ones, others = ([lead[seed] for seed in seeds] for lead in (few, many))
    return by_one_test(
        paired_t_test(ones, others),
        f"ahead by {mean_of(ones):+.{decimals}f} points {where[0]}, by "
        f"{mean_of(others):+.{decimals}f} {where[1]}",
    )


def mean_by_seed(differences: Sequence[Difference]) -> Values:
    """Return the mean of all differences, for each seed that all of them have."""
    if not differences:
        return {}
    seeds = set.intersection(*(set(found.by_seed) for found in differences))
    return {seed: mean_of([found.by_seed[seed] for found in differences]) for seed in sorted(seeds)}


def mean_of(values: Sequence[float]) -> float:
    """Return the mean of at least one number."""
    return sum(values) / len(values)


def _p(compared: Comparison | None) -> str:
    known = compared is not None and compared.p_value is not None
    return f" (p = {compared.p_value:.2g})" if compared is not None and known else ""
