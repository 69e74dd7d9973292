"""Circuits count what an enumeration of all states counts."""

import random

import numpy as np
import pytest
from ground_formulas import holds, models, random_case, stated

from residuum.circuits import compiling
from residuum.circuits.circuit import Builder, Kind
from residuum.circuits.compiling import compile_circuit
from residuum.circuits.layers import layers_of
from residuum.circuits.propositions import Propositions, members
from residuum.circuits.top_down import OutOfWorkError, compile_top_down
from residuum.errors import CircuitError


def true_in(circuit, states):
    """Return the truth of every node in each state, and how many of its children are true."""
    found = []
    for node in range(len(circuit)):
        below = circuit.children[circuit.starts[node] : circuit.starts[node + 1]]
        if circuit.kinds[node] == Kind.LEAF:
            number = int(circuit.leaves[node])
            variable = max(i for i, start in enumerate(circuit.offsets[:-1]) if start <= number)
            found.append((states[:, variable] == number - circuit.offsets[variable], 0))
        else:
            count = sum((found[child][0].astype(int) for child in below), np.zeros(len(states)))
            is_product = circuit.kinds[node] == Kind.PRODUCT
            found.append((count == len(below) if is_product else count > 0, count))
    return found


def scopes(circuit):
    """Return the set of variables below each node."""
    found = []
    for node in range(len(circuit)):
        below = circuit.children[circuit.starts[node] : circuit.starts[node + 1]]
        if circuit.kinds[node] == Kind.LEAF:
            number = int(circuit.leaves[node])
            found.append({max(i for i, s in enumerate(circuit.offsets[:-1]) if s <= number)})
        else:
            found.append(set().union(*(found[child] for child in below)))
    return found


def assert_is_right(circuit, formula, sizes):
    states = [*np.ndindex(*sizes)]
    nodes = true_in(circuit, np.array(states))
    assert nodes[-1][0].tolist() == [holds(formula, state) for state in states]
    for (_, count), kind in zip(nodes, circuit.kinds, strict=True):
        assert kind != Kind.SUM or np.max(count) <= 1, "two children of a sum are true"
    scope = scopes(circuit)
    for node in np.flatnonzero(circuit.kinds == Kind.PRODUCT):
        below = circuit.children[circuit.starts[node] : circuit.starts[node + 1]]
        assert sum(len(scope[child]) for child in below) == len(scope[node])


@pytest.mark.parametrize("seed", range(100))
def test_every_way_gives_a_deterministic_decomposable_circuit_of_the_formula(seed):
    sizes, formula = random_case(seed, binary=8, categorical=4)
    of = Propositions(sizes)
    root = stated(formula, of)
    assert_is_right(compile_circuit(of, root), formula, sizes)
    if root not in (of.TRUE, of.FALSE):
        for way in compiling._ways(of, root, 1 << 20):
            assert_is_right(way(Builder(sizes, 10**6)), formula, sizes)


@pytest.mark.parametrize("seed", range(300))
def test_negation_and_renumbering_keep_the_models(seed):
    sizes, formula = random_case(seed)
    of = Propositions(sizes)
    root = stated(formula, of)
    is_never, is_always = not models(formula, sizes), not models(("not", formula), sizes)
    assert of.negation(of.negation(root)) == root or is_never or is_always
    order = list(range(len(sizes)))
    random.Random(seed).shuffle(order)
    twin, again = of.translated(root, order)
    back, same = twin.translated(again, [order.index(place) for place in range(len(order))])
    assert back.sizes == of.sizes
    assert len(back.below(same)) == len(of.below(root))


def test_counts_are_small_and_have_few_layers():
    of = Propositions([2] * 100)
    root = of.count_of(0b1111, [of.literal(variable, 0b10) for variable in range(100)])
    circuit = compile_circuit(of, root)
    assert len(circuit) < 2_000
    assert len(layers_of(circuit).layers) < 12


@pytest.mark.parametrize("seed", range(30))
def test_counts_of_formulas_that_share_some_variables_or_none(seed):
    draw = random.Random(seed)
    sizes = tuple(draw.choice([2, 2, 3]) for _ in range(8))
    variables = [*range(8)] if seed % 2 else [draw.randrange(8) for _ in range(8)]
    parts = [("is", v, frozenset({draw.randrange(sizes[v])})) for v in variables]
    if seed % 3:
        parts = [("or", *parts[:2]), *parts[2:5], ("and", *parts[5:])]
    allowed = frozenset(n for n in range(len(parts) + 1) if draw.random() < 0.5)
    formula = "and", ("count", allowed, *parts), ("is", 0, frozenset({0, 1}))
    of = Propositions(sizes)
    assert_is_right(compile_circuit(of, stated(formula, of)), formula, sizes)


def test_a_chain_grows_linearly():
    def edges(length):
        of = Propositions([5] * length)
        pairs = [(i, v) for i in range(length - 1) for v in range(5)]
        rules = [of.any_of([of.literal(i, 31 ^ 1 << v), of.literal(i + 1, 31 ^ 1 << (v + 1) % 5)])
                 for i, v in pairs]  # fmt: skip
        return len(compile_circuit(of, of.all_of(rules)).children)

    assert edges(200) < 2.1 * edges(100)


def test_a_rule_that_is_too_hard_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(compiling, "WORK", (100, 2_000))
    draw = random.Random(1)
    of = Propositions([2] * 60)
    clauses = [
        of.any_of([of.literal(draw.randrange(60), draw.choice([1, 2])) for _ in range(3)])
        for _ in range(200)
    ]
    with pytest.raises(CircuitError, match="2,000 steps"):
        compile_circuit(of, of.all_of(clauses))


def test_the_same_rule_gives_the_same_circuit():
    sizes, formula = random_case(11)
    twins = Propositions(sizes), Propositions(sizes)
    first, second = (compile_circuit(of, stated(formula, of)) for of in twins)
    assert first.children.tolist() == second.children.tolist()
    assert first.leaves.tolist() == second.leaves.tolist()


def test_members_of_a_set_come_in_order():
    assert list(members(0b10110)) == [1, 2, 4]


def test_work_that_is_used_up_is_no_error_of_the_user():
    assert not issubclass(OutOfWorkError, CircuitError)


def test_steps_over_many_variables_count_several_times():
    def needs(variables):
        """Return the least work in which a formula over the first of some variables compiles."""
        for work in range(0, 2_000, 10):
            some = Propositions([2] * variables)
            formula = some.count_of(0b100, [some.literal(one, 0b10) for one in range(8)])
            try:
                compile_top_down(some, formula, Builder(some.sizes, 1_000), work)
            except OutOfWorkError:
                continue
            return work
        raise AssertionError

    few = needs(8)
    assert needs(4_000) == few > 0
    assert needs(9 * 4_096) == pytest.approx(10 * few, abs=100)
