"""The record as tables in Markdown: what was reached, and how well it can be predicted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from statistics import fmean, stdev
from typing import Any, Final

from family_contest.contest import (
    CHANCE,
    LEADERS,
    PRODUCTS,
    SCALED,
    SIZES,
    WEIGHTS,
    contenders,
)
from family_contest.fits import Case, HeldOut, held_out, rank_correlation
from family_contest.predictors import NAMES, OF_LOSSES
from residuum.results import Comparison, find_best, holm, paired_t_test
from residuum.training.optimisers import Adam

Record = Mapping[str, Sequence[Mapping[str, Any]]]

OF_TRUTH: Final = tuple(name for name in NAMES if name not in OF_LOSSES)

SETS: Final[Mapping[str, Sequence[str]]] = {
    "consistency alone": ("consistency",),
    "all of the truth function": OF_TRUTH,
    "all of the loss": OF_LOSSES,
    "all": tuple(NAMES),
}
"""The sets of predictors that are fitted."""


def accuracies(record: Record, size: str, part: str = "results") -> dict[str, list[float]]:
    """Return the accuracy of Sum and Product by relaxation; diverged runs count at chance."""
    return {
        one["relaxation"]: [CHANCE if value is None else value for value in one["operators"]]
        for one in record[part]
        if one["size"] == size
    }


def cases(record: Record, size: str, names: Iterable[str]) -> list[Case]:
    """Return the relaxations whose predictors are all known, so all but `exact`."""
    known = {one["relaxation"]: one for one in record["predictors"]}
    reached, names = accuracies(record, size), list(names)
    return [
        Case(
            one.name,
            one.family,
            [known[one.name][name] for name in names],
            fmean(reached[one.name]),
        )
        for one in contenders()
        if one.name in reached and set(NAMES) <= known[one.name].keys()
    ]


def markdown(record: Record) -> str:
    """Return all tables, with an empty line between two."""
    return "\n\n".join((
        _reached(record), _best(record), _correlations(record), _fits(record),
        _confirmed(record), _by_epsilon(record),
    ))  # fmt: skip


def _reached(record: Record) -> str:
    by_size = {
        size.name: {one["relaxation"]: one for one in record["results"] if one["size"] == size.name}
        for size in SIZES
    }
    tied = {size: best_of(record, size) for size in by_size}
    heads = [
        f"{what}, {size.name}"
        for size in SIZES
        for what in ("Sum and Product", "Digit", "rate", "weight")
    ]
    rows = []
    for one in contenders():
        cells = [f"`{one.name}`"]
        for size, found in by_size.items():
            cells += _cells(found.get(one.name), one.name in tied[size])
        rows.append(cells)
    return _table(["relaxation", *heads], rows)


def _cells(result: Mapping[str, Any] | None, is_best: bool) -> list[str]:
    if result is None:
        return ["–"] * 4
    values = [CHANCE if value is None else value for value in result["operators"]]
    digits = [CHANCE if value is None else value for value in result["digit"]]
    mean = f"{fmean(values):.1f}"
    mean = f"**{mean}**" if is_best else mean
    diverged = sum(value is None for value in result["operators"])
    said = f"{mean} ({stdev(values):.1f})"
    said += f", {diverged} of {len(values)} diverged" if diverged else ""
    return [said, f"{fmean(digits):.1f}", f"{result['rate']:g}", f"{result['weight']:g}"]


def best_of(record: Record, size: str) -> tuple[str, ...]:
    """Return the relaxations that are not significantly worse than the best one of a size."""
    reached = accuracies(record, size)

    def compare(one: str, other: str) -> Comparison:
        return paired_t_test(reached[one], reached[other])

    return find_best({name: fmean(values) for name, values in reached.items()}, compare).ties


def _best(record: Record) -> str:
    ranked = {
        size.name: sorted(accuracies(record, size.name).items(), key=lambda one: -fmean(one[1]))
        for size in SIZES
    }
    rows = [
        [str(place + 1)]
        + [f"`{found[place][0]}` {fmean(found[place][1]):.1f}" for found in ranked.values()]
        for place in range(min(10, *map(len, ranked.values())))
    ]
    return _table(["place", *ranked], rows)


def kind_of(name: str) -> str:
    """Return `s`, `r`, or nothing where a relaxation is both or neither."""
    return name[0] if name[1] == "-" else ""


def _correlations(record: Record) -> str:
    rows = []
    for name, words in NAMES.items():
        cells = [f"`{name}`: {words}"]
        for size in SIZES:
            known = cases(record, size.name, [name])
            for kinds in ("sr", "s", "r"):
                some = [one for one in known if kind_of(one.name) in (*kinds, "")]
                values = [one.predictors[0] for one in some]
                found = rank_correlation(values, [one.reached for one in some])
                cells.append(f"{found:+.2f}" if len({*values}) > 1 else "–")
        rows.append(cells)
    heads = [f"{kind}, {size.name}" for size in SIZES for kind in ("all", "S", "R")]
    return _table(["predictor", *heads], rows)


def _fits(record: Record) -> str:
    rows = []
    for words, names in SETS.items():
        cells = [words]
        for size in SIZES:
            cells += _fitted(held_out(cases(record, size.name, names)))
        rows.append(cells)
    what = ("rank correlation", "variance explained", "error", "regret")
    heads = [f"{one}, {size.name}" for size in SIZES for one in what]
    return _table(["fitted", *heads], rows)


def _fitted(found: HeldOut) -> list[str]:
    return [
        f"{found.rank:+.2f}", f"{found.explained:.0%}", f"{found.error:.1f}", f"{found.regret:.1f}"
    ]  # fmt: skip


def leads(record: Record) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Return what each leader is above each product at each size, by fresh seeds.

    Beside a lead stands its p-value, corrected for all of them.
    """
    reached = {size.name: accuracies(record, size.name, "confirmation") for size in SIZES}
    keys = list(product(LEADERS, reached, PRODUCTS))
    tests = [paired_t_test(reached[size][one], reached[size][other]) for one, size, other in keys]
    p_values = holm([test.p_value for test in tests])
    return {key: (test.difference, p) for key, test, p in zip(keys, tests, p_values, strict=True)}


