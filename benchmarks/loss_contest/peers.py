"""Two public packages for the benchmark, called as their manuals say, and skipped if missing.

Both are on PyPI: `pip install --target FOLDER LTNtorch pylon-lib astor`, then `PYTHONPATH=FOLDER`.
Their losses differ a little from those of residuum; the notes say how.
"""

from __future__ import annotations

import contextlib
import io
import linecache
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from loss_contest.workloads import (
    CHUNKS,
    Clauses,
    Inputs,
    Penalties,
    SumRule,
    Transitions,
    Workload,
)

LTN_NOTE = "stable mode shifts truth by 1e-4; 1 − mean truth of the batch (minimum in s-godel)"
PYLON_NOTE = "−log truth of each grounding, summed; Gödel and Łukasiewicz too"


# LTNtorch: variables, predicates and guarded quantifiers


def ltn_loss(workload: Workload, relaxation: str) -> Penalties:
    """Return the loss of LTNtorch: one number for the batch."""
    import ltn

    conjoin, imply = {
        "r-product": (ltn.fuzzy_ops.AndProd(), ltn.fuzzy_ops.ImpliesGoguen()),
        "s-product": (ltn.fuzzy_ops.AndProd(), ltn.fuzzy_ops.ImpliesReichenbach()),
        "lukasiewicz-maxsat": (ltn.fuzzy_ops.AndLuk(), ltn.fuzzy_ops.ImpliesLuk()),
        "s-godel": (ltn.fuzzy_ops.AndMin(), ltn.fuzzy_ops.ImpliesKleeneDienes()),
    }[relaxation]
    is_godel = relaxation == "s-godel"
    over_all = ltn.fuzzy_ops.AggregMin() if is_godel else ltn.fuzzy_ops.AggregMean()
    forall = ltn.Quantifier(over_all, quantifier="f")
    both = ltn.Connective(conjoin)
    implies = ltn.Connective(imply)
    denied = ltn.Connective(ltn.fuzzy_ops.NotStandard())
    chosen = ltn.Predicate(func=lambda row, at: row.gather(1, at.long().reshape(-1, 1))[:, 0])

    def sum_rule(inputs: Inputs) -> Tensor:
        classes = inputs["Sum"].shape[-1]
        left, right, total = (
            ltn.Variable(name, given.softmax(-1)) for name, given in inputs.items()
        )
        a, b = (ltn.Variable(name, torch.arange(classes)) for name in "ab")
        holds = ltn.Predicate(
            func=lambda row, a, b: row.gather(1, (a + b).long().reshape(-1, 1) % classes)[:, 0]
        )
        examples = ltn.diag(left, right, total)
        rule = implies(both(chosen(left, a), chosen(right, b)), holds(total, a, b))
        return 1 - forall([*examples, a, b], rule).value

    def transitions(inputs: Inputs) -> Tensor:
        p = inputs["Tag"].softmax(-1)
        first = ltn.Variable("first", p[:, :-1].flatten(0, 1))
        following = ltn.Variable("next", p[:, 1:].flatten(0, 1))
        x, y = (ltn.Variable(name, torch.arange(CHUNKS)) for name in "xy")
        inside = ltn.Predicate(
            func=lambda row, at: row.gather(1, CHUNKS + at.long().reshape(-1, 1))[:, 0]
        )
        truths = []
        for before in (chosen, inside):
            pairs = ltn.diag(first, following)
            rule = implies(before(first, x), denied(inside(following, y)))
            truths.append(
                forall([*pairs, x, y], rule, cond_vars=[x, y],
                       cond_fn=lambda x, y: x.value != y.value).value
            )  # fmt: skip
        return sum(1 - truth for truth in truths)

    def clauses(inputs: Inputs) -> Tensor:
        assert isinstance(workload, Clauses)
        rows = ltn.Variable("row", inputs["Has"].sigmoid())

        def literal(feature: int, affirmed: bool) -> Any:
            atom = chosen(rows, ltn.Constant(torch.tensor([feature])))
            return atom if affirmed else denied(atom)

        truths = []
        for clause in workload.literals():
            *body, head = [literal(*one) for one in clause]
            truths.append(forall(rows, implies(reduce(both, body), head)).value)
        return 1 - torch.stack(truths).mean()

    return _by_kind(workload, sum_rule, transitions, clauses)


# Pylon: one constraint for each grounding, read from its source


def pylon_loss(workload: Workload, relaxation: str) -> Penalties:
    """Return the loss of Pylon: one number for each example."""
    from pylon.tnorm_solver import (
        GodelTNormLogicSolver,
        LukasiewiczTNormLogicSolver,
        ProductTNormLogicSolver,
    )

    if isinstance(workload, SumRule) and workload.classes > 16:
        raise ImportError("Pylon would need one constraint for each of the K² groundings")
    solver = {"lukasiewicz-maxsat": LukasiewiczTNormLogicSolver, "s-godel": GodelTNormLogicSolver}
    make = solver.get(relaxation, ProductTNormLogicSolver)

    def solver_of(body: str, head: str, names: Sequence[str]) -> Any:
        is_residuum = relaxation in ("r-product", "lukasiewicz-maxsat")
        text = f"({body}) <= ({head})" if is_residuum else f"(not ({body})) or ({head})"
        made = make()
        made.set_cond(_condition(names, text))
        return made

    def total(solvers: Sequence[Any], arguments: Callable[[int], Sequence[Tensor]]) -> Tensor:
        with contextlib.redirect_stdout(io.StringIO()):  # Pylon prints each syntax tree
            losses = [
                one.loss(*arguments(number)).squeeze(-1) for number, one in enumerate(solvers)
            ]
        return torch.stack(losses).sum(0)

    if isinstance(workload, SumRule):
        k = workload.classes
        pairs = [
            solver_of(f"left == {a} and right == {b}", f"total == {(a + b) % k}",
                      ("left", "right", "total"))
            for a in range(k) for b in range(k)
        ]  # fmt: skip
        return lambda inputs: total(pairs, lambda _: tuple(inputs.values()))
    if isinstance(workload, Transitions):
        rules = [
            solver_of(f"first == {x + shift}", f"not (following == {CHUNKS + y})",
                      ("first", "following"))
            for shift in (0, CHUNKS) for x in range(CHUNKS) for y in range(CHUNKS) if x != y
        ]  # fmt: skip
        return lambda inputs: total(
            rules, lambda _: (inputs["Tag"][:, :-1], inputs["Tag"][:, 1:])
        ).sum(-1)
    literals = workload.literals()
    clauses = [
        solver_of(
            " and ".join(f"h{feature} == {int(affirmed)}" for feature, affirmed in clause[:-1]),
            f"h{clause[-1][0]} == {int(clause[-1][1])}",
            [f"h{feature}" for feature, _ in clause],
        )
        for clause in literals
    ]

    def sigmoids(inputs: Inputs) -> Tensor:
        both = torch.stack([torch.zeros_like(inputs["Has"]), inputs["Has"]], -1)
        return total(clauses, lambda number: [both[:, f] for f, _ in literals[number]])

    return sigmoids


def _condition(names: Sequence[str], text: str) -> Any:
    """Return a function whose source Pylon can read, as if it were in a file."""
    source = f"def condition({', '.join(names)}):\n    return {text}\n"
    file = f"<{text}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {}
    exec(compile(source, file, "exec"), scope)
    return scope["condition"]


def _by_kind(workload: Workload, sums: Penalties, tags: Penalties, clauses: Penalties) -> Penalties:
    if isinstance(workload, SumRule):
        return sums
    return tags if isinstance(workload, Transitions) else clauses
