"""How long the theory takes on this machine: `make bench-analysis`."""

from __future__ import annotations

import os
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


if __name__ == "__main__":
    os.environ["RESIDUUM_CACHE"] = ""  # what was kept on disk would take no time
    timed_table()
    scaling()
    beside_nquad()
