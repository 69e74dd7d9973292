"""`residuum explore`: what is refused before a server starts. `tests/explorer` has the rest."""

import socket
import sys

import pytest

from residuum.explorer.limits import LONGEST_RULES


@pytest.mark.parametrize("name", ["starlette", "uvicorn"])
def test_without_the_extra_it_says_what_to_install(residuum, monkeypatch, name):
    for loaded in [*sys.modules]:
        if loaded.partition(".")[0] == name or loaded in (
            "residuum.explorer.app", "residuum.explorer.serving",
        ):  # fmt: skip
            monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, name, None)
    code, out, err = residuum("explore")
    assert (code, out) == (2, "")
    assert err == (
        f"residuum: expected {name} for the explorer, and it is not installed; run: pip install "
        "'residuum[explore]'\n"
    )


def test_files_that_are_not_there_not_text_or_too_large_are_refused(residuum, tmp_path):
    path = tmp_path / "rules.rsd"
    assert "No such file" in residuum("explore", str(path))[2]
    path.write_bytes(b"rule a: P\xff")
    assert "expected UTF-8 text, got another byte at 9" in residuum("explore", str(path))[2]
    path.write_text("#" * (LONGEST_RULES + 1))
    assert f"at most {LONGEST_RULES:,} characters" in residuum("explore", str(path))[2]
    assert residuum("explore", str(tmp_path))[0] == 2


def test_a_port_that_is_taken_is_refused(residuum):
    pytest.importorskip("uvicorn", reason="Uvicorn is not installed")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, out, err = residuum("explore", "--no-browser", "--port", port)
    assert (code, out) == (2, "")
    assert f"expected a free port, but {port} cannot be used" in err
