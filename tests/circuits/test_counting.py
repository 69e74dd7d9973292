"""Counts of models: exact, with weights, and the same as by enumeration."""

import os
import random
from fractions import Fraction
from math import prod
from pathlib import Path

import pytest

from made_up_circuits import as_nnf, enumerated, random_ddnnf
from residuum.circuits.circuit import Builder
from residuum.circuits.counting import count, weighted_count
from residuum.circuits.loading import load_circuit
from residuum.errors import CircuitError

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize("name", ["small.sdd", "small.nnf", "small.ddnnf"])
def test_the_same_formula_has_the_same_count_in_each_format(name):
    def obeys(a, b, c, d, e):
        return (not a or b) and c + d + e == 1 and (a == c or d)

    circuit = load_circuit(DATA / name)
    states = [tuple(state >> i & 1 for i in range(5)) for state in range(32)]
    expected = {state for state in states if obeys(*state)}
    assert set(enumerated(circuit)) == expected
    assert count(circuit) == len(expected) == 6


@pytest.mark.parametrize("seed", range(30))
def test_weights_that_do_not_add_up_to_one_are_counted_exactly(seed, tmp_path):
    rng = random.Random(seed)
    variables = rng.randrange(1, 9)
    (tmp_path / "one.nnf").write_text(as_nnf(random_ddnnf(rng, range(1, variables + 1)), variables))
    circuit = load_circuit(tmp_path / "one.nnf")
    weights = [[Fraction(rng.randrange(-5, 9), 7) for _ in range(2)] for _ in range(variables)]
    expected = sum(
        prod(weights[i][value] for i, value in enumerate(state)) for state in enumerated(circuit)
    )
    assert weighted_count(circuit, weights) == expected


def test_free_variables_count_with_the_sum_of_their_weights():
    build = Builder([2, 3], 10)
    circuit = build.finish(build.leaf(0, 1))
    assert count(circuit) == 3
    assert weighted_count(circuit, [[5, 7], [1, 2, 3]]) == 42
    assert count(build.finish(build.TRUE)) == 6
    assert count(build.finish(build.FALSE)) == 0


def test_counts_are_exact_beyond_the_floats():
    build = Builder([2] * 5_000, 100)
    assert count(build.finish(build.leaf(17, 0))) == 2**4_999


@pytest.mark.parametrize("weights", [[[1, 1]], [[1, 1], [1, 1]], [[1, 1], [1, 1, 1], [1]]])
def test_weights_of_another_shape_are_refused(weights):
    build = Builder([2, 3], 10)
    with pytest.raises(CircuitError, match=r"\[2, 3\] values"):
        weighted_count(build.finish(build.leaf(0, 0)), weights)


def test_a_circuit_that_is_not_decomposable_is_not_counted():
    build = Builder([2, 2], 10)
    root = build.product([build.leaf(0, 0), build.sum([build.leaf(0, 0), build.leaf(1, 0)])])
    with pytest.raises(CircuitError, match="decomposable"):
        count(build.finish(root))


@pytest.fixture
def published():
    """The folder of circuits that others compiled; their counts are known."""
    folder = Path(os.environ.get("RESIDUUM_DATA") or "/nowhere") / "benchmarks" / "requirements"
    if not folder.is_dir():
        pytest.skip("no circuits in RESIDUUM_DATA: benchmarks/requirements")
    return folder


@pytest.mark.parametrize(
    ("name", "expected"), [("road_r", 4_985_868), ("sudoku_4", 288), ("4-grid", 14_248)]
)
def test_published_circuits_have_their_known_counts(published, name, expected):
    assert count(load_circuit(published / f"{name}.sdd")) == expected


@pytest.mark.parametrize("name", ["road_r", "sudoku_4", "4-grid", "seq_fun"])
def test_weighted_counts_of_published_circuits_are_those_of_pysdd(published, name):
    pysdd = pytest.importorskip("pysdd.sdd", reason="PySDD is the oracle, and is not installed")
    path = published / f"{name}.sdd"
    manager = pysdd.SddManager.from_vtree(pysdd.Vtree.from_file(str(path.with_suffix(".vtree"))))
    wmc = manager.read_sdd_file(str(path).encode()).wmc(log_mode=False)
    variables = manager.var_count()
    weights = [[1 - i / (variables + 1), i / (variables + 1)] for i in range(1, variables + 1)]
    for number, (when_false, when_true) in enumerate(weights, 1):
        wmc.set_literal_weight(manager.literal(number), when_true)
        wmc.set_literal_weight(manager.literal(-number), when_false)
    assert weighted_count(load_circuit(path), weights) == pytest.approx(wmc.propagate(), rel=1e-12)
