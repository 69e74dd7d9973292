"""Times the analysis of relaxations and counts its exact results: `make bench-analysis`.

`python benchmarks/analysis.py 40` draws 40 random formulas of each kind instead of a few; formulas
of three atoms may take a minute each. `--bounds 0 100 --record FILE` only bounds the formulas of
seeds 0 to 99 and appends one line of JSON for each to a file; `--processes 16` runs 16 at once.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import scipy.integrate

import residuum as rs
from residuum.analysis import tautology_table
from residuum.relaxations import PAPER


def timed_table() -> None:
    for names in (("s-product", "s-godel", "r-godel", "lukasiewicz"), ("r-product",)):
        start = time.perf_counter()
        cells = [c for row in tautology_table([rs.relaxation(n) for n in names]) for c in row]
        spent = time.perf_counter() - start
        exact = sum(cell.computed.kind == "exact" for cell in cells)
        print(f"table, {', '.join(names)}: {spent:.2f} s, {exact} of {len(cells)} cells exact")


def scaling() -> None:
    print("self-consistency of a conjunction of n atoms:")
    for n in (10, 100, 1_000, 10_000):
        formula = rs.And(*(rs.Atom(f"A{i}") for i in range(n)))
        found = {name: rs.self_consistency(formula, name) for name in PAPER}
        cells = "  ".join(f"{name} {r.seconds:.3f} s {r.kind}" for name, r in found.items())
        print(f"  n = {n:>6,}: {cells}")


def beside_nquad() -> None:
    print("the same integrals by scipy.integrate.nquad, with its true error:")
    for text in ("P -> (Q -> P)", "(P -> Q) & (Q -> P)"):
        for name in ("s-product", "s-godel", "lukasiewicz"):
            ours = rs.consistency(text, name)
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value, _ = scipy.integrate.nquad(
                    lambda p, q, t=text, n=name: rs.truth(t, {"P": p, "Q": q}, n),
                    [(0, 1), (0, 1)],
                    opts={"limit": 20},
                )
            spent = time.perf_counter() - start
            print(
                f"  {text:22} {name:12} ours {ours.seconds:.4f} s {ours.exact}, "
                f"nquad {spent:.2f} s, error {abs(value - ours.value):.1e}"
            )


KINDS = (rs.Not, rs.And, rs.Or, rs.Implies, rs.Implies, rs.Iff, rs.Iff)
"""Connectives of random formulas. Those that are hard for `r-product` are twice as likely."""


def random_formula(rng: random.Random, atoms: tuple[rs.Atom, ...], connectives: int) -> rs.Formula:
    if connectives == 0:
        return rng.choice(atoms)
    kind = rng.choice(KINDS)
    if kind is rs.Not:
        return rs.Not(random_formula(rng, atoms, connectives - 1))
    left = rng.randrange(connectives)
    right = connectives - 1 - left
    return kind(random_formula(rng, atoms, left), random_formula(rng, atoms, right))


def closed_forms(count: int) -> None:
    print("random formulas of two atoms under r-product with a fraction or a closed form:")
    for connectives in (4, 8, 12):
        exact, start = 0, time.perf_counter()
        for seed in range(count):
            drawn = random_formula(random.Random(seed), rs.atoms("P Q"), connectives)
            # Without time for bounds, the result is exact or an estimate.
            exact += rs.consistency(drawn, "r-product", seconds=0, tolerance=1).kind == "exact"
        spent = time.perf_counter() - start
        print(f"  {connectives:2} connectives: {exact} of {count}, {spent:.1f} s")


CONNECTIVES, SECONDS, WIDTH = 10, 60, 1e-6
"""For formulas of three atoms: connectives, seconds allowed for each, and the width aimed at."""


def bounded(seed: int) -> dict[str, Any]:
    """Return bounds for the random formula of three atoms of a seed."""
    drawn = random_formula(random.Random(seed), rs.atoms("P Q R"), CONNECTIVES)
    found = rs.consistency(drawn, "r-product", seconds=SECONDS)
    return {
        "seed": seed,
        "formula": str(drawn),
        "kind": found.kind,
        "low": found.low,
        "high": found.high,
        "seconds": round(found.seconds, 2),
    }


def summary(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return in words how many formulas have narrow bounds, and how long they took."""
    widths, seconds = zip(
        *((row["high"] - row["low"], row["seconds"]) for row in rows), strict=True
    )
    narrow = sum(width <= WIDTH for width in widths)
    middle, late = (sorted(seconds)[int(share * len(seconds))] for share in (0.5, 0.95))
    return (
        f"{narrow} of {len(widths)} are exact or within {WIDTH:g}, the widest {max(widths):.0e}; "
        f"half take less than {middle:.1f} s, and 19 of 20 less than {late:.0f} s"
    )


def certified_bounds(count: int) -> None:
    print("random formulas of three atoms and ten connectives under r-product, a minute for each:")
    print(f"  {summary(map(bounded, range(count)))}")


def record_bounds(seeds: Sequence[int], path: str, processes: int) -> None:
    """Append one line for each seed to a file, in order, and print the progress."""
    rows = []
    # New processes: a forked one may inherit a lock that nobody releases.
    start = multiprocessing.get_context("spawn")
    with (
        open(path, "a", encoding="utf-8") as file,
        ProcessPoolExecutor(processes, mp_context=start) as pool,
    ):
        for row in pool.map(bounded, seeds):
            rows.append(row)
            print(json.dumps(row), file=file, flush=True)
            width = row["high"] - row["low"]
            done = f"{len(rows)} of {len(seeds)}"
            print(f"{done}: seed {row['seed']}, {width:.1e} in {row['seconds']} s", flush=True)
    print(summary(rows))


FEW, MORE = 5, 100
"""Default numbers of random formulas of three atoms, and of two atoms."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, help="how many random formulas to draw")
    parser.add_argument(
        "--bounds",
        nargs=2,
        type=int,
        metavar=("FROM", "TO"),
        help="only bound the formulas of these seeds, up to a minute each",
    )
    parser.add_argument(
        "--record",
        default="bounds.jsonl",
        metavar="FILE",
        help="the file that --bounds adds lines to (default: %(default)s)",
    )
    parser.add_argument(
        "--processes",
        default=1,
        type=int,
        metavar="N",
        help="how many formulas --bounds bounds at once (default: %(default)s)",
    )
    asked = parser.parse_args()
    os.environ["RESIDUUM_CACHE"] = ""  # no cache: cached results would take no time
    if asked.bounds:
        record_bounds(range(*asked.bounds), asked.record, asked.processes)
    else:
        timed_table()
        scaling()
        beside_nquad()
        closed_forms(asked.count or MORE)
        certified_bounds(asked.count or FEW)
