"""The store: one file, many writers, nothing lost, nothing that is not ours touched."""

import json
import os
import pickle
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from residuum import files
from residuum.errors import RecordError
from residuum.results import Curve, Record, Store, default_store, store


def made(seed, relaxation="r-product", study="digits", seconds=1.0, **more):
    return Record(
        study,
        1,
        {"relaxation": relaxation, "seed": seed, **more},
        measures={"Digit": 97.5, "Sum": float("nan")},
        curves={"loss": Curve([1, 2], [0.5, float("inf")])},
        outcomes={"Sum": np.arange(100) % 7 > 0},
        seconds=seconds,
        environment={"device": "cpu"},
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.sqlite"


# What is kept


def test_a_record_comes_back_as_it_was(path):
    with Store(path) as first:
        assert first.add(made(0))
    with Store(str(path)) as again:
        assert again.get(made(0).id) == made(0)
        assert made(0).id in again
        assert made(1).id not in again
        assert None not in again


def test_the_first_record_of_a_run_stays(path):
    with Store(path) as kept:
        assert [kept.add(made(0, seconds=seconds)) for seconds in (1.0, 2.0)] == [True, False]
        assert kept.get(made(0).id).seconds == 1.0
        assert len(list(kept)) == 1


def test_records_are_found_by_study_and_configuration_in_the_order_of_their_ids(path):
    everything = [made(s, r, st) for s in range(3) for r in "ab" for st in ("digits", "chunking")]
    with Store(path) as kept:
        for record in everything:
            kept.add(record)
        assert [r.id for r in kept] == sorted(r.id for r in everything)
        found = list(kept.records("digits", relaxation="a"))
        expected = [
            r for r in everything if r.study == "digits" and "a" in r.configuration.values()
        ]
        assert found == sorted(expected, key=lambda r: r.id)
        assert {r.study for r in kept.records(seed=2.0, relaxation="b")} == {"chunking", "digits"}
        assert list(kept.records("reading")) == []
        assert list(kept.records(colour="red")) == []


def test_true_is_not_1_and_none_is_not_a_missing_setting(path):
    with Store(path) as kept:
        for value in (True, 1, None, "1"):
            kept.add(made(0, rule=value))
        kept.add(made(0))
        for value in (True, 1, None, "1"):
            [record] = kept.records(rule=value)
            assert repr(record.configuration["rule"]) == repr(value)


def test_records_may_be_added_while_others_are_read(path):
    with Store(path) as kept, Store(path) as other:
        kept.add(made(0))
        kept.add(made(1))
        for record in kept:
            other.add(made(record.configuration["seed"] + 10))
            kept.add(made(record.configuration["seed"] + 20))
        assert len(list(other)) == 6


def test_an_unknown_run_is_named_in_the_error(path):
    with Store(path) as kept, pytest.raises(RecordError, match="'feed'"):
        kept.get("feed")


# Many processes, and kills

ADDING = """
import sys
from residuum.results import Record, Store
path, writer = sys.argv[1], float(sys.argv[2])
new = 0
for seed in range(40):
    with Store(path) as kept:
        new += kept.add(Record("digits", 1, {"seed": seed}, seconds=writer))
print(new)
"""


def test_writers_of_the_same_runs_leave_one_of_each(path):
    words = [sys.executable, "-c", ADDING, str(path)]
    writers = [subprocess.Popen([*words, str(n)], stdout=subprocess.PIPE) for n in range(3)]
    added = [int(writer.communicate()[0]) for writer in writers]
    assert sum(added) == 40
    with Store(path) as kept:
        seconds = [record.seconds for record in kept]
    assert [seconds.count(writer) for writer in range(3)] == added


@pytest.mark.skipif(not hasattr(os, "fork"), reason="writers are forked")
def test_nothing_acknowledged_is_lost_when_writers_are_killed(tmp_path):
    program = Path(__file__).with_name("killed_writers.py")
    words = [sys.executable, str(program), str(tmp_path), "12"]
    result = subprocess.run(words, capture_output=True, text=True, check=True)
    acknowledged, kept, failed, wrong, lost, integrity = json.loads(result.stdout)
    assert (failed, wrong, lost, integrity) == (0, 0, [], [["ok"]])
    assert kept >= acknowledged >= 12


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_is_told_to_open_the_store_itself(path):
    code = """
import os, sys
from residuum.errors import RecordError
from residuum.results import Record, Store
kept = Store(sys.argv[1])
if os.fork() == 0:
    try:
        kept.add(Record("digits", 1, {}))
    except RecordError as error:
        print(error, flush=True)
    kept.close()
    os._exit(0)
os.wait()
print(kept.add(Record("digits", 1, {})))
"""
    words = [sys.executable, "-c", code, str(path)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "forked" in said
    assert said.endswith("True\n")


def test_a_store_in_another_process_is_the_same_file(path):
    with Store(path) as kept, pickle.loads(pickle.dumps(kept)) as other:
        other.add(made(0))
        assert made(0).id in kept


def test_a_store_that_stays_locked_raises_a_record_error(path, monkeypatch):
    Store(path).close()
    monkeypatch.setattr(store, "PATIENCE", 0.01)
    with Store(path) as kept, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RecordError, match=r"another process .*locked"):
            kept.add(made(0))
        other.execute("ROLLBACK")
        assert kept.add(made(0))


def test_another_thread_is_refused_in_words(path):
    said = []

    def add():
        with pytest.raises(RecordError, match="thread"):
            kept.add(made(0))
        said.append(True)

    with Store(path) as kept:
        thread = threading.Thread(target=add)
        thread.start()
        thread.join()
    assert said == [True]


def test_a_closed_store_says_so(path):
    kept = Store(path)
    kept.close()
    kept.close()
    with pytest.raises(RecordError, match="closed"):
        kept.add(made(0))


# Files


def as_it_was(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def foreign_database(path, statements=("CREATE TABLE runs (id)", "INSERT INTO runs VALUES (1)")):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    "content", [b"mine", b"\0", b"SQLite format 3\0", b"x" * 10_000, bytes(4096)]
)
def test_a_file_that_is_no_database_is_refused_and_untouched(tmp_path, path, content):
    path.write_bytes(content)
    with pytest.raises(RecordError, match=r"runs\.sqlite: .*(no store|damaged)"):
        Store(path)
    assert as_it_was(tmp_path) == {path.name: content}


@pytest.mark.parametrize(
    "statement",
    ["PRAGMA user_version = 1", "PRAGMA user_version = 0", "PRAGMA application_id = 7"],
)
def test_a_database_of_another_program_is_refused_and_untouched(tmp_path, path, statement):
    foreign_database(path)
    foreign_database(path, [statement])
    before = as_it_was(tmp_path)
    with pytest.raises(RecordError, match="no store of runs"):
        Store(path)
    assert as_it_was(tmp_path) == before


def test_an_empty_database_of_another_program_is_refused(tmp_path, path):
    foreign_database(path, ["PRAGMA application_id = 7"])
    before = as_it_was(tmp_path)
    with pytest.raises(RecordError, match="no store of runs"):
        Store(path)
    assert as_it_was(tmp_path) == before


def test_a_newer_layout_is_refused_and_untouched(tmp_path, path):
    Store(path).close()
    foreign_database(path, ["PRAGMA user_version = 2"])
    before = as_it_was(tmp_path)
    with pytest.raises(RecordError, match=r"2 of a newer residuum.*install"):
        Store(path)
    assert as_it_was(tmp_path)[path.name] == before[path.name]


@pytest.mark.parametrize("damage", ["cut", "zeroed", "garbled"])
def test_a_damaged_store_is_refused_and_untouched(tmp_path, path, damage):
    with Store(path) as kept:
        for seed in range(30):
            kept.add(made(seed))
    content = bytearray(path.read_bytes())
    assert len(content) > 5 * 4096
    match damage:
        case "cut":
            del content[3 * 4096 :]
        case "zeroed":
            content[4096 : 3 * 4096] = bytes(2 * 4096)
        case "garbled":
            content[4096 : 3 * 4096] = np.random.default_rng(0).bytes(2 * 4096)
    path.write_bytes(content)
    with pytest.raises(RecordError, match="damaged"):
        Store(path)
    assert as_it_was(tmp_path)[path.name] == bytes(content)


def test_an_empty_file_and_missing_folders_become_a_store(tmp_path):
    (tmp_path / "empty").touch()
    for place in ("empty", "new/folder/runs.sqlite", ":memory:", "file:x?mode=ro", "wörter %20"):
        with Store(tmp_path / place) as kept:
            kept.add(made(0))
        with Store(tmp_path / place) as kept:
            assert list(kept) == [made(0)]
        assert (tmp_path / place).stat().st_size > 0


@pytest.mark.parametrize("place", ["", "file/below", "/proc/nowhere/runs", "nul\0", "/dev/null"])
def test_a_place_that_cannot_hold_a_store_is_explained(tmp_path, place):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RecordError, match=r"expected a file|cannot be used"):
        Store(tmp_path / place)
    assert as_it_was(tmp_path) == {"file": b"mine"}


