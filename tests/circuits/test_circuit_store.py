"""Circuits kept on disk: found again, never believed when damaged, never in the way."""

import hashlib
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from made_up_circuits import as_nnf, random_ddnnf
from residuum.circuits import store
from residuum.circuits.checking import check_structure
from residuum.circuits.circuit import Builder
from residuum.circuits.loading import load_circuit
from residuum.circuits.store import read_circuit, write_circuit
from residuum.errors import CircuitError

DIGESTS = [hashlib.sha256(bytes([number])).hexdigest() for number in range(10)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept" / "circuits"


@pytest.fixture
def circuit():
    build = Builder([2, 3, 5], 100)
    low = build.product([build.leaf(0, 0), build.leaf(1, 2)])
    return build.finish(build.sum([low, build.product([build.leaf(0, 1), build.leaf(2, 4)])]))


def same(one, other):
    return one.sizes == other.sizes and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        and getattr(one, name).dtype == getattr(other, name).dtype
        for name in ("kinds", "leaves", "starts", "children")
    )


def test_a_circuit_is_found_under_its_digest_only(folder, circuit):
    assert read_circuit(DIGESTS[0]) is None
    write_circuit(DIGESTS[0], circuit)
    assert same(read_circuit(DIGESTS[0]), circuit)
    assert read_circuit(DIGESTS[1]) is None
    assert [path.name for path in folder.iterdir()] == [f"{DIGESTS[0]}.circuit"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("seed", range(10))
def test_circuits_of_all_shapes_come_back_as_they_were(seed, tmp_path):
    rng = random.Random(seed)
    (tmp_path / "one.nnf").write_text(as_nnf(random_ddnnf(rng, range(1, 9)), 9))
    circuit = load_circuit(tmp_path / "one.nnf")
    write_circuit(DIGESTS[seed], circuit)
    assert same(read_circuit(DIGESTS[seed]), circuit)


@pytest.mark.usefixtures("folder")
def test_constants_without_variables_come_back_too():
    build = Builder([], 10)
    for digest, root in zip(DIGESTS, (build.TRUE, build.FALSE), strict=False):
        write_circuit(digest, build.finish(root))
        assert same(read_circuit(digest), build.finish(root))


def test_an_empty_variable_means_no_cache(circuit, monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_CACHE", "")
    monkeypatch.chdir(tmp_path)
    write_circuit(DIGESTS[0], circuit)
    assert read_circuit(DIGESTS[0]) is None
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_counts_as_absent_and_is_replaced(folder, circuit):
    write_circuit(DIGESTS[0], circuit)
    path = folder / f"{DIGESTS[0]}.circuit"
    whole = path.read_bytes()
    damaged = [whole[:place] for place in range(len(whole))]
    damaged += [
        whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]
        for place in range(len(whole))
    ]
    damaged += [whole + b"\0", b"\x80\x04K\x01.", os.urandom(1000)]
    for content in damaged:
        path.write_bytes(content)
        assert read_circuit(DIGESTS[0]) is None
    write_circuit(DIGESTS[0], circuit)
    assert same(read_circuit(DIGESTS[0]), circuit)


def test_a_file_under_another_name_counts_as_absent(folder, circuit):
    write_circuit(DIGESTS[0], circuit)
    (folder / f"{DIGESTS[0]}.circuit").rename(folder / f"{DIGESTS[1]}.circuit")
    assert read_circuit(DIGESTS[1]) is None


def test_a_forged_checksum_does_not_carry_a_broken_circuit(folder, circuit):
    body = store._packed(circuit)
    folder.mkdir(parents=True)
    rng = random.Random(2)
    numbers = len(store._FORMAT)
    accepted = 0
    for _ in range(400):
        forged = bytearray(body)
        forged[rng.randrange(numbers, len(body))] = rng.choice((0, 1, 2, 3, 127, 128, 255))
        content = store._checksum(DIGESTS[0], bytes(forged)) + forged
        (folder / f"{DIGESTS[0]}.circuit").write_bytes(content)
        found = read_circuit(DIGESTS[0])
        if found is not None:
            accepted += 1
            check_structure(found)
            assert len(found) == len(circuit)
    assert 0 < accepted < 400


def test_absurd_lengths_are_refused_before_memory_is_taken(folder):
    body = store._FORMAT + np.array([2**31 - 1] * 3, "<i4").tobytes()
    folder.mkdir(parents=True)
    content = store._checksum(DIGESTS[0], body) + body
    (folder / f"{DIGESTS[0]}.circuit").write_bytes(content)
    assert read_circuit(DIGESTS[0]) is None


def test_the_circuits_not_used_for_longest_go_first(folder, circuit, monkeypatch):
    write_circuit(DIGESTS[0], circuit)
    size = (folder / f"{DIGESTS[0]}.circuit").stat().st_size
    monkeypatch.setattr(store, "LARGEST_CACHE", 3 * size)
    for number in range(3):
        write_circuit(DIGESTS[number], circuit)
        os.utime(folder / f"{DIGESTS[number]}.circuit", (number, number))
    read_circuit(DIGESTS[0])  # used now, so that the next one is the oldest
    write_circuit(DIGESTS[3], circuit)
    assert [read_circuit(digest) is not None for digest in DIGESTS[:4]] == [True, False, True, True]


def test_a_circuit_beyond_the_limit_is_not_kept(folder, circuit, monkeypatch):
    monkeypatch.setattr(store, "LARGEST_FILE", 100)
    write_circuit(DIGESTS[0], circuit)
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, circuit, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("RESIDUUM_CACHE", str(tmp_path / "file"))
    write_circuit(DIGESTS[0], circuit)
    assert read_circuit(DIGESTS[0]) is None


def test_a_folder_in_the_place_of_a_file_is_no_error(folder, circuit):
    (folder / f"{DIGESTS[0]}.circuit").mkdir(parents=True)
    write_circuit(DIGESTS[0], circuit)
    assert read_circuit(DIGESTS[0]) is None


@pytest.mark.parametrize("digest", ["", "short", "../" * 20, "A" * 64, "0" * 129, b"0" * 64, None])
def test_what_is_no_digest_is_refused(digest, circuit):
    with pytest.raises(CircuitError, match="hexadecimal"):
        read_circuit(digest)
    with pytest.raises(CircuitError, match="hexadecimal"):
        write_circuit(digest, circuit)


def test_many_writers_and_readers_do_not_meet_half_a_file(folder, circuit):
    build = Builder([2] * 2_000, 10_000)
    large = build.finish(build.product([build.leaf(i, 1) for i in range(2_000)]))

    def work(number):
        write_circuit(DIGESTS[0], large if number % 2 else circuit)
        found = read_circuit(DIGESTS[0])
        return found is not None and (same(found, large) or same(found, circuit))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(200)))
    assert [path.name for path in folder.iterdir()] == [f"{DIGESTS[0]}.circuit"]


@pytest.mark.usefixtures("folder")
def test_another_process_finds_the_circuit(circuit):
    write_circuit(DIGESTS[0], circuit)
    code = f"from residuum.circuits.store import *; print(len(read_circuit('{DIGESTS[0]}')))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == (f"{len(circuit)}\n", "")
