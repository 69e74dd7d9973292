"""What other packages make of the clauses, called as their manuals say.

LTNtorch's loss is 1 − the mean degree of the clauses. PiShield's layer corrects predictions until
they obey: its loss here is their sum, so that all of it is differentiated. KLay evaluates the
circuit that PySDD compiles of the clauses.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from requirement_contest.clauses import read_clauses, width

ORDERING = "degree"
"""The order in which PiShield's layer corrects labels: one of those that it computes itself."""


def ltn(file: Path, logic: str) -> Callable[[Tensor], Tensor]:
    import ltn

    operators = ltn.fuzzy_ops
    either = ltn.Connective(
        {
            "product": operators.OrProbSum,
            "lukasiewicz": operators.OrLuk,
            "godel": operators.OrMax,
        }[logic]()
    )
    denied = ltn.Connective(operators.NotStandard())
    forall = ltn.Quantifier(operators.AggregMean(), quantifier="f")
    has = ltn.Predicate(func=lambda row, at: row.gather(1, at.long().reshape(-1, 1))[:, 0])
    labels = [ltn.Constant(torch.tensor([label])) for label in range(width(read_clauses(file)))]

    def loss(given: Tensor) -> Tensor:
        rows = ltn.Variable("row", given.sigmoid())

        def literal(label: int, affirmed: bool) -> Any:
            atom = has(rows, labels[label])
            return atom if affirmed else denied(atom)

        degrees = [
            forall(rows, reduce(either, [literal(*one) for one in clause])).value
            for clause in read_clauses(file)
        ]
        return 1 - torch.stack(degrees).mean()

    return loss


def pishield(file: Path, logic: str) -> Callable[[Tensor], Tensor]:  # noqa: ARG001
    from pishield.shield_layer import build_shield_layer

    with contextlib.redirect_stdout(io.StringIO()):  # it prints how it makes its strata
        layer = build_shield_layer(
            width(read_clauses(file)), str(file), ORDERING, requirements_type="propositional"
        )
    return lambda given: layer(given.sigmoid()).sum(1).mean()


def klay(file: Path, logic: str, *, is_real: bool = False) -> Callable[[Tensor], Tensor]:  # noqa: ARG001
    from klay import Circuit
    from pysdd.sdd import SddManager

    circuit = Circuit()
    clauses = read_clauses(file)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        cnf, sdd = Path(folder) / "clauses.cnf", Path(folder) / "clauses.sdd"
        lines = [" ".join(str(n + 1 if yes else -n - 1) for n, yes in one) for one in clauses]
        header = f"p cnf {width(clauses)} {len(clauses)}"
        cnf.write_text("\n".join([header, *(f"{line} 0" for line in lines)]), encoding="utf-8")
        _, found = SddManager.from_cnf_file(bytes(cnf))
        found.save(bytes(sdd))
        circuit.add_sdd_from_file(str(sdd), [], [])
    module = circuit.to_torch_module(semiring="real" if is_real else "log", compile=False)
    if is_real:
        return lambda given: -module(given.sigmoid(), (-given).sigmoid())[:, 0].log().mean()
    return lambda given: -module(logsigmoid(given), logsigmoid(-given))[:, 0].mean()


def klay_real(file: Path, logic: str) -> Callable[[Tensor], Tensor]:
    return klay(file, logic, is_real=True)


CONTENDERS = {"LTNtorch": ltn, "PiShield's layer": pishield, "KLay": klay, "KLay, real": klay_real}


def make(contender: str, file: Path, logic: str) -> Callable[[Tensor], Tensor]:
    """Return the loss of a contender as a function of logits."""
    return CONTENDERS[contender](file, logic)
