"""Circuits from files: what they say is what comes in, and what is wrong stays out."""

import random
from pathlib import Path

import pytest

from made_up_circuits import (
    FALSE,
    TRUE,
    as_ddnnf,
    as_nnf,
    as_sdd,
    enumerated,
    models,
    random_ddnnf,
    random_vtree,
)
from residuum.circuits.checking import check_decomposable, check_structure
from residuum.circuits.counting import count
from residuum.circuits.loading import load_circuit
from residuum.errors import CircuitError

DATA = Path(__file__).parent / "data"


def written(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def check_all(circuit):
    check_structure(circuit)
    check_decomposable(circuit)


@pytest.mark.parametrize("seed", range(60))
def test_a_ddnnf_has_the_models_of_its_formula_in_both_formats(seed, tmp_path):
    rng = random.Random(seed)
    variables = rng.randrange(1, 9)
    formula = random_ddnnf(rng, range(1, variables + 1))
    expected = dict.fromkeys(models(formula, variables), 1)
    nnf = load_circuit(written(tmp_path, "one.nnf", as_nnf(formula, variables)))
    ddnnf = load_circuit(written(tmp_path, "one.ddnnf", as_ddnnf(formula)), variables=variables)
    for circuit in (nnf, ddnnf):
        check_all(circuit)
        assert circuit.sizes == (2,) * variables
        assert enumerated(circuit) == expected
        assert count(circuit) == len(expected)


@pytest.mark.parametrize("seed", range(40))
def test_an_sdd_has_the_models_it_was_made_from_with_its_vtree_and_without(seed, tmp_path):
    rng = random.Random(seed)
    order = rng.sample(range(1, 7), rng.randrange(1, 7))
    order = [sorted(order).index(variable) + 1 for variable in order]
    width = len(order)
    share = rng.random()
    states = [tuple(state >> i & 1 for i in range(width)) for state in range(2**width)]
    found = {state for state in states if rng.random() < share}
    sdd, vtree = as_sdd(random_vtree(rng, order), found)
    expected = {tuple(model[order.index(i + 1)] for i in range(width)): 1 for model in found}
    path = written(tmp_path, "one.sdd", sdd)
    alone = load_circuit(path, variables=width)
    written(tmp_path, "one.vtree", vtree)
    beside = load_circuit(path)
    named = load_circuit(path, vtree=written(tmp_path, "another.name", vtree))
    for circuit in (alone, beside, named):
        check_all(circuit)
        assert enumerated(circuit) == expected


@pytest.mark.parametrize(("formula", "expected"), [(TRUE, 8), (FALSE, 0)])
def test_constants_are_circuits_too(formula, expected, tmp_path):
    nnf = load_circuit(written(tmp_path, "one.nnf", as_nnf(formula, 3)))
    ddnnf = load_circuit(written(tmp_path, "one.ddnnf", as_ddnnf(formula)), variables=3)
    sdd = load_circuit(
        written(tmp_path, "one.sdd", f"sdd 1\n{formula[0][0].upper()} 7\n"), variables=3
    )
    assert count(nnf) == count(ddnnf) == count(sdd) == expected


def test_line_ends_of_windows_comments_and_blank_lines_change_nothing(tmp_path):
    text = "c a comment\r\n\r\nnnf 3 2 2\r\nL 1\r\n  L\t-2  \r\nc another\r\nA 2 0 1"
    circuit = load_circuit(written(tmp_path, "ONE.NNF", text))
    assert enumerated(circuit) == {(1, 0): 1}


def test_early_files_of_d4_give_the_number_of_children(tmp_path):
    text = "o 1 1 0\na 2 2 0\nt 3 0\n2 3 1 0\n2 3 -2 0\n1 2 0\n"
    assert enumerated(load_circuit(written(tmp_path, "one.ddnnf", text))) == {(1, 0): 1}


def test_shared_children_may_be_declared_before_or_after_their_parents(tmp_path):
    text = "2 4 2 0\n1 2 1 0\nt 4 0\n1 3 -1 0\no 2 0\n3 4 -2 0\no 3 0\no 1 0\n"
    circuit = load_circuit(written(tmp_path, "one.ddnnf", text))
    assert enumerated(circuit) == {(1, 1): 1, (0, 0): 1}


def test_a_very_deep_file_needs_no_recursion(tmp_path):
    deep = 50_000
    nodes = "".join(f"o {number} 0\n" for number in range(1, deep)) + f"t {deep} 0\n"
    edges = "".join(f"{number} {number + 1} 0\n" for number in range(1, deep))
    assert count(load_circuit(written(tmp_path, "one.ddnnf", nodes + edges), variables=3)) == 8


def test_sums_that_no_decision_explains_are_accepted_if_they_are_deterministic(tmp_path):
    # x1 = x2, or x1 != x2 and x3: neither fixes a variable.
    text = (
        "nnf 13 16 3\nL 1\nL -1\nL 2\nL -2\nL 3\nA 2 0 2\nA 2 1 3\nO 1 2 5 6\n"
        "A 2 0 3\nA 2 1 2\nO 1 2 8 9\nA 2 10 4\nO 0 2 7 11\n"
    )
    circuit = load_circuit(written(tmp_path, "one.nnf", text))
    assert count(circuit) == 6


NOT_NNF = {
    "an empty file": ("", "empty file"),
    "only comments": ("c nothing\nc here\n", "empty file"),
    "binary junk": (bytes(range(256)) * 4, "a word and integers"),
    "no header": ("L 1\n", "a header `nnf` with 3 numbers"),
    "a header of another format": ("sdd 1\nT 0\n", "a header `nnf`"),
    "a short header": ("nnf 1 0\nL 1\n", "a header `nnf`"),
    "an absurd number of nodes": ("nnf 999999999999 0 1\nL 1\n", "expected 0 to 2,000,000 nodes"),
    "an absurd number of variables": ("nnf 1 0 999999999999\nL 1\n", "1,000,000 variables"),
    "negative variables": ("nnf 1 0 -5\nL 1\n", "variables, found -5"),
    "a number of 19 digits": ("nnf 1 0 1\nL 1000000000000000000\n", "a word and integers"),
    "digits that are no ASCII": ("nnf 1 0 1\nL ١\n", "a word and integers"),
    "an underscore": ("nnf 1 0 11\nL 1_1\n", "a word and integers"),
    "a plus": ("nnf 1 0 1\nL +1\n", "a word and integers"),
    "a fraction": ("nnf 1 0 1\nL 1.0\n", "a word and integers"),
    "an unknown word": ("nnf 1 0 1\nX 1\n", "`L literal`"),
    "fewer nodes than announced": ("nnf 4 2 2\nL 1\nL 2\nA 2 0 1\n", "expected 4 nodes, as the h"),
    "more nodes than announced": ("nnf 2 2 2\nL 1\nL 2\nA 2 0 1\n", "expected 2 nodes, as the h"),
    "other edges than announced": ("nnf 3 5 2\nL 1\nL 2\nA 2 0 1\n", "expected 5 edges"),
    "no nodes": ("nnf 0 0 2\n", "one node or more"),
    "literal 0": ("nnf 1 0 2\nL 0\n", "line 2: expected a variable from 1 to 2"),
    "a variable out of range": ("nnf 1 0 2\nL -3\n", "found -3"),
    "a node below itself": ("nnf 2 1 1\nL 1\nA 1 1\n", "the nodes before, found 1"),
    "a cycle": ("nnf 3 2 1\nL 1\nA 1 2\nA 1 1\n", "line 3: expected children from 0 to 0"),
    "a child that does not exist": ("nnf 2 1 1\nL 1\nA 1 9\n", "found 9"),
    "a negative child": ("nnf 2 1 1\nL 1\nA 1 -1\n", "found -1"),
    "fewer children than said": ("nnf 2 1 1\nL 1\nA 2 0\n", "line 3: expected `L literal`"),
    "a sum without its variable": ("nnf 2 1 1\nL 1\nO\n", "line 3: expected `L literal`"),
    "a product that repeats a variable": (
        "nnf 6 6 2\nL 1\nL 2\nA 2 0 1\nL -1\nO 0 2 3 0\nA 2 2 0\n", "depend on variable 1",
    ),
    "a sum of all of two variables": ("nnf 3 2 2\nL 1\nL 2\nO 0 2 0 1\n", "deterministic"),
    "a sum that overlaps below": (
        "nnf 5 4 3\nL 1\nL 2\nO 0 2 0 1\nL 3\nA 2 2 3\n", "deterministic",
    ),
    "true or any value": ("nnf 5 4 1\nA 0\nL 1\nL -1\nO 1 2 1 2\nO 0 2 0 3\n", "deterministic"),
    "true or a literal": ("nnf 3 2 1\nA 0\nL 1\nO 0 2 0 1\n", "deterministic"),
}  # fmt: skip

NOT_DDNNF = {
    "an unknown word": ("q 1 0\n", "an edge"),
    "a node without a number": ("o 0\n", "line 1: expected `o node 0`"),
    "node 0": ("o 0 0\n", "from 1"),
    "a node twice": ("t 1 0\nt 1 0\n", "a new number"),
    "a line without its 0": ("o 1\n", "`o node 0`"),
    "a node without its 0": ("o 1 5\n", "0 at the end"),
    "an edge without its 0": ("o 1 0\nt 2 0\n1 2 1\n", "an edge `node child"),
    "an edge to nowhere": ("o 1 0\nt 2 0\n1 3 0\n", "line 3: expected nodes that a line declares"),
    "an edge from nowhere": ("o 1 0\nt 2 0\n1 2 0\n5 2 0\n", "found 5"),
    "a literal 0": ("o 1 0\nt 2 0\n1 2 0 0\n", "a variable from 1"),
    "a sum without edges": ("o 1 0\nt 2 0\n", "line 1: expected edges from `o`"),
    "an edge from true": ("o 1 0\nt 2 0\nt 3 0\n1 2 0\n2 3 0\n", "none from `t`"),
    "two roots": ("o 1 0\no 2 0\nt 3 0\n1 3 1 0\n2 3 2 0\n", "the root, found 2"),
    "a cycle with a root": ("o 1 0\no 2 0\no 3 0\n1 2 0\n2 3 0\n3 2 0\n", "without cycles"),
    "a cycle without a root": ("o 1 0\no 2 0\n1 2 0\n2 1 0\n", "the root, found 0"),
    "a node below itself": ("o 1 0\no 2 0\n1 2 0\n2 2 0\n", "without cycles"),
    "another number of children": ("o 1 2 0\nt 2 0\n1 2 0\n", "expected 2 edges, found 1"),
    "an absurd variable": ("o 1 0\nt 2 0\n1 2 99999999999 0\n", "1,000,000 variables"),
    "a branch that overlaps": ("o 1 0\nt 2 0\n1 2 1 0\n1 2 2 0\n", "deterministic"),
    "a product that overlaps": ("a 1 0\nt 2 0\n1 2 1 0\n1 2 -1 0\n", "depend on variable 1"),
}

NOT_SDD = {
    "an absurd number of nodes": ("sdd 99999999999\nT 0\n", "0 to 2,000,000 nodes"),
    "fewer nodes than announced": ("sdd 2\nT 0\n", "expected 2 nodes"),
    "a node twice": ("sdd 2\nT 0\nF 0\n", "a new number"),
    "no nodes": ("sdd 0\n", "one node or more"),
    "a decision without pairs": ("sdd 1\nD 0 1 0\n", "`T node`"),
    "half a pair": ("sdd 2\nL 1 0 1\nD 0 1 1 1\n", "`T node`"),
    "a child that comes later": ("sdd 3\nL 1 0 1\nD 0 1 1 1 2\nT 2\n", "lines before this one"),
    "a literal at another variable": ("sdd 1\nL 0 2 1\n", "the variable of its node in the vtree"),
    "a literal at an inner node": ("sdd 1\nL 0 1 1\n", "a leaf of the vtree"),
    "a literal nowhere": ("sdd 1\nL 0 9 1\n", "a leaf of the vtree, found 9"),
    "a variable that the vtree lacks": ("sdd 1\nL 0 0 3\n", "a variable from 1 to 2"),
    "a literal that is cut off": ("sdd 1\nL\n", "`T node`"),
    "primes that leave states out": ("sdd 4\nL 1 0 1\nL 2 2 2\nD 3 1 1 1 2\nT 4\n", "exactly one"),
    "primes that overlap": (
        "sdd 4\nL 1 0 1\nT 2\nL 3 2 2\nD 0 1 2 1 3 2 3\n", "exactly one holds in each state",
    ),
    "a prime on the right": (
        "sdd 5\nL 1 0 1\nL 2 2 2\nL 3 2 -2\nF 4\nD 0 1 2 2 1 3 4\n", "primes to the left",
    ),
    "a decision at a leaf": ("sdd 4\nL 1 0 1\nL 2 0 -1\nT 3\nD 0 0 2 1 3 2 3\n", "an inner node"),
}  # fmt: skip

NOT_VTREE = {
    "no header": ("L 0 1\n", "a header `vtree` with 1 number"),
    "a node twice": ("vtree 2\nL 0 1\nL 0 2\n", "a new number"),
    "fewer nodes than announced": ("vtree 5\nL 0 1\n", "expected 5 nodes"),
    "two roots": ("vtree 2\nL 0 1\nL 1 2\n", "the root, found 2"),
    "no nodes": ("vtree 0\n", "the root, found 0"),
    "a child that comes later": ("vtree 3\nL 0 1\nI 1 0 2\nL 2 2\n", "before this one"),
    "a child twice": ("vtree 2\nL 0 1\nI 1 0 0\n", "no children yet, found 0, 0"),
    "a child of two nodes": ("vtree 5\nL 0 1\nL 2 2\nI 1 0 2\nL 3 3\nI 4 3 0\n", "no children yet"),
    "a variable twice": ("vtree 3\nL 0 1\nL 2 1\nI 1 0 2\n", "each variable in one leaf"),
    "variables with a gap": ("vtree 3\nL 0 1\nL 2 5\nI 1 0 2\n", "a variable from 1 to 2"),
    "a negative variable": ("vtree 3\nL 0 1\nL 2 -2\nI 1 0 2\n", "each variable in one leaf"),
    "another word": ("vtree 1\nD 0 1\n", "`L node variable`"),
}


@pytest.mark.parametrize(("text", "words"), NOT_NNF.values(), ids=NOT_NNF.keys())
def test_what_is_no_nnf_file_is_refused_in_words(text, words, tmp_path):
    with pytest.raises(CircuitError) as caught:
        load_circuit(written(tmp_path, "one.nnf", text))
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'one.nnf'}: ")


