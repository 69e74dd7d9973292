"""Rules that decide claims of any study: which relaxations are better, and which are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from statistics import stdev
from typing import Any, Protocol, TypeVar

from residuum.results import Record
from residuum.study.deciding import Decision, decided, difference
from residuum.study.findings import Findings

FindingsT = TypeVar("FindingsT", bound=Findings[Any, Any])
AboutT = TypeVar("AboutT")

Rule = Callable[[FindingsT, Sequence[Record], AboutT], Decision]
"""A test of what is claimed: by the runs in the tables, and by all records where others matter."""


class Ranking(Protocol):
    """What a claim that compares relaxations is about."""

    @property
    def better(self) -> Sequence[str]:
        """Relaxations that are said to be better."""

    @property
    def worse(self) -> Sequence[str]:
        """Than these."""

    @property
    def measures(self) -> Sequence[str]:
        """By which measures."""

    @property
    def settings(self) -> Sequence[Any]:
        """In which settings."""

    @property
    def decimals(self) -> int:
        """How many decimals of a percentage matter."""

    def system(self, relaxation: str) -> Any:
        """Return the system that stands for a relaxation."""

    def words(self, setting: Any) -> str:
        """Name a setting."""


def outperforms(
    findings: Findings[Any, Any], _records: Sequence[Record], about: Ranking
) -> Decision:
    """Decide whether each of some relaxations is better than each of others, everywhere."""
    return decided([
        difference(
            findings, setting, measure, about.system(one), about.system(other),
            f"{measure} of {one} and {other}, {about.words(setting)}",
        )
        for setting in about.settings
        for measure in about.measures
        for one, other in product(about.better, about.worse)
    ], about.decimals)  # fmt: skip


def gives_the_same(
    findings: Findings[Any, Any], _records: Sequence[Record], about: Ranking
) -> Decision:
    """Decide whether two relaxations have the same figures, seed by seed.

    On a GPU the same run gives other figures when it is trained beside other runs, as sums are
    taken in another order. So they need not be equal, only to differ by less than seeds do.
    """
    (one,), (other,) = about.better, about.worse
    gaps: list[float] = []
    is_same = True
    for setting, measure in product(about.settings, about.measures):
        first, second = (
            findings.values(setting, about.system(name), measure) for name in (one, other)
        )
        if len(seeds := sorted(first.keys() & second.keys())) > 1:
            here = [abs(first[seed] - second[seed]) for seed in seeds]
            gaps += here
            spread = min(stdev(values[seed] for seed in seeds) for values in (first, second))
            is_same &= max(here) <= spread
    if not gaps:
        return Decision("open", f"missing: two seeds of both {one} and {other}")
    equal = sum(gap == 0 for gap in gaps)
    return Decision(
        "confirmed" if is_same else "refuted",
        f"{equal} of {len(gaps)} figures are equal, the others differ by up to {max(gaps):.2g} "
        f"points, {'less' if is_same else 'somewhere more'} than seeds do",
    )