def _confirmed(record: Record) -> str:
    known = leads(record)
    rows = []
    for name in (*LEADERS, *PRODUCTS):
        cells = [f"`{name}`"]
        for size in SIZES:
            values = accuracies(record, size.name, "confirmation")[name]
            cells.append(f"{fmean(values):.1f} ({stdev(values):.1f})")
            cells += [_lead(known.get((name, size.name, other))) for other in PRODUCTS]
        rows.append(cells)
    what = ("", *(f" above `{name}`" for name in PRODUCTS))
    return _table(["relaxation", *(f"{size.name}{one}" for size in SIZES for one in what)], rows)


def _lead(known: tuple[float, float] | None) -> str:
    if known is None:
        return "–"
    lead, p = known
    return f"{lead:+.1f} (p {'< 0.0001' if p < 0.0001 else f'= {p:.4f}'})"


def _by_epsilon(record: Record) -> str:
    rows = []
    for name, size, part in product(SCALED, SIZES, ("results", "epsilon")):
        [cell] = [
            one for one in record[part] if (one["relaxation"], one["size"]) == (name, size.name)
        ]
        best = [
            max(one["dev"] for one in cell["tried"] if one["weight"] == weight)
            for weight in WEIGHTS
        ]
        epsilon = f"{cell.get('epsilon', Adam.SMALL):g}"
        rows.append([f"`{name}`, {size.name}", epsilon, *(f"{dev:.1f}" for dev in best)])
    return _table(["relaxation", "ε", *(f"{weight:g}" for weight in WEIGHTS)], rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = " | ".join(["---", *["--:"] * (len(heads) - 1)])
    lines = [" | ".join(heads), rule, *(" | ".join(row) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines)
