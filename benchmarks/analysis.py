"""How long the theory takes on this machine, and how far it gets: `make bench-analysis`.

`python benchmarks/analysis.py 40` draws 40 random formulas of each kind instead of a few; those of
three atoms may take a minute each.
"""

from __future__ import annotations

import os
import random
import sys
import time
import warnings

import scipy.integrate

import residuum as rs
from residuum.analysis import tautology_table


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
        found = {name: rs.self_consistency(formula, name) for name in rs.PAPER}
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
"""Connectives of random formulas; those that make `r-product` hard are twice as likely."""


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
            # Without time for bounds, what is left is exact or an estimate.
            exact += rs.consistency(drawn, "r-product", seconds=0, tolerance=1).kind == "exact"
        spent = time.perf_counter() - start
        print(f"  {connectives:2} connectives: {exact} of {count}, {spent:.1f} s")


def certified_bounds(count: int) -> None:
    print("random formulas of three atoms and ten connectives under r-product, a minute for each:")
    widths, start = [], time.perf_counter()
    for seed in range(count):
        drawn = random_formula(random.Random(seed), rs.atoms("P Q R"), 10)
        found = rs.consistency(drawn, "r-product", seconds=60)
        widths.append(found.high - found.low)
    narrow = sum(width <= 1e-8 for width in widths)
    spent = time.perf_counter() - start
    print(
        f"  {narrow} of {count} exact or within 1e-8, the widest {max(widths):.0e}, {spent:.0f} s"
    )


FEW, MORE = 5, 100
"""Formulas of three and of two atoms that are drawn unless a number is given."""


if __name__ == "__main__":
    three, two = (int(sys.argv[1]), int(sys.argv[1])) if len(sys.argv) > 1 else (FEW, MORE)
    os.environ["RESIDUUM_CACHE"] = ""  # what was kept on disk would take no time
    timed_table()
    scaling()
    beside_nquad()
    closed_forms(two)
    certified_bounds(three)
