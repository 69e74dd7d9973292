"""Damage to a store or an archive is noticed, the damaged runs are named, the others are read."""

import dataclasses
import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from residuum.errors import RecordError
from residuum.results import Curve, Record, Store, find_records, read_archive, write_archive
from residuum.results.encoding import from_line, to_line

ARCHIVES = Path(__file__).parents[2] / "results"


def made(seed, study="digits"):
    return Record(
        study,
        1,
        {"relaxation": "r-product", "seed": seed},
        measures={"Digit": 97.5, "Sum": float("nan")},
        curves={"loss": Curve([1, 2], [0.5, float("inf")])},
        outcomes={"Sum": np.arange(100) % 7 > 0, "chunks": np.arange(9, dtype=np.uint8)},
        seconds=1.5,
        environment={"device": "cpu"},
    )


RECORDS = sorted((made(seed) for seed in range(3)), key=lambda record: record.id)
FIRST, SECOND, THIRD = (record.id for record in RECORDS)


@pytest.fixture
def path(tmp_path):
    with Store(tmp_path / "runs.sqlite") as kept:
        for record in RECORDS:
            kept.add(record)
    return tmp_path / "runs.sqlite"


def change(path, statement, *values):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement, values)


def seen(path):
    """Return all that a reader can get from a store of `RECORDS`."""
    with Store(path) as kept:
        return [
            list(kept),
            list(kept.records("digits")),
            list(kept.records(seed=1)),
            [kept.get(run) for run in (FIRST, SECOND, THIRD) if run in kept],
        ]


def flipped(content, bit):
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


# Stores


@pytest.mark.parametrize("log", ["DELETE", "WAL"])
def test_a_flipped_bit_of_a_store_changes_nothing_or_is_noticed(path, log):
    change(path, f"PRAGMA journal_mode = {log}")
    content, expected = path.read_bytes(), seen(path)
    used = [place for place, byte in enumerate(content) if byte]  # the rest is free space
    chance = random.Random(20)
    noticed = 0
    for _ in range(100):
        path.write_bytes(flipped(content, 8 * chance.choice(used) + chance.randrange(8)))
        try:
            assert seen(path) == expected
        except RecordError:
            noticed += 1
    assert noticed > 80


@pytest.mark.parametrize(
    "assignment",
    [
        "study = 'digitt'",
        "study = CAST('digits' AS BLOB)",
        "configuration = replace(configuration, 'r-p', 's-p')",
        "configuration = '{'",
        "configuration = X'FF'",
        "line = replace(line, '97.5', '97.4')",
        "line = replace(line, '97.5', '1e999')",
        "line = replace(line, 'Digit', 'Difit')",
        "line = replace(line, '\"checksum\"', '\"checksun\"')",
        "line = substr(line, 1, 50)",
        "line = CAST(X'7BFF7D' AS TEXT)",
        "line = X'7B7D'",
        "line = 3",
        "line = ''",
    ],
)
def test_a_damaged_row_is_named_however_it_is_asked_for(path, assignment):
    change(path, f"UPDATE runs SET {assignment} WHERE id = ?", SECOND)
    with Store(path) as kept:
        for ask in (
            lambda: kept.get(SECOND),
            lambda: SECOND in kept,
            lambda: list(kept),
            lambda: list(kept.records("digits")),
            lambda: list(kept.records("chunking", relaxation="r-godel")),
        ):
            with pytest.raises(RecordError, match=rf"runs\.sqlite, run {SECOND}: [^\n]*\n.*forget"):
                ask()
        assert kept.get(FIRST) == RECORDS[0]
        assert THIRD in kept


def test_an_id_that_differs_from_the_one_in_the_index_is_noticed(path):
    content = path.read_bytes()
    places = [place for place in range(len(content)) if content.startswith(SECOND.encode(), place)]
    assert len(places) == 3  # of the column, of the line, of the index
    for place in places:
        path.write_bytes(flipped(content, 8 * place))
        with pytest.raises(RecordError, match=f"damaged|run {SECOND}: this is no record"):
            seen(path)


def test_a_record_under_the_id_of_another_is_noticed(path):
    change(path, "UPDATE runs SET id = 'feed' WHERE id = ?", SECOND)
    with Store(path) as kept, pytest.raises(RecordError, match=r"run feed: .*of another record"):
        list(kept)


