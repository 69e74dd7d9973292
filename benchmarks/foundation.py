"""Times the basics on this machine: import, parsing, folding and truth: `make bench-foundation`.

Absolute times depend on the machine. On every machine, time should be linear in the number of
distinct nodes, whatever the depth or the unfolded size.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import residuum as rs
from residuum.syntax import depth, size


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return statistics.median(once() for _ in range(repeats))


def process(code: str) -> float:
    return seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True), repeats=7)


def doubled(levels: int) -> rs.Formula:
    formula: rs.Formula = rs.Atom("P")
    for _ in range(levels):
        formula = rs.And(formula, formula)
    return formula


def main() -> None:
    empty = process("pass")
    print(
        f"import residuum, beyond Python's own start   {process('import residuum') - empty:8.3f} s"
    )
    for levels in (25_000, 50_000, 100_000):
        text = "(P & " * levels + "Q" + ")" * levels
        formula = rs.parse(text)
        print(f"{levels:>7,} deep: parse {seconds(lambda t=text: rs.parse(t), 1):19.3f} s")
        print(f"{'':15} print {seconds(lambda f=formula: str(f), 1):19.3f} s")
        print(f"{'':15} fold  {seconds(lambda f=formula: depth(f), 1):19.3f} s")
    for levels in (50, 200):
        formula = doubled(levels)
        print(f"size of {levels} self-doublings {seconds(lambda f=formula: size(f)):25.6f} s")
    atoms = rs.atoms(" ".join(f"P{i}" for i in range(200)))
    clauses = [a | ~b | c for a, b, c in zip(atoms, atoms[1:], atoms[2:], strict=False)]
    print(
        f"is_satisfiable, 200 atoms {seconds(lambda: rs.is_satisfiable(rs.And(*clauses))):26.6f} s"
    )
    points = np.random.default_rng(0).random((2, 1_000_000))
    print("truth of P & (P -> Q) -> Q on a million points, each relaxation:")
    for name in rs.relaxation_names():
        degrees = {"P": points[0], "Q": points[1]}
        spent = seconds(lambda n=name, d=degrees: rs.truth("P & (P -> Q) -> Q", d, n), 1)
        print(f"    {name:22} {spent:25.3f} s")


if __name__ == "__main__":
    main()
