"""Large circuits are compiled once: later calls and processes read them from disk."""

import itertools
import operator
import os
import random
import subprocess
import sys

import pytest
from ground_formulas import random_case, stated

from residuum.circuits import compiling
from residuum.circuits.compiling import compile_circuit, digest_of
from residuum.circuits.counting import count
from residuum.circuits.propositions import Propositions
from residuum.circuits.store import write_circuit

# Three colours for the cells of a grid, such that neighbours differ: some 4,400 nodes.
LARGE = """
from residuum.circuits.compiling import compile_circuit
from residuum.circuits.propositions import Propositions
of = Propositions([3] * 36)
pairs = [(a, a + 1) for a in range(36) if a % 6 < 5] + [(a, a + 6) for a in range(30)]
root = of.all_of(
    of.any_of([of.literal(a, 7 ^ 1 << colour), of.literal(b, 7 ^ 1 << colour)])
    for a, b in pairs
    for colour in range(3)
)
"""
SCOPE: dict = {}
exec(LARGE, SCOPE)
OF, ROOT = SCOPE["of"], SCOPE["root"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_CACHE", str(tmp_path))
    return tmp_path / "circuits"


@pytest.fixture
def compiled(monkeypatch):
    """The number of times that a circuit was really compiled is the length of this list."""
    calls = []
    way = compiling._smallest
    monkeypatch.setattr(compiling, "_smallest", lambda *given: calls.append(1) or way(*given))
    return calls


def colourings(width):
    """Return in how many ways the grid can be coloured, row by row."""
    rows = [r for r in itertools.product(range(3), repeat=width)
            if all(a != b for a, b in itertools.pairwise(r))]  # fmt: skip
    ways = dict.fromkeys(rows, 1)
    for _ in range(width - 1):
        ways = {
            row: sum(n for other, n in ways.items() if all(map(operator.ne, row, other)))
            for row in rows
        }
    return sum(ways.values())


@pytest.mark.usefixtures("folder")
def test_the_second_call_reads_the_circuit(compiled):
    first, second = compile_circuit(OF, ROOT), compile_circuit(OF, ROOT)
    assert len(first) >= compiling.WORTH_KEEPING
    assert len(compiled) == 1
    assert first.sizes == second.sizes
    assert first.children.tolist() == second.children.tolist()


def test_another_process_reads_the_circuit(folder, compiled):
    environment = {**os.environ, "RESIDUUM_CACHE": str(folder.parent)}
    code = f"{LARGE}\ncompile_circuit(of, root)"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert count(compile_circuit(OF, ROOT)) == colourings(6)
    assert compiled == []


def test_a_damaged_file_is_replaced(folder, compiled):
    compile_circuit(OF, ROOT)
    [path] = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    compile_circuit(OF, ROOT)
    assert len(compiled) == 2
    assert path.read_bytes() == whole


@pytest.mark.usefixtures("folder")
def test_a_circuit_over_other_variables_is_not_believed(compiled):
    other = Propositions([3])
    write_circuit(digest_of(OF, ROOT), compile_circuit(other, other.literal(0, 0b011)))
    assert compile_circuit(OF, ROOT).sizes == OF.sizes
    assert len(compiled) == 2


def test_small_circuits_are_not_kept(folder, compiled):
    of = Propositions([2] * 10)
    for _ in range(2):
        compile_circuit(of, of.any_of([of.literal(one, 0b10) for one in range(10)]))
    assert len(compiled) == 2
    assert not folder.exists()


def test_without_a_cache_every_call_compiles(compiled, monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_CACHE", "")
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        compile_circuit(OF, ROOT)
    assert len(compiled) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_new_version_of_the_compiler_compiles_again(folder, compiled, monkeypatch):
    compile_circuit(OF, ROOT)
    monkeypatch.setattr(compiling, "VERSION", compiling.VERSION + 1)
    compile_circuit(OF, ROOT)
    assert len(compiled) == 2
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("seed", range(50))
def test_the_digest_depends_on_the_formula_and_not_on_its_numbers(seed):
    sizes, formula = random_case(seed)
    plain, mixed = Propositions(sizes), Propositions(sizes)
    draw = random.Random(seed)
    for _ in range(20):  # other formulas come first, so that numbers and orders differ
        variable = draw.randrange(len(sizes))
        mixed.literal(variable, draw.randrange(1, 1 << sizes[variable]))
    first, second = stated(formula, plain), stated(formula, mixed)
    assert digest_of(plain, first) == digest_of(mixed, second)


def test_different_formulas_have_different_digests():
    found = {}
    for seed in range(300):
        sizes, formula = random_case(seed, binary=4, categorical=3)
        of = Propositions(sizes)
        root = stated(formula, of)
        found.setdefault((tuple(sizes), spelt(of, root)), set()).add(digest_of(of, root))
    assert all(len(own) == 1 for own in found.values())
    assert len({digest for own in found.values() for digest in own}) == len(found) > 100


def spelt(of, formula):
    """Return a formula as nested tuples, with operands in a fixed order."""
    parts = of.parts(formula)
    numbers = of.operands[formula][: len(of.operands[formula]) - len(parts)]
    return int(of.shapes[formula]), numbers, tuple(sorted(spelt(of, part) for part in parts))


def test_the_number_of_values_counts_even_if_the_formula_is_the_same():
    digests = set()
    for size in (3, 4):
        of = Propositions([size, 2])
        digests.add(digest_of(of, of.literal(0, 0b11)))
    assert len(digests) == 2


def test_counts_of_very_many_have_a_digest():
    of = Propositions([2] * 20_000)
    root = of.count_of(1 << 15_000, [of.literal(one, 0b10) for one in range(20_000)])
    assert len(digest_of(of, root)) == 64
