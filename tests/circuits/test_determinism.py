"""What is known of determinism: proofs are right, and the test on samples does what it says."""

import random

import pytest

from made_up_circuits import as_nnf, enumerated, random_ddnnf
from residuum.circuits import determinism
from residuum.circuits.circuit import Builder
from residuum.circuits.determinism import check_deterministic, undecided_sums
from residuum.circuits.loading import load_circuit
from residuum.errors import CircuitError


def random_circuit(rng, sizes):
    """Sums of products of leaves, deterministic or not."""
    build = Builder(sizes, 1000)

    def node(depth, variables):
        if depth == 0 or len(variables) < 2:
            return build.leaf(variables[0], rng.randrange(sizes[variables[0]]))
        if rng.random() < 0.5:
            return build.sum([node(depth - 1, variables) for _ in range(rng.randrange(2, 4))])
        return build.product([node(depth - 1, part) for part in (variables[::2], variables[1::2])])

    return build.finish(node(3, list(range(len(sizes)))))


def test_a_circuit_whose_sums_are_all_proven_is_deterministic():
    rng = random.Random(5)
    seen = {True: 0, False: 0}
    for _ in range(1500):
        circuit = random_circuit(rng, [2, 3, 2, 2])
        is_deterministic = set(enumerated(circuit).values()) <= {1}
        seen[is_deterministic] += 1
        assert is_deterministic or undecided_sums(circuit)
        if is_deterministic:
            check_deterministic(circuit)
        else:  # one of at most 24 states has two ways: all samples miss it with (23 / 24)^256
            with pytest.raises(CircuitError, match="two children of a sum"):
                check_deterministic(circuit)
    assert min(seen.values()) > 100


@pytest.mark.parametrize("seed", range(20))
def test_decisions_on_variables_are_proven(seed, tmp_path):
    rng = random.Random(seed)
    (tmp_path / "one.nnf").write_text(as_nnf(random_ddnnf(rng, range(1, 30)), 30))
    assert undecided_sums(load_circuit(tmp_path / "one.nnf")) == []


def test_a_value_excludes_the_other_values_of_its_variable_only():
    build = Builder([3, 3], 100)
    low = build.sum([build.leaf(0, 0), build.leaf(0, 1)])
    proven = build.finish(build.sum([low, build.leaf(0, 2)]))
    assert undecided_sums(proven) == []
    overlapping = build.finish(build.sum([low, build.leaf(1, 2)]))
    assert undecided_sums(overlapping) == [len(overlapping) - 1]


def test_a_wide_sum_is_tested_rather_than_compared_pair_by_pair(monkeypatch):
    build = Builder([100], 1000)
    circuit = build.finish(build.sum([build.leaf(0, value) for value in range(100)]))
    assert undecided_sums(circuit) == [100]
    check_deterministic(circuit)
    monkeypatch.setattr(determinism, "MOST_CHILDREN", 100)
    assert undecided_sums(circuit) == []


def test_drawn_states_are_uniform_over_the_states_that_obey():
    # Two of three variables are equal; the first branch lacks a variable.
    build = Builder([2, 2, 2], 100)
    same = [build.product([build.leaf(0, v), build.leaf(1, v)]) for v in (0, 1)]
    other = [
        build.product([build.leaf(0, v), build.leaf(1, 1 - v), build.leaf(2, 0)]) for v in (0, 1)
    ]
    circuit = build.finish(build.sum([*same, *other]))
    seen = dict.fromkeys(enumerated(circuit), 0)
    random.seed(11)
    for _ in range(60):
        states = determinism._draw(circuit)
        for sample in range(determinism.SAMPLES):
            bits = [states[2 * i + 1] >> sample & 1 for i in range(3)]
            assert [states[2 * i] >> sample & 1 for i in range(3)] == [1 - bit for bit in bits]
            seen[tuple(bits)] += 1
    mean = 60 * determinism.SAMPLES / len(seen)
    assert len(seen) == 6
    assert all(abs(number - mean) < 6 * mean**0.5 for number in seen.values())


def test_circuits_that_nothing_obeys_have_no_samples():
    build = Builder([2, 2], 100)
    check_deterministic(build.finish(build.FALSE))
    check_deterministic(build.finish(build.TRUE))


def test_counts_that_grow_without_bound_are_refused_at_once():
    build = Builder([2, 2], 10**6)
    last, before = build.leaf(0, 0), build.leaf(1, 0)
    for _ in range(50_000):  # Fibonacci's numbers
        last, before = build.sum([last, before]), last
    with pytest.raises(CircuitError, match="two children of a sum"):
        check_deterministic(build.finish(last))
