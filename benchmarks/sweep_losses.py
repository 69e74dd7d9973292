"""How exact compiled losses are, relaxation by relaxation: `make sweep-losses`.

Penalties in single precision are compared with the same rules in double precision, on random
logits; the tests compare the relaxations of the paper with textbook formulas.
"""

from __future__ import annotations

import torch

import residuum as rs

RULES = ("P & Q", "P | Q", "P -> Q", "P & Q -> R", "(P -> Q) | ~R")
POINTS = 20_000
REACH = 14


def errors(rule: str, name: str, logits: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return errors relative to the penalty, or to 1 where it is smaller."""
    compiled = rs.compile(rule, name)
    read = {atom: given for atom, given in logits.items() if atom in rule}
    exact = compiled({atom: given.double() for atom, given in read.items()})
    return (compiled(read).double() - exact).abs() / exact.abs().clamp(min=1)


def main() -> None:
    generator = torch.Generator().manual_seed(0)
    values = (torch.rand(3, POINTS, generator=generator) * 2 - 1) * REACH
    logits = dict(zip("PQR", values, strict=True))
    print(f"{'relaxation':24} {'99 of 100':>10} {'largest':>10}")
    for name in rs.relaxation_names():
        found = [errors(rule, name, logits) for rule in RULES]
        usual = max(float(error.quantile(0.99)) for error in found)
        largest = max(float(error.max()) for error in found)
        print(f"{name:24} {usual:10.1e} {largest:10.1e}")


if __name__ == "__main__":
    main()
