"""Rules about members of open domains cost what nested loops say, and have their gradients."""

from __future__ import annotations

import re

import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from relational_rules import (
    DECLARED,
    FUNCTIONS,
    LINKS,
    OPEN,
    PREDICATES,
    SHAPES,
    SIZES,
    Loops,
    rules,
)
from torch import nn

import residuum as rs
from residuum.errors import GroundingError
from residuum.losses.routes import thresholds

RELAXATIONS = st.sampled_from(["s-product", "r-product", "lukasiewicz", "s-godel"])
OBSERVED = {name: rs.Pairs(torch.tensor(pairs).T) for name, (*_, pairs) in LINKS.items()}


def tables(seed):
    """Random degrees, away from 0 and 1, of each predicate; those of `Feels` add up to 1."""
    made = torch.Generator().manual_seed(seed)
    found = {
        name: 0.05 + 0.9 * torch.rand(shape, generator=made, dtype=torch.float64)
        for name, shape in SHAPES.items()
    }
    found["Feels"] = found["Feels"] / found["Feels"].sum(-1, keepdim=True)
    return {name: one.requires_grad_() for name, one in found.items()}


class Table(nn.Module):
    """A network that looks its outputs up, for members whose features are one-hot."""

    def __init__(self, table, count):
        super().__init__()
        self.table, self.count = nn.Parameter(table.detach().clone()), count

    def forward(self, *members):
        if not self.count:
            return self.table.reshape(1)
        return self.table[tuple(one.argmax(-1) for one in members)]


def read_by(rule):
    return {atom.predicate for atom in rs.atoms_of(rule)}


def expected(rule, name, degrees):
    """Return the mean penalty over rows, and its gradients."""
    rows = Loops(name, degrees).rows(rule)
    assume(rows)
    total = torch.stack(rows).mean()
    assume(bool(total.isfinite()) and bool(total < 20))
    names = sorted(read_by(rule) & set(degrees))
    found = [None] * len(names)
    if total.requires_grad:
        found = torch.autograd.grad(total, [degrees[n] for n in names], allow_unused=True)
    return total.detach(), {
        n: torch.zeros_like(degrees[n]) if one is None else one
        for n, one in zip(names, found, strict=True)
    }