READING = """
import os, sys
from residuum.errors import RecordError
from residuum.results import Record, Store
if os.getuid() == 0:  # whom permissions do not bind
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    with Store(sys.argv[1]) as kept:
        print(len(list(kept)))
        kept.add(Record("digits", 1, {"seed": 9}))
except RecordError as error:
    print(error)
"""


@pytest.fixture
def locked_folder():
    """A folder that others can reach, and a function that reads a store there as one of them."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder = Path(name)
        folder.chmod(0o755)

        def said(path):
            path.chmod(0o444)
            folder.chmod(0o555)
            words = [sys.executable, "-c", READING, str(path)]
            result = subprocess.run(words, capture_output=True, text=True)
            folder.chmod(0o755)
            if "Operation not permitted" in result.stderr:
                pytest.skip("the tests run as root and cannot become another user")
            assert result.stderr == ""
            return result.stdout

        yield folder, said


def plain(path, record):
    with Store(path) as kept:
        kept.add(record)


def with_a_log(path, record):
    """Make a store as older versions did, with a write-ahead log."""
    plain(path, record)
    foreign_database(path, ["PRAGMA journal_mode = WAL"])


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of Unix")
@pytest.mark.parametrize("make", [plain, with_a_log])
def test_a_store_in_a_folder_that_cannot_be_written_is_read(locked_folder, make):
    folder, said = locked_folder
    path = folder / "runs.sqlite"
    make(path, made(0))
    before = as_it_was(folder)
    count, message = said(path).splitlines()
    assert count == "1"
    assert re.search(r"runs\.sqlite: .*cannot be written", message)
    assert as_it_was(folder) == before
    assert [*before] == ["runs.sqlite"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of Unix")
def test_what_a_killed_writer_left_is_not_read_where_it_cannot_be_undone(locked_folder):
    folder, said = locked_folder
    path = folder / "runs.sqlite"
    with Store(path) as kept, closing(sqlite3.connect(path, isolation_level=None)) as other:
        kept.add(made(0))
        other.execute("PRAGMA cache_size = 1")  # so that SQLite writes before the end
        other.execute("BEGIN")
        for number in range(50):
            values = (str(number), "", "", "x" * 3000)
            other.execute("INSERT INTO runs VALUES (?, ?, ?, ?)", values)
        half = as_it_was(folder)
        other.execute("ROLLBACK")
    for name, content in half.items():
        (folder / name).write_bytes(content)
    assert "must be undone first" in said(path)
    with Store(path) as kept:
        assert list(kept) == [made(0)]


def test_a_log_of_an_older_version_is_merged_into_the_file(tmp_path, path):
    with_a_log(path, made(0))
    with closing(sqlite3.connect(path, isolation_level=None)) as older:
        older.execute("UPDATE runs SET line = line || ' '")
        left = as_it_was(tmp_path)
        with Store(path) as kept:  # the log of another process stays
            assert journal(kept) == ("wal",)
            assert list(kept) == [made(0)]
    assert len(left["runs.sqlite-wal"]) > 0
    for name in ("runs.sqlite", "runs.sqlite-wal"):
        (tmp_path / name.replace("runs", "copy")).write_bytes(left[name])
    with Store(tmp_path / "copy.sqlite") as kept:
        assert list(kept) == [made(0)]
        assert journal(kept) == ("delete",)
        assert not (tmp_path / "copy.sqlite-wal").exists()


@pytest.fixture
def without_shared_memory(monkeypatch):
    """SQLite as on file systems that have no shared memory."""
    connect = sqlite3.connect

    def limited(path, **options):
        return connect(f"{Path(path).as_uri()}?vfs=unix-dotfile", **{**options, "uri": True})

    monkeypatch.setattr(sqlite3, "connect", limited)


def journal(kept):
    return kept._connection.execute("PRAGMA journal_mode").fetchone()


@pytest.mark.skipif(sys.platform == "win32", reason="the limited file system is one of Unix")
@pytest.mark.usefixtures("without_shared_memory")
def test_a_store_needs_no_shared_memory(path):
    with Store(path) as kept:
        assert kept.add(made(0))
    with Store(path) as kept:
        assert list(kept) == [made(0)]


@pytest.mark.skipif(sys.platform == "win32", reason="the limited file system is one of Unix")
def test_a_store_with_a_log_that_needs_shared_memory_is_explained(path, request):
    with_a_log(path, made(0))
    request.getfixturevalue("without_shared_memory")
    with pytest.raises(RecordError, match="shared memory"):
        Store(path)


def test_a_store_is_one_file_even_while_it_is_open(tmp_path, path):
    with Store(path) as kept:
        kept.add(made(0))
        assert [*as_it_was(tmp_path)] == ["runs.sqlite"]
        shutil.copy(path, tmp_path / "copy.sqlite")
        with Store(tmp_path / "copy.sqlite") as copied:
            assert list(copied) == [made(0)]


# Where it lies


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "home/.local/share/residuum/runs.sqlite"),
        ("linux", {"XDG_DATA_HOME": "{root}/xdg"}, "xdg/residuum/runs.sqlite"),
        ("linux", {"XDG_DATA_HOME": "relative"}, "home/.local/share/residuum/runs.sqlite"),
        ("freebsd14", {}, "home/.local/share/residuum/runs.sqlite"),
        ("darwin", {}, "home/Library/Application Support/residuum/runs.sqlite"),
        ("win32", {"LOCALAPPDATA": "{root}/local"}, "local/residuum/runs.sqlite"),
        ("win32", {}, "home/AppData/Local/residuum/runs.sqlite"),
        ("linux", {"RESIDUUM_STORE": "{root}/own.db", "XDG_DATA_HOME": "{root}/xdg"}, "own.db"),
    ],
)
def test_the_default_follows_the_platform(tmp_path, monkeypatch, platform, variables, expected):
    for name in ("RESIDUUM_STORE", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(root=tmp_path))
    assert default_store() == tmp_path / expected


def test_without_a_default_store_the_error_names_the_variable(monkeypatch):
    with pytest.raises(RecordError, match="RESIDUUM_STORE is empty; name a file"):
        default_store()  # as in all tests
    monkeypatch.delenv("RESIDUUM_STORE")
    monkeypatch.setattr(store, "user_folder", lambda _: None)
    with pytest.raises(RecordError, match="no home folder; name a file"):
        default_store()


def test_a_half_written_file_replaces_no_file(tmp_path):
    (tmp_path / "kept").write_text("before")

    def write():
        with files.replacing(tmp_path / "kept") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert as_it_was(tmp_path) == {"kept": b"before"}
