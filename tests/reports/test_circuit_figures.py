"""Pictures of circuits: every node and line is there, nothing overlaps, large ones are refused."""

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.patches import Circle, FancyBboxPatch

from made_up_circuits import as_nnf, random_ddnnf
from residuum.circuits import load_circuit
from residuum.circuits.circuit import Builder, Circuit
from residuum.errors import CircuitError, PictureError
from residuum.reports import draw_circuit, picture
from residuum.reports.circuit_figures import MOST_NODES, _arranged, _marks, _texts


def axes(figure):
    (place,) = figure.axes
    return place


def small_circuits():
    folder = Path(__file__).parents[1] / "circuits" / "data"
    return [load_circuit(folder / name) for name in ("small.nnf", "small.sdd", "small.ddnnf")]


def test_inner_nodes_are_drawn_once_and_leaves_for_each_parent():
    circuit = small_circuits()[0]
    written = Counter(text.get_text() for text in axes(draw_circuit(circuit)).texts)
    assert (written["+"], written["×"]) == (3, 5)
    assert (written["x1"], written["¬x1"], written["¬x5"], written["x4"]) == (1, 1, 2, 1)
    shapes = Counter(type(patch) for patch in axes(draw_circuit(circuit)).patches)
    assert shapes == {Circle: 8, FancyBboxPatch: sum(written.values()) - 8}
    assert len(axes(draw_circuit(circuit)).lines) == len(circuit.children)


def random_circuits(folder):
    rng = random.Random(4)
    for _ in range(40):
        (folder / "one.nnf").write_text(as_nnf(random_ddnnf(rng, range(1, 9)), 9))
        circuit = load_circuit(folder / "one.nnf")
        if len(circuit) <= MOST_NODES:
            yield circuit


def test_marks_of_a_row_do_not_overlap_and_children_lie_below(tmp_path):
    circuits = [*small_circuits(), *random_circuits(tmp_path)]
    assert len(circuits) > 20
    for circuit in circuits:
        for row in _arranged(_marks(circuit, _texts(circuit))):
            for one, other in pairwise(row):
                assert other.x - one.x >= (one.width + other.width) / 2
            for mark in row:
                assert all(child.row == mark.row + 1 for child in mark.below)
                assert all(mark in child.above for child in mark.below)


def test_values_of_larger_variables_and_labels_of_ones_own():
    build = Builder([3, 2], 100)
    circuit = build.finish(build.product([build.leaf(0, 2), build.leaf(1, 0)]))
    assert [text.get_text() for text in axes(draw_circuit(circuit)).texts] == ["×", "x1 = 2", "¬x2"]
    labels = ["red", "green", "a label that is far too long to fit", "off\n$x$", "on"]
    found = [text.get_text() for text in axes(draw_circuit(circuit, labels)).texts]
    assert found == ["×", "a label that is far too…", "off\\n$x$"]
    with pytest.raises(PictureError, match="expected 5 labels, one for each value, found 4"):
        draw_circuit(circuit, labels[:4])


@pytest.mark.parametrize(("name", "text"), [("TRUE", "true"), ("FALSE", "false")])
def test_constants_have_a_picture(name, text):
    build = Builder([2], 10)
    figure = draw_circuit(build.finish(getattr(build, name)))
    assert [one.get_text() for one in axes(figure).texts] == [text]
    leaf = draw_circuit(build.finish(build.leaf(0, 1)))
    assert [one.get_text() for one in axes(leaf).texts] == ["x1"]


def test_the_same_circuit_gives_the_same_bytes():
    circuit = small_circuits()[1]
    for form in ("svg", "png"):
        assert picture(draw_circuit(circuit), form) == picture(draw_circuit(circuit), form)


def test_a_large_circuit_and_a_broken_one_are_refused():
    build = Builder([2] * MOST_NODES, 1000)
    leaves = [build.leaf(i, 1) for i in range(MOST_NODES)]
    with pytest.raises(PictureError, match="at most 60 nodes, found 61"):
        draw_circuit(build.finish(build.product(leaves)))
    draw_circuit(build.finish(build.product(leaves[:-1])))
    one = build.finish(leaves[0])
    with pytest.raises(CircuitError, match="one value or more"):
        draw_circuit(Circuit((0,), one.kinds, one.leaves, one.starts, one.children))
