"""Checks of circuits: each promise of `Circuit` is kept or named in words."""

from dataclasses import replace

import numpy as np
import pytest

from residuum.circuits import checking
from residuum.circuits.checking import check_decomposable, check_structure, scopes
from residuum.circuits.circuit import Builder, Circuit
from residuum.errors import CircuitError


@pytest.fixture
def circuit():
    """x0 = 1 and x1 = 2, or x0 = 0: nodes leaf, leaf, leaf, product, sum."""
    build = Builder([2, 3], 100)
    return build.finish(
        build.sum([build.product([build.leaf(0, 1), build.leaf(1, 2)]), build.leaf(0, 0)])
    )


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


BROKEN = {
    "no nodes": (
        lambda c: replace(c, kinds=c.kinds[:0], leaves=c.leaves[:0], starts=c.starts[:1]),
        "a start for each node",
    ),
    "too few leaves": (lambda c: replace(c, leaves=c.leaves[1:]), "a leaf and a start"),
    "too few starts": (lambda c: replace(c, starts=c.starts[:-1]), "a leaf and a start"),
    "an unknown kind": (lambda c: replace(c, kinds=changed(c.kinds, 3, 3)), "another kind"),
    "a negative kind": (lambda c: replace(c, kinds=changed(c.kinds, 3, -1)), "another kind"),
    "a value too large": (lambda c: replace(c, leaves=changed(c.leaves, 0, 5)), "5 values"),
    "a negative value": (lambda c: replace(c, leaves=changed(c.leaves, 0, -1)), "5 values"),
    "a product with a value": (lambda c: replace(c, leaves=changed(c.leaves, -1, 0)), "−1"),
    "a node below itself": (lambda c: replace(c, children=changed(c.children, -1, 4)), "after"),
    "a child beyond the end": (lambda c: replace(c, children=changed(c.children, 0, 99)), "after"),
    "a negative child": (lambda c: replace(c, children=changed(c.children, 0, -1)), "after its"),
    "a child twice": (lambda c: replace(c, children=changed(c.children, 0, 1)), "child twice"),
    "starts that fall": (lambda c: replace(c, starts=changed(c.starts, 1, 9)), "to rise"),
    "a first start of 1": (lambda c: replace(c, starts=changed(c.starts, 0, 1)), "to rise"),
    "too many children": (lambda c: replace(c, children=np.append(c.children, 0)), "to rise"),
    "a variable without values": (lambda c: replace(c, sizes=(2, 0)), "one value or more"),
    "another type": (lambda c: replace(c, children=c.children.astype(float)), "another type"),
    "another shape": (lambda c: replace(c, leaves=c.leaves[None]), "another shape"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "words"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_structure_is_refused_in_words(circuit, change, words):
    check_structure(circuit)
    with pytest.raises(CircuitError, match=words):
        check_structure(change(circuit))


def test_a_leaf_has_no_children(circuit):
    with pytest.raises(CircuitError, match="leaves without children"):
        check_structure(replace(circuit, kinds=changed(circuit.kinds, 2, 0)))


def test_scopes_are_the_variables_below_each_node(circuit):
    assert sorted(scopes(circuit)) == [0b01, 0b01, 0b10, 0b11, 0b11]


def test_a_product_that_repeats_a_variable_is_not_decomposable():
    build = Builder([2, 2], 100)
    either = build.sum([build.leaf(0, 0), build.leaf(1, 1)])
    check_decomposable(build.finish(either))
    with pytest.raises(CircuitError, match="variable 2;"):
        check_decomposable(build.finish(build.product([either, build.leaf(1, 0)])))


def test_variables_below_nodes_that_need_too_much_memory_are_refused(circuit, monkeypatch):
    monkeypatch.setattr(checking, "MOST_BITS", 9)
    with pytest.raises(CircuitError, match="at most 9 nodes times variables"):
        scopes(circuit)


def test_a_circuit_without_variables_is_one():
    build = Builder([], 10)
    for constant in (build.TRUE, build.FALSE):
        circuit = build.finish(constant)
        check_structure(circuit)
        check_decomposable(circuit)
        assert isinstance(circuit, Circuit)
        assert scopes(circuit) == [0]