def assert_alike(found, expected, name):
    for key, one in expected.items():
        if key == "Feels" and name in ("lukasiewicz", "s-godel"):
            continue  # probabilities that add up to 1 meet where these logics have a kink
        other = torch.zeros_like(one) if found[key] is None else found[key]
        # Equal degrees share the gradient of a minimum, each in its own way: compare the sums.
        if name == "s-godel":
            one, other = one.sum(), other.sum()
        torch.testing.assert_close(other, one, rtol=1e-6, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(rules(), RELAXATIONS, st.integers(0, 3))
def test_a_compiled_rule_costs_what_loops_say(rule, name, seed):
    degrees = tables(seed)
    value, gradients = expected(rule, name, degrees)
    names = read_by(rule)
    compiled = or_rejected(
        rs.compile,
        rule,
        name,
        domains={"person": "open", "place": "open", "mood": 2},
        predicates={
            n: d
            for n, d in (PREDICATES | {n: one[:2] for n, one in LINKS.items()}).items()
            if n in names
        },
        functions={n: values for n, (_, _, values) in FUNCTIONS.items()},
        inputs="probs",
    )
    assume(compiled.plan.relation is not None)  # others are about the examples of a batch
    given_tables = {n: degrees[n] for n in names if n in degrees}
    found = or_rejected(
        compiled, given_tables, observed={n: OBSERVED[n] for n in names if n in OBSERVED}
    )
    torch.testing.assert_close(found, value)
    if found.requires_grad:
        found.backward()
    assert_alike({n: degrees[n].grad for n in gradients}, gradients, name)


def or_rejected(build, *arguments, **options):
    """Return what is built; a rule with a variable that no atom reads is no example."""
    try:
        return build(*arguments, **options)
    except GroundingError as error:
        assume(not re.search("no atom reads|among its domains|no tensor shows", str(error)))
        raise


def domains_of(rule):
    found = {binding.domain for node in rs.logic.quantifiers_of(rule) for binding in node.bindings}
    return found & set(OPEN)


@settings(max_examples=60, deadline=None)
@given(rules(), RELAXATIONS, st.integers(0, 3), st.sampled_from([1 << 16, 5]))
def test_a_theory_costs_what_loops_say_also_in_blocks(rule, name, seed, block):
    degrees = tables(seed)
    value, gradients = expected(rule, name, degrees)
    knowledge = rs.loads(DECLARED + str(rule))
    networks = {
        n: Table(degrees[n], len(PREDICATES[n])) for n in sorted(read_by(rule) & set(PREDICATES))
    }
    networks = {n: one if n != "Feels" else Table(degrees[n], 1) for n, one in networks.items()}
    members = {n: torch.eye(SIZES[n], dtype=torch.float64) for n in OPEN}
    functions = {n: torch.tensor(values) for n, (_, _, values) in FUNCTIONS.items()}
    used = str(rule)
    before, thresholds.ROWS = thresholds.ROWS, block
    try:
        theory = or_rejected(rs.Theory, knowledge, relaxation=name, inputs="probs", **networks)
        assume(theory._rules().related)
        given_tensors = {
            **members,
            **{n: one for n, one in functions.items() if n in used},
            **({"Raining": torch.zeros(1)} if "Raining" in networks else {}),
        }
        atoms = [PREDICATES[n] for n in read_by(rule) if n in PREDICATES]
        wanted = {*domains_of(rule), *(one for domains in atoms for one in domains)}
        wanted |= {n for n in (*FUNCTIONS, "Raining") if n in used}
        found = theory(
            observed={n: one for n, one in OBSERVED.items() if n in read_by(rule)},
            **{n: one for n, one in given_tensors.items() if n in wanted},
        ).parts["said"]
        torch.testing.assert_close(found, value, check_dtype=False)
        if found.requires_grad:
            found.backward()
    finally:
        thresholds.ROWS = before
    assert_alike({n: networks[n].table.grad for n in gradients}, gradients, name)


def test_compiled_knowledge_reads_tables_and_reduces_each_rule():
    knowledge = rs.loads("""
        domain person
        predicate Smokes(person) predicate Friends(person, person) predicate Link(person, person)
        rule symmetric: forall x, y in person where x < y: Friends(x, y) -> Friends(y, x)
        rule influence weight 2: forall x, y in person where Link(x, y):
            Friends(x, y) & Smokes(x) -> Smokes(y)
        rule plain: forall x in person: Smokes(x)
    """)
    f, s = torch.rand(4, 4), torch.rand(4)
    edges = [(0, 1), (2, 3), (1, 0)]
    given = {"Friends": f, "Smokes": s}
    rules = rs.compile(knowledge, "s-product", inputs="probs")
    link = {"Link": rs.Pairs(torch.tensor(edges).T)}
    symmetric = [-torch.log(1 - f[x, y] * (1 - f[y, x])) for x in range(4) for y in range(x + 1, 4)]
    influence = [-torch.log(1 - f[x, y] * s[x] * (1 - s[y])) for x, y in edges]
    expected = {
        "symmetric": torch.stack(symmetric).mean(),
        "influence": torch.stack(influence).mean(),
        "plain": -s.log().mean(),
    }
    torch.testing.assert_close(rules(given, observed=link), expected)
    total = expected["symmetric"] + 2 * expected["influence"] + expected["plain"]
    torch.testing.assert_close(rules.total(given, observed=link), total)
    assert rules.satisfied(given, observed=link)["influence"].shape == (3,)
    assert "symmetric" in rules.explain(given, observed=link)


def test_observed_outputs_are_certain_and_others_are_read():
    rule = rs.compile(
        "forall x, y in person: Friends(x, y) -> Friends(y, x)",
        "s-product",
        domains={"person": "open"},
        inputs="probs",
        reduction="none",
    )
    f = torch.tensor([[0.1, 0.6], [0.3, 0.9]])
    labels = torch.tensor([[-100, 1], [-100, 0]])
    found = rule(Friends=f, observed={"Friends": labels}).reshape(2, 2)
    expected = [[1 - 0.1 * 0.9, 0.3], [1.0, 1.0]]
    torch.testing.assert_close(found, -torch.tensor(expected).log())
    pairs = rule(observed={"Friends": rs.Pairs([[0, 1], [1, 0]])}, Friends=f)
    assert pairs.abs().max() < 1e-6
