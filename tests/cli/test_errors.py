"""How the command line prints errors: on stderr, without a traceback, with exit code 2."""

import pytest

from residuum.cli.errors import MISTAKE, errors_as_messages, print_error, warn
from residuum.errors import ResiduumError


def test_a_residuum_error_becomes_a_message_on_stderr_and_exit_code_2(capsys):
    with pytest.raises(SystemExit) as stopped, errors_as_messages():
        raise ResiduumError("expected one,\ngot two; remove one")
    assert stopped.value.code == MISTAKE == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "residuum: expected one,\ngot two; remove one\n"


def test_bugs_and_interrupts_are_not_hidden():
    for error in (ZeroDivisionError(), KeyboardInterrupt(), ValueError("not ours")):
        with pytest.raises(type(error)), errors_as_messages():
            raise error


def test_errors_may_have_several_lines_and_warnings_have_one(capsys):
    print_error("one\ntwo\x1b")
    warn("one\ntwo\x1b")
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "residuum: one\ntwo\\x1b\nresiduum: one\\ntwo\\x1b\n"
