"""Where records are looked for: the usual store and archives, or one store alone."""

import pytest

from made_up_runs import run
from residuum.errors import RecordError
from residuum.results import Store, find_records, write_archive

ONE, TWO, THREE = (run("r-product", seed, 90) for seed in (0, 20, 50))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RESIDUUM_STORE", str(tmp_path / "usual.sqlite"))
    return tmp_path


def seeds(records):
    return sorted(record.configuration["seed"] for record in records)


def fill(path, *records):
    with Store(path) as store:
        for record in records:
            store.add(record)


def test_the_usual_store_and_the_archives_are_merged(folder):
    fill(folder / "usual.sqlite", ONE)
    (folder / "results").mkdir()
    write_archive(folder / "results" / "a.jsonl", [ONE, TWO])
    write_archive(folder / "results" / "b.jsonl", [THREE])
    assert seeds(find_records()) == [0, 20, 50]
    assert seeds(find_records(studies=["digits"])) == [0, 20, 50]
    assert find_records(studies=["digits-tuning"]) == []


def test_a_store_that_is_named_counts_alone(folder):
    fill(folder / "usual.sqlite", ONE)
    fill(folder / "other.sqlite", TWO)
    (folder / "results").mkdir()
    write_archive(folder / "results" / "a.jsonl", [THREE])
    assert seeds(find_records(folder / "other.sqlite")) == [20]


def test_nothing_anywhere_is_no_record_and_makes_no_file(folder):
    assert find_records() == []
    assert list(folder.iterdir()) == []


def test_a_named_store_that_is_not_there_is_refused_and_not_made(folder):
    with pytest.raises(RecordError, match=r"there is no store .*missing\.sqlite"):
        find_records(folder / "missing.sqlite")
    assert list(folder.iterdir()) == []


def test_users_without_a_place_for_a_store_still_have_archives(folder, monkeypatch):
    monkeypatch.setenv("RESIDUUM_STORE", "")
    (folder / "results").mkdir()
    write_archive(folder / "results" / "a.jsonl", [ONE])
    assert seeds(find_records()) == [0]
