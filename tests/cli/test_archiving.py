"""Runs go from stores into the archives of their studies, once."""

import json
import sqlite3
import sys
from contextlib import closing

import pytest

from residuum.printable import printable
from residuum.results import Record, Store, read_archive, write_archive


def record(seed, study="digits", **others):
    return Record(study=study, scheme=1, configuration={"seed": seed}, **others)


def store_of(path, *records):
    with Store(path) as store:
        for one in records:
            store.add(one)
    return str(path)


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RESIDUUM_STORE", raising=False)


def test_each_run_goes_into_the_archive_of_its_study(residuum, tmp_path):
    first = store_of(tmp_path / "a.sqlite", record(1), record(2), record(1, "other"))
    second = store_of(tmp_path / "b.sqlite", record(2), record(3))
    code, out, _ = residuum("archive", first, second)
    assert code == 0
    assert "digits.jsonl: 3 of 3 runs are new, 3 there now" in out
    found = read_archive(tmp_path / "results" / "digits.jsonl")
    assert sorted(one.configuration["seed"] for one in found) == [1, 2, 3]
    assert read_archive(tmp_path / "results" / "other.jsonl") == [record(1, "other")]


def test_archived_runs_stay_and_only_new_ones_are_added(residuum, tmp_path):
    (tmp_path / "kept").mkdir()
    path = tmp_path / "kept" / "digits.jsonl"
    write_archive(path, [record(1, seconds=5.0)])
    store = store_of(tmp_path / "a.sqlite", record(1, seconds=9.0), record(2))
    words = ("archive", store, "--into", str(path.parent), "--json")
    _, out, _ = residuum(*words)
    assert json.loads(out) == [
        {"archive": str(path), "found": 2, "added": 1, "records": 2, "unverified": 0}
    ]
    by_seed = {one.configuration["seed"]: one for one in read_archive(path)}
    assert by_seed == {1: record(1, seconds=5.0), 2: record(2)}
    before = path.stat()
    _, out, _ = residuum(*words)
    assert json.loads(out)[0]["added"] == 0
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_ino == before.st_ino


def test_without_a_store_the_default_store_is_read(residuum, tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_STORE", store_of(tmp_path / "usual.sqlite", record(7)))
    assert residuum("archive")[0] == 0
    assert read_archive(tmp_path / "results" / "digits.jsonl") == [record(7)]


def test_an_empty_store_writes_nothing(residuum, tmp_path):
    code, out, _ = residuum("archive", store_of(tmp_path / "a.sqlite"))
    assert (code, "no runs" in out) == (0, True)
    assert not (tmp_path / "results").exists()


def test_a_missing_store_and_an_impossible_folder_are_refused(residuum, tmp_path):
    code, _, err = residuum("archive", "missing.sqlite")
    assert (code, "found no file missing.sqlite" in err) == (2, True)
    code, _, err = residuum("archive", str(tmp_path))
    assert (code, f"found a folder {tmp_path}" in err) == (2, True)
    assert not (tmp_path / "missing.sqlite").exists()
    store = store_of(tmp_path / "a.sqlite", record(1))
    code, _, err = residuum("archive", store, "--into", store)
    assert (code, f"--into: the folder {store} cannot be made" in err) == (2, True)
    outside = store_of(tmp_path / "b.sqlite", record(1, "../outside"))
    code, _, err = residuum("archive", outside, "--into", str(tmp_path / "in"))
    assert (code, "'../outside'" in err) == (2, True)


def test_a_broken_archive_is_left_as_it_is(residuum, tmp_path):
    (tmp_path / "results").mkdir()
    path = tmp_path / "results" / "digits.jsonl"
    path.write_text("<<<<<<< HEAD\n")
    code, _, err = residuum("archive", store_of(tmp_path / "a.sqlite", record(1)))
    assert (code, "line 1" in err) == (2, True)
    assert path.read_text() == "<<<<<<< HEAD\n"


def test_damaged_records_are_named_and_left_out(residuum, tmp_path):
    store = store_of(tmp_path / "a.sqlite", record(1), record(2), record(3))
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("UPDATE runs SET study = 'none' WHERE id = ?", [record(2).id])
    code, out, err = residuum("archive", store)
    assert (code, "2 of 2 runs are new" in out) == (2, True)
    assert f"a.sqlite, run {record(2).id}: " in err
    assert "were left out. All others are archived" in err
    found = read_archive(tmp_path / "results" / "digits.jsonl")
    assert sorted(one.configuration["seed"] for one in found) == [1, 3]


def test_runs_without_a_checksum_are_counted_and_stay_without(residuum, tmp_path):
    (tmp_path / "results").mkdir()
    path = tmp_path / "results" / "digits.jsonl"
    write_archive(path, [record(1, is_verified=False), record(2, is_verified=False)])
    before = path.read_bytes().splitlines()
    _, out, _ = residuum("archive", store_of(tmp_path / "a.sqlite", record(1), record(3)))
    assert "1 of 2 runs are new, 3 there now, 2 of them without a checksum" in out
    assert set(before) < set(path.read_bytes().splitlines())


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31mred", "x" * 300, "caf\udce9", "-"])
def test_a_store_that_is_not_there_is_refused_whatever_its_name(residuum, name):
    code, out, err = residuum("archive", "--", name)
    assert (code, out) == (2, "")
    assert f"expected a store of runs, found no file {printable(name)}" in err
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform != "linux", reason="names are any bytes on Linux alone")
@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31mred", "caf\udce9", "-dash", "--into"])
def test_stores_and_folders_of_odd_names_are_used(residuum, tmp_path, name):
    store_of(tmp_path / name, record(1))
    words = ("archive", "--into", f"{name} folder", "--", name, name)  # twice is once
    code, out, _ = residuum(*words)
    assert (code, "1 of 1 runs are new, 1 there now" in out) == (0, True)
    assert out.count("\n") == 1
    assert "\x1b" not in out
    assert read_archive(tmp_path / f"{name} folder" / "digits.jsonl") == [record(1)]


@pytest.mark.parametrize(
    "study", ["two\nlines", "\x1b[31mred", "..", ".hidden", "-dash", "a/b", "a\\b", "\0", "é" * 130]
)
def test_a_study_name_that_no_file_can_have_is_refused_before_writing(residuum, tmp_path, study):
    store = store_of(tmp_path / "a.sqlite", record(1, "before"), record(1, study))
    code, out, err = residuum("archive", store)
    assert (code, out) == (2, "")
    assert f"found {study!a}" in err
    assert "Traceback" not in err
    assert list((tmp_path / "results").glob("*")) == []
