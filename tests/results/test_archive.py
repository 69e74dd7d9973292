"""Archives: the same bytes for the same records, whole or not at all, broken lines named."""

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_records import records

from residuum.errors import RecordError
from residuum.results import Record, Store, merge, read_archive, write_archive


def made(seed, seconds=1.0):
    outcomes = np.random.default_rng(seed).random(500) < 0.95
    return Record("digits", 1, {"seed": seed}, outcomes={"Sum": outcomes}, seconds=seconds)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(kept=st.lists(records, max_size=5, unique_by=lambda record: record.id))
def test_archives_give_the_records_back_in_the_order_of_their_ids(tmp_path_factory, kept):
    path = tmp_path_factory.mktemp("archive") / "runs.jsonl"
    write_archive(path, kept)
    assert read_archive(path) == sorted(kept, key=lambda record: record.id)
    once = path.read_bytes()
    write_archive(path, reversed(kept))
    assert path.read_bytes() == once
    write_archive(path, read_archive(path))
    assert path.read_bytes() == once


def test_each_line_is_the_json_of_one_record(tmp_path):
    write_archive(tmp_path / "a", [made(2), made(1), made(3)])
    lines = (tmp_path / "a").read_text("ascii").splitlines()
    found = [json.loads(line) for line in lines]
    assert {line["configuration"]["seed"] for line in found} == {1, 2, 3}
    assert [line["id"] for line in found] == sorted(made(seed).id for seed in (1, 2, 3))


def test_an_archive_is_replaced_at_once_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "a"
    write_archive(path, [made(1)])

    def interrupted():
        yield made(2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_archive(path, interrupted())
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(RecordError, match="No space left"):
            write_archive(path, [made(2)])
    assert read_archive(path) == [made(1)]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["", "missing/archive"])
def test_paths_that_are_no_archive_are_explained(tmp_path, place):
    with pytest.raises(RecordError, match="archive cannot be written"):
        write_archive(tmp_path / place, [made(1)])
    with pytest.raises(RecordError, match="archive cannot be read"):
        read_archive(tmp_path / place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", [b"", b"<<<<<<< HEAD", b"{}", b"\xff\xfe", b'{"id": 3}'])
def test_a_broken_line_is_named_with_its_file(tmp_path, line):
    path = tmp_path / "runs.jsonl"
    write_archive(path, [made(1), made(2)])
    one, other = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([one, line, other, b""]))
    with pytest.raises(RecordError, match=r"runs\.jsonl, line 2: this is no record"):
        read_archive(path)


def test_a_line_cut_short_is_named(tmp_path):
    path = tmp_path / "runs.jsonl"
    write_archive(path, [made(1), made(2)])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RecordError, match=r"runs\.jsonl, line 2: this is no record"):
        read_archive(path)


def test_a_run_that_an_archive_has_twice_is_named(tmp_path):
    path = tmp_path / "runs.jsonl"
    write_archive(path, [made(1)])
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(RecordError, match=rf"line 2: .*{made(1).id}"):
        read_archive(path)


def test_lines_that_end_as_on_windows_are_read(tmp_path):
    path = tmp_path / "runs.jsonl"
    write_archive(path, [made(1), made(2)])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert len(read_archive(path)) == 2


def test_stores_and_archives_merge_and_the_first_record_of_a_run_stays(tmp_path):
    write_archive(tmp_path / "a", [made(1), made(2)])
    with Store(tmp_path / "s") as store:
        store.add(made(2, seconds=9.0))
        store.add(made(3))
        found = merge(read_archive(tmp_path / "a"), store, [made(1, seconds=8.0)])
        assert found == sorted([made(1), made(2), made(3)], key=lambda record: record.id)
        [second] = [r for r in merge(store, read_archive(tmp_path / "a")) if r.id == made(2).id]
    assert second.seconds == 9.0
    assert merge() == []
