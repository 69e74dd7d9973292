"""Where numbers break: inputs at and beyond the edges, formulas, and relaxations."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from residuum.relaxations import Relaxation, relaxation, relaxation_names

PAPER = ("s-product", "r-product", "s-godel", "r-godel", "lukasiewicz", "lukasiewicz-maxsat")
EXTREME = [
    f"{prefix}-{family}({value})"
    for prefix in "sr"
    for family, values in {
        "hamacher": ("0", "1e-9", ".5", "1e9"),
        "frank": ("1e-9", ".5", "1e300"),
        "yager": (".3", "100"),
        "dombi": (".3", "100"),
        "aczel-alsina": (".3", "100"),
        "schweizer-sklar": ("-100", "-.5", ".5", "100"),
        "sugeno-weber": ("-.999", "1e9"),
    }.items()
    for value in values
]
LOGICS: list[Relaxation] = [relaxation(name) for name in (*relaxation_names(), *EXTREME)]

FORMULAS = (
    "P & Q & ~R",
    "P -> Q | R",
    "(P & Q -> P) & ~(P <-> ~Q) & (P | ~R)",
    "(P -> Q) -> R",
)
FORMS = ("probs", "log_probs", "logits")
WIDE = (torch.float64, torch.float32)
HALF = (torch.bfloat16, torch.float16)


def corners(form: str, dtype: torch.dtype) -> Tensor:
    """Return single inputs at the edges of what a form and a dtype can hold."""
    info = torch.finfo(dtype)
    if form == "probs":
        denormal = info.tiny * info.eps
        values = [0, 1, 0.5, info.tiny, denormal, 1 - info.eps / 2, 0.3]
    elif form == "log_probs":
        values = [0, -torch.inf, -info.tiny, -info.eps, -0.7, -100, -info.max]
    else:
        values = [0, -torch.inf, 30, -30, 100, -100, -1e4, info.max, -info.max]
        values += [] if dtype == torch.float16 else [-1e30]
    return torch.tensor(values, dtype=dtype)


def triples(form: str, dtype: torch.dtype) -> dict[str, Tensor]:
    """Return all triples of corners, as leaves for P, Q and R."""
    edge = corners(form, dtype)
    columns = torch.tensor(list(itertools.product(edge.tolist(), repeat=3)), dtype=dtype).T
    return {
        name: column.clone().requires_grad_() for name, column in zip("PQR", columns, strict=True)
    }


def read_by(text: str, leaves: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return those leaves that a formula mentions."""
    return {name: leaf for name, leaf in leaves.items() if name in text}
