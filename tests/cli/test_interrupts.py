"""Long computations at the command line: progress bars, and partial results after Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX")

# A test runner in the background may have taught its children to ignore interrupts.
COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from residuum.cli import main
main()
"""
# Half a minute of estimates, of which only the first few are waited for.
FORMULAS = [f"(P -> Q) & ({' & '.join('PQ' * n)} -> R)" for n in range(1, 100)]
SLOW = ("-r", "r-yager(2)")


@contextmanager
def running(*words, folder, stderr=subprocess.PIPE):
    """A command in a process of its own, which keeps its results in the folder."""
    environment = {**os.environ, "RESIDUUM_CACHE": str(folder), "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words],
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def interrupt_after(count, process, folder):
    """Interrupt a command once so many of its results are done: then they are on disk."""
    while len(list(folder.rglob("*.json"))) < count:
        assert process.poll() is None, "it ended before it could be interrupted"
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)


@pytest.mark.parametrize("verb", ["consistency", "self-consistency"])
def test_an_interrupt_keeps_the_lines_printed_so_far(verb, tmp_path):
    relaxation = SLOW if verb == "consistency" else ("-r", "s-yager(2)")
    with running(verb, *FORMULAS, *relaxation, folder=tmp_path) as process:
        out, err = interrupt_after(2, process, tmp_path)
    lines = [line for line in out.splitlines() if "(estimate)" in line]
    assert process.returncode == 130
    assert 1 <= len(lines) < len(FORMULAS)
    assert err == f"residuum: interrupted after {len(lines)} of {len(FORMULAS)} results\n"


def test_an_interrupt_with_json_prints_the_list_of_what_is_finished(tmp_path):
    with running("consistency", "--json", *FORMULAS, *SLOW, folder=tmp_path) as process:
        out, err = interrupt_after(2, process, tmp_path)
    finished = json.loads(out)
    assert process.returncode == 130
    assert 1 <= len(finished) < len(FORMULAS)
    assert {row["relaxation"] for row in finished} == {"r-yager(2)"}
    assert err == f"residuum: interrupted after {len(finished)} of {len(FORMULAS)} results\n"


RELAXATIONS = "r-yager(2),r-yager(3),r-yager(4),r-dombi(2),r-frank(2),r-aczel-alsina(2)"


def test_an_interrupted_table_says_that_it_is_incomplete(tmp_path):
    with running("tautologies", "-r", RELAXATIONS, folder=tmp_path) as process:
        out, err = interrupt_after(7, process, tmp_path)
    assert (process.returncode, err) == (130, "")
    assert "A1" in out
    assert "MEM" not in out
    assert "the table is incomplete: interrupted after " in out.splitlines()[-1]


def test_an_interrupted_table_as_json_is_the_list_of_its_finished_rows(tmp_path):
    with running("tautologies", "--json", "-r", RELAXATIONS, folder=tmp_path) as process:
        out, err = interrupt_after(7, process, tmp_path)
    cells = json.loads(out)
    rows = {cell["row"] for cell in cells}
    assert process.returncode == 130
    assert len(cells) == len(rows) * len(RELAXATIONS.split(","))
    assert err == f"the table is incomplete: interrupted after {len(rows)} of 22 rows\n"


def test_an_interrupt_leaves_only_whole_files(tmp_path):
    with running("consistency", *FORMULAS, *SLOW, folder=tmp_path) as process:
        interrupt_after(1, process, tmp_path)
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.suffix for path in kept} == {".json"}
    assert all(json.loads(path.read_text()) for path in kept)


def read_terminal(terminal, until):
    seen = b""
    while until not in seen:
        try:
            seen += os.read(terminal, 4096)
        except OSError:  # nobody holds the other end any more
            break
    return seen.decode()


@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_a_terminal_shows_progress_that_is_gone_at_the_end(tmp_path, extra):
    import pty

    ours, theirs = pty.openpty()
    words = ("consistency", *FORMULAS, *SLOW, *extra)
    with running(*words, folder=tmp_path, stderr=theirs) as process:
        os.close(theirs)
        seen = read_terminal(ours, b"integrating")
        process.send_signal(signal.SIGINT)
        seen += read_terminal(ours, b"results\r\n")  # at once: a full terminal blocks its writer
        out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 130
    assert "integrating" not in out
    assert "Traceback" not in seen
    # The last bar is erased, and the message stands alone on its line.
    after = seen[seen.rindex("integrating") :]
    assert "\x1b[2K" in after
    assert after.splitlines()[-1].endswith(f"of {len(FORMULAS)} results")


def test_an_interrupt_while_modules_are_loaded_prints_no_traceback():
    program = """
import sys
class Pressed:
    def find_spec(self, name, *_):
        if name == "residuum.cli.app":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Pressed())
from residuum.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (130, b"")
