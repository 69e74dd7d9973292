"""The workloads of the benchmark: rules, their input tensors, and residuum's loss for them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, final

import torch
from torch import Tensor

import residuum as rs

RELAXATIONS = ("r-product", "s-product", "lukasiewicz-maxsat", "s-godel")
CHUNKS = 11
FEATURES = 41

Inputs = dict[str, Tensor]
Penalties = Callable[[Inputs], Tensor]
Literals = tuple[tuple[int, bool], ...]


def _logits(names: tuple[str, ...], shape: tuple[int, ...], *, device: str, favour: float
            ) -> Inputs:  # fmt: skip
    """Return random logits; one class of each softmax is favoured, so that rules are violated."""
    source = torch.Generator().manual_seed(0)
    inputs = {}
    for name in names:
        drawn = 2 * torch.randn(shape, generator=source)
        chosen = torch.randint(shape[-1], (*shape[:-1], 1), generator=source)
        drawn.scatter_add_(-1, chosen, torch.full(chosen.shape, favour))
        inputs[name] = drawn.to(device).requires_grad_()
    return inputs


def _towards_half(classes: int) -> float:
    """Return the increase of a logit that gives its class a probability of about ½."""
    return math.log(classes) + 2


@final
@dataclass(frozen=True)
class SumRule:
    """The rule that two classes add up to a third, modulo the number of classes."""

    batch: int
    classes: int

    @property
    def name(self) -> str:
        return f"sum rule, K = {self.classes}, batch {self.batch:,}"

    def inputs(self, device: str) -> Inputs:
        return _logits(("Left", "Right", "Sum"), (self.batch, self.classes), device=device,
                       favour=_towards_half(self.classes))  # fmt: skip

    def compile(self, relaxation: str) -> Penalties:
        text = f"forall a, b in k: Left(a) & Right(b) -> Sum((a + b) mod {self.classes})"
        return rs.compile(text, relaxation, domains={"k": self.classes}, reduction="none")


@final
@dataclass(frozen=True)
class Transitions:
    """Two rules of BIO tagging: a chunk of one type does not continue as another type."""

    sentences: int
    tokens: int

    @property
    def name(self) -> str:
        return f"BIO transitions, {self.sentences} × {self.tokens} × {2 * CHUNKS + 1}"

    def inputs(self, device: str) -> Inputs:
        tags = 2 * CHUNKS + 1
        return _logits(("Tag",), (self.sentences, self.tokens, tags), device=device,
                       favour=_towards_half(tags))  # fmt: skip

    def compile(self, relaxation: str) -> Penalties:
        types = [f"T{n}" for n in range(CHUNKS)]
        tags = [f'"{place}-{kind}"' for place in "BI" for kind in types]
        functions = "\n".join(
            f"function {name}(chunk): tag = "
            + ", ".join(f'{kind}: "{letter}-{kind}"' for kind in types)
            for name, letter in (("begin", "B"), ("inside", "I"))
        )
        rules = "\n".join(
            f"rule after_{name}: forall i in position, X, Y in chunk where X != Y:"
            f" Tag(i, {name}(X)) -> ~Tag(i + 1, inside(Y))"
            for name in ("begin", "inside")
        )
        knowledge = rs.loads(
            f"domain chunk = {', '.join(types)}\ndomain tag = {', '.join(tags)}, O\n"
            f"domain position sequence\n{functions}\npredicate Tag(position, tag)\n{rules}"
        )
        return _together(rs.compile(knowledge, relaxation, reduction="none"))


@final
@dataclass(frozen=True)
class Clauses:
    """Random implications of 3 to 5 literals over sigmoids.

    They are one formula, or one rule each. Rules give a penalty by name, or one total.
    """

    batch: int
    count: int
    form: Literal["one formula", "a knowledge", "a knowledge's total"]

    @property
    def name(self) -> str:
        return f"{self.count} clauses as {self.form}, batch {self.batch:,}"

    def inputs(self, device: str) -> Inputs:
        return _logits(("Has",), (self.batch, FEATURES), device=device, favour=0.0)

    def literals(self) -> list[Literals]:
        """Return the literals of each clause, (feature, is it affirmed); the last is the head."""
        draw = random.Random(0)
        return [
            tuple(
                (feature, draw.random() < 0.5)
                for feature in draw.sample(range(FEATURES), draw.randint(3, 5))
            )
            for _ in range(self.count)
        ]

    def compile(self, relaxation: str) -> Penalties:
        texts = [_implication(literals) for literals in self.literals()]
        declared = f"domain feature = 0..{FEATURES - 1}\npredicate Has(feature) independent\n"
        if self.form == "one formula":
            formula = rs.And(*(rs.parse(text) for text in texts))
            known = rs.loads(declared)
            return rs.compile(formula, relaxation, knowledge=known, reduction="none")
        rules = "\n".join(f"rule r{number}: {text}" for number, text in enumerate(texts))
        knowledge = rs.compile(rs.loads(declared + rules), relaxation, reduction="none")
        if self.form == "a knowledge":
            return _together(knowledge)
        return lambda inputs: knowledge.total(inputs, combine="sum")


Workload = SumRule | Transitions | Clauses


def _implication(literals: Literals) -> str:
    *body, head = [f"{'' if affirmed else '~'}Has({feature})" for feature, affirmed in literals]
    return f"{' & '.join(body)} -> {head}"


def _together(knowledge: rs.CompiledKnowledge) -> Penalties:
    return lambda inputs: knowledge.penalties(inputs).sum(0)


FULL: tuple[Workload, ...] = (
    *(SumRule(batch, 10) for batch in (64, 1_024, 8_192)),
    Transitions(32, 40),
    Clauses(1_024, 200, "one formula"),
    Clauses(1_024, 200, "a knowledge"),
    Clauses(1_024, 200, "a knowledge's total"),
    *(SumRule(16, classes) for classes in (100, 300)),
)
QUICK: tuple[Workload, ...] = (
    SumRule(8, 10),
    Transitions(2, 5),
    Clauses(4, 10, "one formula"),
    Clauses(4, 10, "a knowledge"),
    Clauses(4, 10, "a knowledge's total"),
    SumRule(2, 12),
)
