"""What a claim is about, and how differences decide it.

A rule says `confirmed` or `refuted` where the records show it at the 5% level, else `open`; what
it saw stands beside it in numbers. All are about MNIST with pairs as the paper says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from statistics import fmean
from typing import Final, Literal, NamedTuple

from residuum.results import Comparison, Record, holm, paired_t_test, welch_t_test
from residuum.study.digits.findings import Findings, Setting, Values

Status = Literal["confirmed", "refuted", "open"]
SIGNIFICANCE: Final = 0.05
SIZES: Final = (1_000, 5_000, 25_000)


class Decision(NamedTuple):
    """What the records say, and the numbers it rests on."""

    status: Status
    evidence: str


class About(NamedTuple):
    """What a claim is about; what it does not name is everything of the paper's."""

    protocol: str = "joint"
    better: Sequence[str] = ()
    worse: Sequence[str] = ()
    measures: Sequence[str] = ()
    pair_sizes: Sequence[int] = SIZES
    relaxation: str = ""

    @property
    def settings(self) -> list[Setting]:
        """The settings in question."""
        return [
            Setting("mnist", "paper", digit_size, pair_size)
            for pair_size, digit_size in product(self.pair_sizes, SIZES)
        ]


class Difference(NamedTuple):
    """One comparison, positive where the claim holds, and the difference of each seed."""

    where: str
    compared: Comparison
    by_seed: Values


Rule = Callable[[Findings, Sequence[Record], About], Decision]


def decided(differences: Sequence[Difference | None]) -> Decision:
    """Decide a claim that all differences are positive.

    One that is significantly negative, corrected for their number, refutes it, and so does a mean
    over all that is. It is confirmed if none is negative and their mean is significant.
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
        f"{sum(sign < 0 for sign in clear)}; mean {fmean(signs):+.1f} points{shown_p(mean)}"
    )
    lowest = min(known, key=lambda found: found.compared.difference)
    if lowest.compared.difference < 0:
        evidence += f"; lowest {lowest.compared.difference:+.1f}: {lowest.where}"
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
    """Decide a claim that a difference is positive."""
    evidence += shown_p(compared)
    if compared.p_value is None or compared.p_value > SIGNIFICANCE:
        return Decision("open", evidence)
    return Decision("confirmed" if compared.difference > 0 else "refuted", evidence)


def by_variances(
    first: Iterable[Sequence[float]], second: Iterable[Sequence[float]], what: str, other: str
) -> Decision:
    """Decide a claim that the first samples vary more around their means than the second."""
    from scipy.special import fdtrc

    pooled = []
    for samples in (first, second):
        usable = [sample for sample in samples if len(sample) > 1]
        freedom = sum(len(sample) - 1 for sample in usable)
        squares = sum((value - fmean(sample)) ** 2 for sample in usable for value in sample)
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


def compared_by_seed(first: Values, second: Values) -> tuple[Comparison, Values]:
    """Compare two systems by a t-test, paired where seeds are common, with what each seed says."""
    seeds = sorted(first.keys() & second.keys())
    by_seed = {seed: first[seed] - second[seed] for seed in seeds}
    if len(seeds) > 1:
        ones, others = ([values[seed] for seed in seeds] for values in (first, second))
        return paired_t_test(ones, others), by_seed
    return welch_t_test(list(first.values()), list(second.values())), by_seed


def mean_by_seed(differences: Sequence[Difference]) -> Values:
    """Return the mean of all differences for each seed that all have."""
    if not differences:
        return {}
    seeds = set.intersection(*(set(found.by_seed) for found in differences))
    return {seed: fmean([found.by_seed[seed] for found in differences]) for seed in sorted(seeds)}


def shown_p(compared: Comparison | None) -> str:
    """Return the p-value in brackets, or nothing where there is none."""
    known = compared is not None and compared.p_value is not None
    return f" (p = {compared.p_value:.2g})" if compared is not None and known else ""


def words(setting: Setting) -> str:
    """Return the sizes of a setting as text."""
    return f"DIGIT {setting.digit_size:,}, PAIR {setting.pair_size:,}"
