"""Runs go from stores into the archives of their studies, once."""

import json

import pytest

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


def test_what_is_archived_stays_and_only_the_new_is_added(residuum, tmp_path):
    (tmp_path / "kept").mkdir()
    path = tmp_path / "kept" / "digits.jsonl"
    write_archive(path, [record(1, seconds=5.0)])
    store = store_of(tmp_path / "a.sqlite", record(1, seconds=9.0), record(2))
    words = ("archive", store, "--into", str(path.parent), "--json")
    _, out, _ = residuum(*words)
    assert json.loads(out) == [{"archive": str(path), "found": 2, "added": 1, "records": 2}]
    by_seed = {one.configuration["seed"]: one for one in read_archive(path)}
    assert by_seed == {1: record(1, seconds=5.0), 2: record(2)}
    before = path.stat()
    _, out, _ = residuum(*words)
    assert json.loads(out)[0]["added"] == 0
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_ino == before.st_ino


def test_without_a_store_the_usual_one_is_read(residuum, tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_STORE", store_of(tmp_path / "usual.sqlite", record(7)))
    assert residuum("archive")[0] == 0
    assert read_archive(tmp_path / "results" / "digits.jsonl") == [record(7)]


def test_an_empty_store_writes_nothing(residuum, tmp_path):
    code, out, _ = residuum("archive", store_of(tmp_path / "a.sqlite"))
    assert (code, out) == (0, "there are no runs: nothing was written\n")
    assert not (tmp_path / "results").exists()


def test_what_is_no_store_or_no_folder_is_refused(residuum, tmp_path):
    code, _, err = residuum("archive", "missing.sqlite")
    assert (code, "found no file missing.sqlite" in err) == (2, True)
    assert not (tmp_path / "missing.sqlite").exists()
    store = store_of(tmp_path / "a.sqlite", record(1))
    code, _, err = residuum("archive", store, "--into", store)
    assert (code, "no folder for archives" in err) == (2, True)
    outside = store_of(tmp_path / "b.sqlite", record(1, "../outside"))
    code, _, err = residuum("archive", outside, "--into", str(tmp_path / "in"))
    assert (code, "'../outside'" in err) == (2, True)


@pytest.mark.parametrize(
    "name", ["a/b", "..", ".hidden", "a\0b", "a\nb", "\x1b[31m", "x" * 300, "\\\\host\\a", "c:d"]
)
def test_no_study_is_archived_under_a_name_that_is_none_of_a_file(residuum, tmp_path, name):
    store = store_of(tmp_path / "a.sqlite", record(1, "0 sound"), record(1, name))
    code, out, err = residuum("archive", store, "--into", str(tmp_path / "in"))
    assert (code, out) == (2, "")
    assert "expected studies whose names can be those of files" in err
    assert all(one.isprintable() or one == "\n" for one in err)
    assert [*tmp_path.rglob("*.jsonl")] == []


def test_a_broken_archive_is_left_as_it_is(residuum, tmp_path):
    (tmp_path / "results").mkdir()
    path = tmp_path / "results" / "digits.jsonl"
    path.write_text("<<<<<<< HEAD\n")
    code, _, err = residuum("archive", store_of(tmp_path / "a.sqlite", record(1)))
    assert (code, "line 1" in err) == (2, True)
    assert path.read_text() == "<<<<<<< HEAD\n"
