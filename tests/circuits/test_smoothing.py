"""Smooth circuits: the same states, sums whose children mention the same, and little growth."""

import math
import random

import pytest

from made_up_circuits import as_nnf, enumerated, random_ddnnf
from residuum.circuits.circuit import Builder
from residuum.circuits.loading import load_circuit
from residuum.circuits.smoothing import smoothed
from residuum.errors import CircuitError


def is_smooth(circuit):
    """By definition, with sets."""
    values = [i for i, size in enumerate(circuit.sizes) for _ in range(size)]
    below = []
    for node, kind in enumerate(circuit.kinds):
        children = circuit.children[circuit.starts[node] : circuit.starts[node + 1]]
        mine = {values[circuit.leaves[node]]} if kind == 0 else set()
        below.append(mine.union(*(below[child] for child in children)))
        if kind == 2 and any(below[child] != below[-1] for child in children):
            return False
    return True


@pytest.mark.parametrize("seed", range(40))
def test_a_smooth_circuit_has_the_same_states(seed, tmp_path):
    rng = random.Random(1000 + seed)
    variables = rng.randrange(2, 9)
    (tmp_path / "one.nnf").write_text(as_nnf(random_ddnnf(rng, range(1, variables + 1)), variables))
    circuit = load_circuit(tmp_path / "one.nnf")
    smooth = smoothed(circuit)
    assert is_smooth(smooth)
    assert enumerated(smooth) == enumerated(circuit)


def test_variables_with_many_values_are_missing_as_a_whole():
    build = Builder([2, 3, 1, 4], 100)
    root = build.sum([build.leaf(0, 0), build.product([build.leaf(0, 1), build.leaf(1, 2)])])
    smooth = smoothed(build.finish(root))
    assert is_smooth(smooth)
    assert not is_smooth(build.finish(root))
    assert len(enumerated(smooth)) == 4 * (3 + 1)


@pytest.mark.parametrize("name", ["TRUE", "FALSE"])
def test_constants_are_smooth_already(name):
    build = Builder([2, 2], 10)
    circuit = build.finish(getattr(build, name))
    assert enumerated(smoothed(circuit)) == enumerated(circuit)


def test_a_long_chain_grows_by_a_logarithm_not_by_a_square():
    # The first variable that is 1 decides, and all later ones are missing.
    variables = 2_000
    build = Builder([2] * variables, 10**6)
    root = build.FALSE
    for variable in reversed(range(variables)):
        rest = build.product([build.leaf(variable, 0), root])
        root = build.sum([build.leaf(variable, 1), rest])
    circuit = build.finish(root)
    smooth = smoothed(circuit)
    assert len(smooth) < (5 + math.log2(variables)) * variables
    assert is_smooth(smooth)


def test_a_circuit_that_grows_too_large_is_refused():
    build = Builder([2] * 50, 100)
    root = build.sum([build.leaf(0, 0), build.product([build.leaf(i, 1) for i in range(50)])])
    with pytest.raises(
        CircuitError, match="at most 60 nodes, and this one needs more to be smooth"
    ):
        smoothed(build.finish(root), most_nodes=60)