@pytest.mark.parametrize(("text", "words"), NOT_DDNNF.values(), ids=NOT_DDNNF.keys())
def test_what_is_no_ddnnf_file_is_refused_in_words(text, words, tmp_path):
    with pytest.raises(CircuitError) as caught:
        load_circuit(written(tmp_path, "one.ddnnf", text))
    assert words in str(caught.value)


@pytest.mark.parametrize(("text", "words"), NOT_SDD.values(), ids=NOT_SDD.keys())
def test_what_is_no_sdd_file_is_refused_in_words(text, words, tmp_path):
    written(tmp_path, "one.vtree", "vtree 3\nL 0 1\nL 2 2\nI 1 0 2\n")
    with pytest.raises(CircuitError) as caught:
        load_circuit(written(tmp_path, "one.sdd", text))
    assert words in str(caught.value)


@pytest.mark.parametrize(("text", "words"), NOT_VTREE.values(), ids=NOT_VTREE.keys())
def test_what_is_no_vtree_file_is_refused_in_words(text, words, tmp_path):
    vtree = written(tmp_path, "one.vtree", text)
    with pytest.raises(CircuitError) as caught:
        load_circuit(written(tmp_path, "one.sdd", "sdd 1\nL 0 0 1\n"), vtree=vtree)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{vtree}: ")


