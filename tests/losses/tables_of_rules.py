"""Rules whose groundings are a table, and what breaks each grounding."""

from __future__ import annotations

import torch

import residuum as rs

DOMAINS = {"d": 16, "e": 20, "six": 6, "two": 2}
PREDICATES = {
    "P": ("d",), "Q": ("d",), "S": ("d",), "Wide": ("e",), "Given": ("two", "d"), "Sure": (),
    "A": ("six",), "B": ("six",), "C": ("six",),
}  # fmt: skip
D, E = torch.arange(16), torch.arange(20)
SIX = torch.arange(6)


def ab(x, y):
    return x[:, :, None], y[:, None, :]


def sums(size):
    return (D[:, None] + torch.arange(size)) % 16


# Of each rule the literals that break it when they are true, as tables: batch × classes.
RULES = {
    "forall a, b in d: P(a) & Q(b) -> S((a + b) mod 16)": lambda t: (
        *ab(t["P"], t["Q"]), 1 - t["S"][:, sums(16)]),
    "forall b, a in d: P(a) & Q(b) -> S((a + b) mod 16)": lambda t: (
        *ab(t["P"], t["Q"]), 1 - t["S"][:, sums(16)]),
    "forall a, b in d: P(a) & Q(b) -> ~S((a + b) mod 16)": lambda t: (
        *ab(t["P"], t["Q"]), t["S"][:, sums(16)]),
    "forall a, b in d: P(a) & Q(b) -> S((a * b) mod 16)": lambda t: (
        *ab(t["P"], t["Q"]), 1 - t["S"][:, D[:, None] * D % 16]),
    "forall a, b in d: P(a) & Q(b) -> S(a)": lambda t: (
        *ab(t["P"], t["Q"]), 1 - t["S"][:, :, None]),
    "forall a, b in d: P(a) & P(b) -> S((a + b) mod 16)": lambda t: (
        *ab(t["P"], t["P"]), 1 - t["S"][:, sums(16)]),
    "forall a, b in d: Sure & P(a) & ~Q(a) & Q(b) -> S((a + b) mod 16)": lambda t: (
        t["Sure"][:, None, None], t["P"][:, :, None], 1 - t["Q"][:, :, None], t["Q"][:, None, :],
        1 - t["S"][:, sums(16)]),
    "forall a in d, b in e: P(a) & Wide(b) -> S((a + b) mod 16)": lambda t: (
        *ab(t["P"], t["Wide"]), 1 - t["S"][:, sums(20)]),
    "forall a, b in d: Given(1, a) & Given(0, b) -> Given(1, (a + b) mod 16)": lambda t: (
        *ab(t["Given"][:, 1], t["Given"][:, 0]), 1 - t["Given"][:, 1][:, sums(16)]),
    "forall a, b, c in six: A(a) & B(b) & C(c) -> A((a + b + c) mod 6)": lambda t: (
        t["A"][:, :, None, None], t["B"][:, None, :, None], t["C"][:, None, None, :],
        1 - t["A"][:, (SIX[:, None, None] + SIX[:, None] + SIX) % 6]),
}  # fmt: skip


def compiled(text, name, **options):
    formula = rs.parse(text)
    used = {
        node.predicate for node in rs.logic.distinct_nodes(formula) if isinstance(node, rs.Atom)
    }
    known = {one: domains for one, domains in PREDICATES.items() if one in used}
    return rs.compile(text, name, domains=DOMAINS, predicates=known, **options, reduction="none")


def logits_for(rule, kind, dtype=torch.float64):
    """Return logits of 60 examples; the classes of most tie with others where they are whole."""
    source = torch.Generator().manual_seed(3)
    given = {}
    for slot in rule.plan.slots:
        shape = (60, *(len(domain.labels) for domain in slot.domains))
        drawn = 2 * torch.randn(shape, generator=source, dtype=torch.float64)
        if kind == "whole":
            drawn = drawn.round()
        elif kind == "peaked" and shape[1:]:
            drawn.scatter_add_(-1, drawn.argmax(-1, keepdim=True), torch.full_like(drawn, 3.0))
        elif kind == "far":
            drawn *= 2000
        elif kind == "equal":
            drawn *= 0
        given[slot.name] = drawn.to(dtype).requires_grad_()
    return given


def truths_of(given, rule):
    return {
        slot.name: torch.softmax(given[slot.name].double(), -1)
        if slot.domains
        else torch.sigmoid(given[slot.name].double())
        for slot in rule.plan.slots
    }