@pytest.mark.parametrize("word", ["runs", "study", "TEXT PRIMARY", "NOT NULL, line"])
def test_a_store_with_a_damaged_table_definition_is_refused(path, word):
    content = path.read_bytes()
    place = content.index(word.encode(), content.index(b"CREATE TABLE"))
    path.write_bytes(flipped(content, 8 * place))
    with pytest.raises(RecordError, match="damaged"):
        Store(path)


def test_all_damaged_runs_are_named_at_once_and_the_others_are_read(path):
    change(path, "UPDATE runs SET line = '{}' WHERE id <> ?", SECOND)
    errors = []
    with Store(path) as kept:
        with pytest.raises(
            RecordError, match=rf"(?s)run {FIRST}: .*run {THIRD}: .*archive.*forget"
        ):
            list(kept)
        assert list(kept.records(on_damage=errors.append)) == [RECORDS[1]]
    assert [type(error) for error in errors] == [RecordError, RecordError]
    assert find_records(path, on_damage=errors.append) == [RECORDS[1]]
    assert len(errors) == 4


def test_ten_of_many_damaged_runs_are_named(path):
    with Store(path) as kept:
        for seed in range(3, 20):
            kept.add(made(seed))
    change(path, "UPDATE runs SET study = 'none'")
    with Store(path) as kept, pytest.raises(RecordError, match="… and 10 more") as caught:
        list(kept)
    assert str(caught.value).count(", run ") == 10


def test_a_damaged_run_can_be_forgotten_and_made_again(path):
    change(path, "UPDATE runs SET study = 'none' WHERE id = ?", SECOND)
    with Store(path) as kept:
        kept.forget(SECOND)
        assert SECOND not in kept
        assert kept.add(RECORDS[1])
        assert list(kept) == RECORDS
        with pytest.raises(RecordError, match="'feed'"):
            kept.forget("feed")


# Archives


def test_a_flipped_bit_of_an_archive_changes_nothing_or_is_noticed(tmp_path):
    path = tmp_path / "runs.jsonl"
    write_archive(path, RECORDS)
    content = path.read_bytes()
    chance = random.Random(20)
    noticed = 0
    for _ in range(400):
        path.write_bytes(flipped(content, chance.randrange(8 * len(content))))
        try:
            assert read_archive(path) == RECORDS
        except RecordError:
            noticed += 1
    assert noticed > 390


def test_damaged_lines_are_named_and_the_others_are_read(tmp_path, monkeypatch):
    path = tmp_path / "results" / "runs.jsonl"
    path.parent.mkdir()
    write_archive(path, RECORDS)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0].replace(b"97.5", b"97.6"), lines[1], b"<<<<<<<\n"]))
    with pytest.raises(RecordError, match=r"(?s)line 1: .*checksum.*line 3: .*delete these lines"):
        read_archive(path)
    errors = []
    assert read_archive(path, errors.append) == [RECORDS[1]]
    monkeypatch.chdir(tmp_path)
    assert find_records(on_damage=errors.append) == [RECORDS[1]]
    assert len(errors) == 4


def test_the_checksum_heeds_neither_the_order_of_keys_nor_space():
    content = json.loads(to_line(RECORDS[0]))
    line = json.dumps(dict(reversed(content.items())), indent=1).replace("\n", " ")
    assert from_line(line) == RECORDS[0]


# Records of older versions


def test_records_without_a_checksum_are_read_and_marked(tmp_path, path):
    older = dataclasses.replace(RECORDS[1], is_verified=False)
    change(path, "UPDATE runs SET line = ? WHERE id = ?", to_line(older), SECOND)
    with Store(path) as kept:
        assert list(kept) == RECORDS  # it does not count when records are compared
        assert [record.is_verified for record in kept] == [True, False, True]
        write_archive(tmp_path / "runs.jsonl", kept)
    found = read_archive(tmp_path / "runs.jsonl")
    assert [record.is_verified for record in found] == [True, False, True]


def test_a_line_without_a_checksum_stays_as_it_is_when_it_is_written_again():
    older = to_line(dataclasses.replace(RECORDS[0], is_verified=False))
    assert "checksum" not in older
    assert to_line(from_line(older)) == older
    assert to_line(RECORDS[0]).startswith(older[:-1])


def test_the_records_of_the_repository_are_read_without_checksums():
    found = read_archive(ARCHIVES / "chunking-tuning.jsonl")
    assert len(found) == 213
    assert not all(record.is_verified for record in found)  # older ones have none
