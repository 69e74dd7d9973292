"""The builder of circuits: nodes are shared, constants simplified, sizes limited."""

import pytest

from residuum.circuits.circuit import Builder, Kind
from residuum.errors import CircuitError


def test_equal_nodes_are_one_node_whatever_the_order_of_their_children():
    build = Builder([2, 3], 100)
    one, other = build.leaf(0, 1), build.leaf(1, 2)
    assert build.product([one, other]) == build.product([other, one])
    assert build.leaf(1, 2) == other


def test_constants_are_simplified():
    build = Builder([2, 2], 100)
    leaf = build.leaf(0, 0)
    assert build.product([]) == build.TRUE
    assert build.sum([]) == build.FALSE
    assert build.product([leaf, build.TRUE]) == leaf
    assert build.product([leaf, build.FALSE]) == build.FALSE
    assert build.sum([leaf, build.FALSE]) == leaf


def test_a_finished_circuit_has_children_first_and_only_what_the_root_needs():
    build = Builder([2, 3], 100)
    build.leaf(0, 0)
    root = build.product([build.leaf(0, 1), build.sum(build.leaf(1, value) for value in (0, 2))])
    circuit = build.finish(root)
    assert circuit.offsets == (0, 2, 5)
    assert sorted(circuit.leaves[circuit.kinds == Kind.LEAF].tolist()) == [1, 2, 4]
    assert circuit.kinds[-1] == Kind.PRODUCT
    for node in range(len(circuit)):
        below = circuit.children[circuit.starts[node] : circuit.starts[node + 1]]
        assert all(below < node)


def test_a_circuit_that_grows_beyond_its_limit_is_refused():
    build = Builder([10], 5)
    with pytest.raises(CircuitError, match="at most 5 nodes"):
        build.sum(build.leaf(0, value) for value in range(10))
