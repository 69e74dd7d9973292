"""Measures the errors of compiled losses under each relaxation: `make sweep-losses`.

Penalties in single precision are compared with the same rules in double precision, on random
logits. Gradients in single precision are compared with textbook formulas in mpmath, on a grid of
logits up to ±100; the program fails if one disagrees. The tests compare the penalties of the
paper's relaxations with textbook formulas.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

import torch

import residuum as rs
from gradient_oracle import FORMULAS, disagreement

RULES = ("P & Q", "P | Q", "P -> Q", "P & Q -> R", "(P -> Q) | ~R")
POINTS = 20_000
REACH = 14

PARAMETERS = {
    "hamacher": ("0", "0.5", "2", "10"),
    "frank": ("0.1", "0.5", "2", "10"),
    "yager": ("0.5", "2", "3"),
    "dombi": ("0.5", "2", "3"),
    "aczel-alsina": ("0.5", "2", "3"),
    "schweizer-sklar": ("-3", "-0.5", "0.5", "2"),
    "sugeno-weber": ("-0.5", "2", "10"),
}
GRADIENTS = (
    "s-product", "r-product", "s-godel", "r-godel", "lukasiewicz",
    *(
        f"{kind}-{family}({value})"
        for family, values in PARAMETERS.items()
        for value in values
        for kind in "sr"
    ),
)  # fmt: skip
LOGITS = (-100, -68.6, -44, -30.5, -17, -7, -1.5, -0.5, 0, 0.5, 3, 14.5, 20, 44, 68.6, 100)
FEW_LOGITS = (-100, -44, -14.5, -0.5, 3, 20, 68.6)


def errors(rule: str, name: str, logits: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return errors relative to the penalty, or absolute errors where it is below 1."""
    compiled = rs.compile(rule, name, reduction="none")
    read = {atom: given for atom, given in logits.items() if atom in rule}
    exact = compiled({atom: given.double() for atom, given in read.items()})
    return (compiled(read).double() - exact).abs() / exact.abs().clamp(min=1)


def grid(formula: str) -> list[tuple[float, ...]]:
    """Return logits for the atoms of a formula: a grid, and close and opposite pairs."""
    count = sum(atom in formula for atom in "ABC")
    if count == 3:
        return list(itertools.product(FEW_LOGITS, repeat=3))
    close = [(z, z * (1 + 1e-6)) for z in LOGITS] + [(z, -z) for z in LOGITS]
    return list(itertools.product(LOGITS, repeat=count)) + (close if count == 2 else [])


def gradients(
    name: str,
    formula: str,
    points: Sequence[Sequence[float]],
    dtype: torch.dtype = torch.float32,
) -> Iterator[tuple[list[float], list[float]]]:
    """Yield each point, rounded to the dtype, and the gradient of the penalty there."""
    leaves = [column.clone().requires_grad_() for column in torch.tensor(points, dtype=dtype).T]
    penalty = rs.compile(formula, name, reduction="none")(dict(zip("ABC", leaves, strict=False)))
    found = torch.autograd.grad(penalty.sum(), leaves, allow_unused=True)
    each = [
        torch.zeros_like(leaf) if one is None else one
        for one, leaf in zip(found, leaves, strict=True)
    ]
    yield from zip(torch.stack(leaves, 1).tolist(), torch.stack(each, 1).tolist(), strict=True)


def compare_gradients(name: str, every: int = 1) -> tuple[int, list[str]]:
    """Return the number of compared gradients, and a line for each that disagrees."""
    count, wrong = 0, []
    for formula in FORMULAS:
        for point, found in gradients(name, formula, grid(formula)[::every]):
            count += 1
            if not disagreement(name, formula, point, found) <= 1:  # NaN included
                wrong.append(f"{name}: `{formula}` at {point}: {found}")
    return count, wrong


def main() -> None:
    generator = torch.Generator().manual_seed(0)
    values = (torch.rand(3, POINTS, generator=generator) * 2 - 1) * REACH
    logits = dict(zip("PQR", values, strict=True))
    print(f"{'relaxation':24} {'99 of 100':>10} {'largest':>10}")
    for name in rs.relaxation_names():
        each = [errors(rule, name, logits) for rule in RULES]
        usual = max(float(error.quantile(0.99)) for error in each)
        largest = max(float(error.max()) for error in each)
        print(f"{name:24} {usual:10.1e} {largest:10.1e}")
    print(f"\n{'relaxation':24} {'gradients':>10} {'wrong':>10}")
    every_wrong = []
    with ProcessPoolExecutor(initializer=torch.set_num_threads, initargs=(1,)) as processes:
        found = processes.map(compare_gradients, GRADIENTS)
        for name, (count, wrong) in zip(GRADIENTS, found, strict=True):
            every_wrong += wrong
            print(f"{name:24} {count:10} {len(wrong):10}", flush=True)
    if every_wrong:
        sys.exit("\n".join(every_wrong))


if __name__ == "__main__":
    main()