@pytest.mark.parametrize("name", ["one.nnf", "one.ddnnf", "one.sdd"])
def test_a_file_that_is_cut_off_is_refused_wherever_it_is_cut(name, tmp_path):
    rng = random.Random(3)
    formula = random_ddnnf(rng, range(1, 7))
    states = sorted(models(formula, 6))
    text = {
        "one.nnf": as_nnf(formula, 6),
        "one.ddnnf": as_ddnnf(formula),
        "one.sdd": as_sdd(((1, 2), ((3, 4), (5, 6))), states)[0],
    }[name]
    lines = text.splitlines(keepends=True)
    assert len(lines) > 10
    for number in range(len(lines)):
        with pytest.raises(CircuitError):
            load_circuit(written(tmp_path, name, "".join(lines[:number])))


@pytest.mark.parametrize("name", ["small.nnf", "small.ddnnf", "small.sdd", "small.vtree"])
def test_a_damaged_file_is_refused_or_still_a_circuit(name, tmp_path):
    rng = random.Random(7)
    files = {path.name: path.read_bytes() for path in DATA.iterdir()}
    accepted = 0
    for _ in range(100):
        damaged = bytearray(files[name])
        for _ in range(rng.randrange(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.choice(b"0123456789 -\nLAODTFoatf\x00\xff")
        for one, content in (files | {name: bytes(damaged)}).items():
            written(tmp_path, one, content)
        try:
            circuit = load_circuit(tmp_path / name.replace(".vtree", ".sdd"))
        except CircuitError:
            continue
        accepted += 1
        check_all(circuit)
        if len(circuit.sizes) <= 8:
            assert set(enumerated(circuit).values()) <= {1}
    assert accepted < 100


def test_files_that_cannot_be_read_are_refused_in_words(tmp_path):
    for path, words in [
        (tmp_path / "none.nnf", "No such file"),
        (tmp_path / "one.txt", ".sdd, .nnf or .ddnnf"),
        (tmp_path, ".sdd, .nnf or .ddnnf"),
        ("zero\0byte.nnf", "null byte"),
        (7, "expected the path"),
    ]:
        with pytest.raises(CircuitError, match=words):
            load_circuit(path)
    (tmp_path / "folder.nnf").mkdir()
    with pytest.raises(CircuitError, match="directory"):
        load_circuit(tmp_path / "folder.nnf")
    with pytest.raises(CircuitError, match="No such file"):
        load_circuit(written(tmp_path, "one.sdd", "sdd 1\nT 0\n"), vtree=tmp_path / "none.vtree")


def test_files_beyond_the_limits_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("residuum.circuits.formats.lines.LARGEST_FILE", 10)
    with pytest.raises(CircuitError, match="at most 10 bytes"):
        load_circuit(written(tmp_path, "one.nnf", "nnf 1 0 1\nL 1\n"))
    monkeypatch.undo()
    monkeypatch.setattr("residuum.circuits.formats.lines.MOST_WORDS", 5)
    with pytest.raises(CircuitError, match="5 words"):
        load_circuit(written(tmp_path, "one.nnf", "nnf 1 0 1\nL 1\n"))


def test_fewer_variables_than_the_file_mentions_are_refused(tmp_path):
    path = written(tmp_path, "one.ddnnf", "o 1 0\nt 2 0\n1 2 5 0\n")
    assert load_circuit(path).sizes == (2,) * 5
    assert load_circuit(path, variables=7).sizes == (2,) * 7
    with pytest.raises(CircuitError, match="from 1 to 4"):
        load_circuit(path, variables=4)
