"""The protocol: a rate and a weight are chosen on DEV, then fresh seeds are measured on TEST."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import Any, Final, NamedTuple

from family_contest.training import FineAdam, Reached, Run, Size, train
from residuum.relaxations import relaxation

PARAMETERS: Final = {
    "hamacher": ("0", "1/2", "2", "10"),
    "frank": ("1/10", "10", "1000"),
    "yager": ("1/2", "2", "4"),
    "dombi": ("1/2", "2"),
    "aczel-alsina": ("1/2", "2", "4"),
    "schweizer-sklar": ("-2", "-1/2", "1/2", "2"),
    "sugeno-weber": ("-1/2", "2", "10"),
}
"""Parameters between and beyond those at which a family is one of the basic logics."""

SPECIAL: Final = {
    "hamacher": {"1": "product"},
    "frank": {"1": "product", "inf": "lukasiewicz"},
    "yager": {"1": "lukasiewicz", "inf": "godel"},
    "dombi": {"1": "hamacher(0)", "inf": "godel"},
    "aczel-alsina": {"1": "product", "inf": "godel"},
    "schweizer-sklar": {"-inf": "godel", "-1": "hamacher(0)", "0": "product", "1": "lukasiewicz"},
    "sugeno-weber": {"0": "lukasiewicz", "inf": "product"},
}
"""The parameters at which a family is a t-norm that has another name."""

BASIC: Final = (
    "s-product", "r-product", "s-godel", "r-godel", "lukasiewicz", "lukasiewicz-maxsat",
    "s-nilpotent-minimum", "s-drastic",
)  # fmt: skip

EXACT: Final = "exact"

SIZES: Final = (
    Size("few", digit_size=100, pair_size=1_000, epochs=30),
    Size("many", digit_size=600, pair_size=4_000, epochs=10),
)

RATES: Final = (0.003, 0.01)
WEIGHTS: Final = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.03, 0.3, 1.0, 3.0)
"""What is tried on DEV. In trials on DEV rates of 0.001 and 0.03 were hardly ever better. Weights
matter: with the smallest, Adam's ε is felt, and steps grow with the gradient in the place of being
all alike. S-logics need that (`s-product` learns with 1e-6, hardly with 1e-3), and R-logics of
nilpotent t-norms learn best near 1, where Digit heeds the rules."""

TUNING: Final = (100, 101)
JUDGING: Final = tuple(range(300, 308))
"""Seeds: those that choose a rate and a weight, and those that are measured on TEST."""

PRODUCTS: Final = ("r-product", "s-product")
LEADERS: Final = ("r-hamacher(10)", "r-frank(1000)", "s-hamacher(10)", "s-aczel-alsina(0.5)")
FRESH: Final = tuple(range(400, 424))
"""The confirmation: the four that the judging seeds put first with many examples, once more beside
both products, with seeds that took no part in any choice."""

SCALED: Final = ("s-product", "r-product", "r-hamacher(10)")
"""Tuned once more with an ε of Adam that no step feels."""


class Contender(NamedTuple):
    """A relaxation, its family, and whether its implication is S or R; `exact` has neither."""

    name: str
    family: str
    kind: str


def contenders() -> list[Contender]:
    """Return all contenders, the basic ones first; each family forms a group of its own."""
    families = [
        Contender(relaxation(f"{kind}-{family}({value})").name, family, kind)
        for family, values in PARAMETERS.items()
        for kind in "sr"
        for value in values
    ]
    basic = [Contender(name, *_parts_of(name)) for name in BASIC]
    return [*basic, *families, Contender(EXACT, EXACT, "")]


def _parts_of(name: str) -> tuple[str, str]:
    """Return the family and the kind of a basic relaxation; Łukasiewicz is both S and R."""
    return (name[2:], name[0]) if name[1] == "-" else ("lukasiewicz", "")


Job = tuple[str, Size]


def jobs() -> list[Job]:
    """Return every contender at every size; S-logics, which take several times longer, are last.

    So a run that is cut off has as many results as possible.
    """
    found = [(one.name, size) for one in contenders() for size in SIZES]
    return sorted(found, key=lambda job: (job[0].startswith("s-"), job[1].name != "many"))


def result(job: Job) -> dict[str, Any]:
    """Tune a relaxation at a size on DEV, and measure it on TEST with other seeds."""
    name, size = job
    started = time.process_time()
    tried = _tuned(name, size)
    best = max(tried, key=lambda one: one["dev"])
    return {
        **_measured(name, size, best["rate"], best["weight"], JUDGING),
        "tried": tried,
        "seconds": round(time.process_time() - started, 1),
    }


def confirmations(results: Iterable[Mapping[str, Any]]) -> list[tuple[str, Size, float, float]]:
    """Return what is confirmed at every size, with the rate and the weight that were chosen."""
    chosen = {(one["relaxation"], one["size"]): (one["rate"], one["weight"]) for one in results}
    cells = product((*LEADERS, *PRODUCTS), SIZES)
    return [(name, size, *chosen[name, size.name]) for name, size in cells]


def confirmation(job: tuple[str, Size, float, float]) -> dict[str, Any]:
    """Measure a relaxation on TEST with fresh seeds; nothing is chosen anew."""
    return {**_measured(*job, FRESH), "seeds": [FRESH[0], FRESH[-1]]}


def scaled(job: Job) -> dict[str, Any]:
    """Tune a relaxation at a size on DEV, as `result` does, where no step feels Adam's ε."""
    name, size = job
    tried = _tuned(name, size, "fine-adam")
    return {"relaxation": name, "size": size.name, "epsilon": FineAdam.SMALL, "tried": tried}


def _measured(
    name: str, size: Size, rate: float, weight: float, seeds: Sequence[int]
) -> dict[str, Any]:
    reached = train(name, [Run(seed, rate, weight) for seed in seeds], size, is_tuning=False)
    return {
        "relaxation": name,
        "size": size.name,
        "rate": rate,
        "weight": weight,
        "digit": [one and round(one.digit, 2) for one in reached],
        "operators": [one and round(one.operators, 2) for one in reached],
    }


def _tuned(name: str, size: Size, optimiser: str = "adam") -> list[dict[str, float]]:
    """Return the mean score on DEV of each rate and weight."""
    cells = list(product(RATES, WEIGHTS))
    runs = [Run(seed, rate, weight) for rate, weight in cells for seed in TUNING]
    reached = train(name, runs, size, is_tuning=True, optimiser=optimiser)
    groups = [reached[at : at + len(TUNING)] for at in range(0, len(reached), len(TUNING))]
    return [
        {"rate": rate, "weight": weight, "dev": round(fmean(map(score, group)), 2)}
        for (rate, weight), group in zip(cells, groups, strict=True)
    ]


CHANCE: Final = 10.0
"""The accuracy, in percent, that a diverged run counts with."""


def score(reached: Reached | None) -> float:
    """Return the accuracy of Sum and Product; a diverged run counts at chance."""
    return CHANCE if reached is None else reached.operators
