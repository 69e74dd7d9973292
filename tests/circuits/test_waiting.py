"""Those who wait at a terminal are told what for; nobody else is."""

import io
import time
from types import SimpleNamespace

import pytest

from residuum.circuits import waiting
from residuum.circuits.waiting import saying_after_a_second


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(params=[Terminal, io.StringIO])
def stderr(request, monkeypatch):
    """A stream that stands for stderr; pytest puts its own in the place of `sys.stderr`."""
    found = request.param()
    monkeypatch.setattr(waiting, "sys", SimpleNamespace(stderr=found))
    monkeypatch.setattr(waiting, "PATIENCE", 0.05)
    return found


def wait_for_text(stream):
    deadline = time.monotonic() + 20
    while not stream.getvalue().endswith("\n") and time.monotonic() < deadline:
        time.sleep(0.01)


def test_a_long_wait_is_explained_on_a_terminal_only(stderr):
    with saying_after_a_second("counting sheep"):
        if stderr.isatty():
            wait_for_text(stderr)
        else:
            time.sleep(0.2)
    assert stderr.getvalue() == ("residuum: counting sheep …\n" if stderr.isatty() else "")


def test_a_short_wait_is_not_mentioned(stderr, monkeypatch):
    monkeypatch.setattr(waiting, "PATIENCE", 60.0)
    with saying_after_a_second("blinking"):
        pass
    assert stderr.getvalue() == ""


def test_nothing_is_said_after_an_error(stderr):
    with pytest.raises(ValueError, match="no"), saying_after_a_second("failing"):
        raise ValueError("no")
    time.sleep(0.2)
    assert stderr.getvalue() == ""


def test_a_program_without_stderr_goes_on(monkeypatch):
    monkeypatch.setattr(waiting, "sys", SimpleNamespace(stderr=None))
    with saying_after_a_second("working"):
        done = True
    assert done
