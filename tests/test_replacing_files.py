"""Files are written whole or not at all, and unfinished files of killed processes are removed."""

import os
import signal
import time

import pytest

from residuum import files
from residuum.files import replacing


def test_a_file_is_replaced_once_the_new_one_is_whole(tmp_path):
    path = tmp_path / "goal"
    path.write_bytes(b"before")
    with replacing(path) as file:
        file.write(b"after")
        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"after"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_while_writing_leaves_what_was_there(tmp_path):
    path = tmp_path / "goal"
    path.write_bytes(b"before")
    with pytest.raises(TypeError), replacing(path) as file:
        file.writelines([b"half", "no bytes"])
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_unfinished_files_of_killed_processes_are_removed_after_an_hour(tmp_path):
    path, mine = tmp_path / "goal", tmp_path / ".mine.tmp"
    child = os.fork()
    if child == 0:
        with replacing(path) as file:
            file.write(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    mine.write_bytes(b"a file of the user's")
    [orphan] = set(tmp_path.iterdir()) - {mine}
    with replacing(path):
        pass
    assert orphan.exists()  # it may be another process that is writing now
    long_ago = time.time() - files.ORPHANED_AFTER - 1
    for one in (orphan, mine):
        os.utime(one, (long_ago, long_ago))
    with replacing(path):
        pass
    assert {*tmp_path.iterdir()} == {path, mine}
